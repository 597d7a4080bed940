"""All pieces of a run as one run folder again."""

from collections.abc import Sequence
from pathlib import Path

from dico._files import flush, remove, write_json
from dico.runs import RunError, load
from dico.runs.folder import checkpoint_folders
from dico.runs.reading import parse_json
from dico.runs.shapes import check
from dico.scale.gather import Source, gather
from dico.scale.gather_rows import Places
from dico.scale.pieces import Piece, Pieces
from dico.training.config import Config
from dico.training.options import SessionOptions


def join(config: Config, options: SessionOptions, pieces: Pieces) -> None:
    """Write what one process would have written, see that it can be read, and only then remove the pieces.

    Killed at any moment, it can be done again: as long as the plan is there, the pieces are what counts.
    """
    every, run = pieces.read_all(len(config.members)), pieces.run
    sources = [Source.newest(pieces.folder(piece), len(piece.members)) for piece in every]
    gather(config, options, sources, places_of(every), run)
    write_json(run / "machine.json", _machine([pieces.folder(piece) for piece in every]))
    last = sources[0].checkpoint.frames
    for frames, path in checkpoint_folders(run).items():  # of a run that one process began
        if frames < last:
            remove(path)
    newest = load(run).newest
    assert newest is not None
    assert newest.frames == last
    aside = run / ".pieces.joined"
    remove(aside)
    pieces.path.rename(aside)
    flush(run)
    remove(aside)


def places_of(pieces: Sequence[Piece]) -> Places:
    """Where each member of the whole is."""
    where = {member: (k, place) for k, piece in enumerate(pieces) for place, member in enumerate(piece.members)}
    return [where[member] for member in sorted(where)]


def _machine(folders: Sequence[Path]) -> dict[str, object]:
    """What all of them ran on: what they have in common, and each that differs once, with a comma."""
    found = []
    for folder in folders:
        try:
            found.append(check(parse_json(folder / "machine.json"), {}, folder / "machine.json"))
        except (OSError, RunError):
            continue
    names = dict.fromkeys(name for each in found for name in each)
    values = {name: [each.get(name) for each in found] for name in names}
    return {name: own[0] if all(value == own[0] for value in own) else ", ".join(dict.fromkeys(map(str, own)))
            for name, own in values.items()}  # fmt: skip
