"""The pieces of a run: which members each has, how each ended, and who drives them."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal, get_args

from dico._files import remove, sealed, write_json
from dico.runs import RunError
from dico.runs.folder import checkpoint_folders
from dico.runs.in_pieces import Piece, is_in_pieces, read_plan
from dico.runs.reading import check_own, parse_json, warn
from dico.runs.schema import PIECES, PLAN
from dico.runs.shapes import TEXT, check

DRIVER = "driver.json"
SHOWN = 5
"""Members that an error names, at most."""
SECONDS_WITHOUT_DRIVER = 60.0
"""After which a worker takes its driver to be gone, if it depends on one."""
State = Literal["begun", "finished", "stopped", "memory", "failed"]


@dataclass(frozen=True)
class Outcome:
    """How far a worker came with a piece; one that was killed leaves it at ``begun``."""

    state: State
    error: str = ""
    """What went wrong, in a line."""


class Pieces:
    """What is in ``RUN/pieces``; drivers and workers know of each other by it alone."""

    def __init__(self, run: Path):
        self.run, self.path = run, run / PIECES

    @property
    def exist(self) -> bool:
        """Whether the run is cut into pieces, and not yet joined; the plan may be unreadable."""
        return is_in_pieces(self.run)

    def check_no_work(self, frames: int) -> None:
        """An error if there is no plan, but pieces that are further than so many frames: they are not cut anew.

        A kill while a run is cut leaves pieces without a plan too, which are no further than the run.
        """
        ahead = [path for path in sorted(self.path.glob("[0-9]*")) if max(checkpoint_folders(path), default=0) > frames]
        if ahead:
            raise RunError(
                f"{self.path / PLAN} is missing, though {ahead[0].name} beside it is further than the run itself: "
                "nothing was changed; restore it"
            )

    def read(self) -> list[Piece]:
        """All pieces, by the plan."""
        return read_plan(self.path / PLAN)

    def read_all(self, count: int) -> list[Piece]:
        """The same, if they have all of so many members, each once: others must not be joined, nor anything removed."""
        pieces, path = self.read(), self.path / PLAN
        names, planned = [piece.name for piece in pieces], Counter(k for piece in pieces for k in piece.members)
        if len(set(names)) < len(names):
            raise RunError(f"{path} cannot be used: two pieces have the same name")
        for what, wrong in (
            ("omits", [k for k in range(count) if k not in planned]),
            ("names more than once", [k for k, times in planned.items() if times > 1]),
            ("names, though there are none of them,", [k for k in planned if k >= count]),
        ):
            if wrong:
                shown = ", ".join(map(str, sorted(wrong)[:SHOWN])) + (", ..." if len(wrong) > SHOWN else "")
                raise RunError(f"{path} cannot be used: it {what} members ({shown}) of {count}")
        return pieces

    def write(self, pieces: Sequence[Piece]) -> None:
        """Make it the plan; what is beside the pieces that it names is of no piece any more."""
        if self.path.is_symlink():
            raise RunError(f"{self.path} cannot be written: it is a link")
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / PLAN, sealed({"pieces": [asdict(piece) | {"members": list(piece.members)}
                                                        for piece in pieces]}))  # fmt: skip
        for path in self._beside(pieces):
            remove(path)

    def put_aside_others(self, pieces: Sequence[Piece]) -> None:
        """What is beside these pieces: a kill left it, or the plan is an older one, and it was trained in the meantime.

        What has checkpoints is kept until all pieces are joined.
        """
        for path in self._beside(pieces):
            if checkpoint_folders(path):
                names = (path.with_name(f"aside-{path.name}{f'-{k}' if k else ''}") for k in count())
                path.rename(aside := next(place for place in names if not place.exists()))
                warn(f"{path} is of no piece of {PLAN} and was put aside as {aside.name}, until the pieces are joined")
            else:
                remove(path)

    def _beside(self, pieces: Sequence[Piece]) -> list[Path]:
        """Files and folders of pieces that are not among these."""
        known = {piece.name for piece in pieces}
        return [path for path in sorted(self.path.glob("[0-9]*")) if path.name.split(".")[0] not in known]

    def new_names(self, count: int) -> list[str]:
        """Names that no piece has had."""
        written = [path.name.split(".")[0] for path in self.path.glob("[0-9]*")]
        first = 1 + max(map(int, [*written, *(piece.name for piece in self.read())]))
        return [f"{first + k:03d}" for k in range(count)]

    def folder(self, piece: Piece) -> Path:
        """Its run folder."""
        return self.path / piece.name

    def log(self, piece: Piece) -> Path:
        """What its workers have said."""
        path = self.path / f"{piece.name}.log"
        check_own(path)
        return path

    def frames(self, piece: Piece) -> int:
        """Of its newest checkpoint, whole or not."""
        return max(checkpoint_folders(self.folder(piece)), default=0)

    def outcome(self, piece: Piece) -> Outcome | None:
        """How far a worker came; None if none has begun."""
        path = self._outcome(piece)
        try:
            said = check(parse_json(path), {"state": TEXT, "error": TEXT}, path)
            return Outcome(said["state"], said["error"]) if said["state"] in get_args(State) else None
        except (FileNotFoundError, RunError):  # not there, or not ours
            return None

    def is_finished(self, piece: Piece) -> bool:
        """Whether a worker came to the end of it."""
        outcome = self.outcome(piece)
        return outcome is not None and outcome.state == "finished"

    def note(self, piece: Piece, outcome: Outcome | None) -> None:
        """Say how far a worker came, or that none has begun."""
        if outcome is None:
            self._outcome(piece).unlink(missing_ok=True)
        else:
            write_json(self._outcome(piece), asdict(outcome))

    def _outcome(self, piece: Piece) -> Path:
        return self.path / f"{piece.name}.json"


class Driver:
    """The process that drives the pieces of a run, as its workers see it: whose they are, and whether to go on.

    A driver that takes over from another has another id, and the workers of the one before it stop, with a checkpoint.
    """

    def __init__(self, pieces: Pieces):
        self.path, self.id = pieces.path / DRIVER, uuid.uuid4().hex
        self.beats, self.stop = 0, False

    def beat(self) -> None:
        """Show that it is there."""
        self.beats += 1
        write_json(self.path, {"id": self.id, "beat": self.beats, "stop": self.stop})

    def ask_to_stop(self) -> None:
        """Ask all workers to stop after their iteration."""
        self.stop = True
        self.beat()


class Driven:
    """A worker's view of its driver; ``outlives`` it or not."""

    def __init__(self, pieces: Pieces, driver: str, *, outlives: bool, now: Callable[[], float] = time.monotonic):
        self.path, self.driver, self.outlives, self.now = pieces.path / DRIVER, driver, outlives, now
        self.beat: Any = None
        self.when = now()

    def should_stop(self) -> bool:
        """Whether it was asked to, another driver has taken over, or there has been no sign of its own for long."""
        try:
            said = parse_json(self.path)
        except (OSError, RunError):
            said = {}
        if said.get("id", self.driver) != self.driver or said.get("stop"):
            return True
        if said.get("beat") != self.beat:
            self.beat, self.when = said.get("beat"), self.now()
        return not self.outlives and self.now() - self.when > SECONDS_WITHOUT_DRIVER
