"""The page of a reproduction: the paper's claims with their verdicts, then each experiment with its figures.

It is made from summaries alone, ``FOLDER/PRESET/NAME.json``, so it is drawn again anywhere, without the networks.
"""

import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path

from PIL import Image

from dico._files import write_json
from dico.analysis import wall_seconds
from dico.analysis.behaviour import behaviours
from dico.analysis.claims import CLAIMS, Judged, judge
from dico.runs import Run, RunError, load, write_summary
from dico.runs.summary import about_run, is_summary
from dico.viz.files import output_file
from dico.viz.gallery import draw_figures, save_figures
from dico.viz.kept import keep_pictures
from dico.viz.page.inline import static
from dico.viz.page.words import plural

FIGURES = ("curves", "decision", "box", "map", "cross-play", "trajectories")
"""Those of a run that the page shows, where it has them."""
PAPER_HOURS = 2000
"""GPU hours that the paper's final experiments took by its own estimate (app: Computational Resources Used)."""


def write_reproduction(folder: Path) -> tuple[Path, list[Judged]]:
    """Judge, draw and write ``index.html``, ``claims.json`` and ``figures/`` into a folder; the page, and verdicts."""
    runs = summaries(folder)
    judged = judge(runs)
    figures = {run.folder: _draw(run, folder) for run in runs}
    text, path = _page(runs, judged, figures, folder), folder / "index.html"
    with output_file(folder / "claims.json") as scratch:
        write_json(scratch, [each.to_json() for each in judged])
    with output_file(path) as scratch:
        scratch.write_text(text, "utf-8")
    return path, judged


def keep_run(run: Run, path: Path, command: str = "") -> None:
    """Write a run's summary, with what its members do, and its pictures beside it: all that the page is made from."""
    about = {"command": command, **(about_run(run) or {}), "seconds": wall_seconds(run), "members": len(run.members)}
    pictures = path.with_suffix(".npz")
    pictures.unlink(missing_ok=True)  # or those of an earlier training would be taken for its own
    try:
        keep_pictures(run, pictures)
    except RunError as error:
        warnings.warn(f"no pictures are kept: {error}", stacklevel=2)
    write_summary(run, path, behaviours=behaviours(run), about=about)


def summaries(folder: Path) -> list[Run]:
    """The summaries of a folder, those at the paper's settings first, in the order of its experiments."""
    found = [load(path) for path in sorted(folder.glob("*/*.json")) if is_summary(path)]
    if not found:
        raise RunError(f"{folder} has no summaries (PRESET/NAME.json) yet: dico reproduce writes them")
    order = list(dict.fromkeys(each.experiment for each in CLAIMS))
    rank = {name: k for k, name in enumerate(order)}

    def place(run: Run) -> tuple[bool, Path, int, str]:
        preset = run.folder.parent
        return preset.name != "paper", preset, rank.get(run.config["task"], len(rank)), run.folder.stem

    return sorted(found, key=place)


def markdown(judged: Sequence[Judged]) -> str:
    """The verdicts as a table for documents.

    >>> print(markdown([]))
    | runs | claim | verdict | effect | 95 % interval | of |
    |---|---|---|---|---|---|
    """
    rows = ["| runs | claim | verdict | effect | 95 % interval | of |", "|---|---|---|---|---|---|"]
    for each in judged:
        cells = (each.source, each.claim, f"**{each.verdict}**", each.effect_text, each.interval_text, each.of)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _draw(run: Run, folder: Path) -> list[Path]:
    """The figures of a run, as files; their paths from the folder."""
    drawn = {name: figure for name, figure in draw_figures([run], own_scale=True).items() if name in FIGURES}
    place = folder / "figures" / f"{run.folder.parent.name}-{run.folder.stem}"
    written = save_figures(drawn, place, ("png",))
    for path in written:
        _lighten(path)
    return [path.relative_to(folder) for path in written]


def _lighten(path: Path) -> None:
    """A picture of at most 256 colours, which is a third of the size and looks the same."""
    with Image.open(path) as picture, output_file(path) as scratch:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(scratch, "PNG", optimize=True)


def _page(runs: Sequence[Run], judged: Sequence[Judged], figures: dict[Path, list[Path]], folder: Path) -> str:
    counts = ", ".join(
        f"{sum(each.verdict == word for each in judged)} {said}"
        for word, said in (("holds", "hold"), ("fails", "fail"), ("undecided", "undecided"))
    )
    hours = sum(_seconds(run) for run in runs) / 3600
    took = (
        f"{hours:.2g} hours of training for what is here; the paper gives {PAPER_HOURS:,} GPU hours for all of its."
        if hours
        else ""
    )
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>The paper's claims · dico</title><style>{static('style.css')}{static('reproduction.css')}</style>",
        "</head><body>",
        "<header class='top'><p class='brand'>dico <span>reproduction</span></p><h1>The paper's claims, judged</h1>",
        f"<p class='facts'>{counts}. {took}</p></header><main>",
        _claims_table(judged),
        *[_experiment(run, figures[run.folder]) for run in runs],
        f"</main><footer><p>Drawn from the summaries in {escape(folder.name)} by dico reproduce.</p></footer>",
        "</body></html>",
    ]
    return "\n".join(parts)


def _claims_table(judged: Sequence[Judged]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("Claim", "Runs", "Verdict", "Effect", "95 % interval", "Of"))
    rows = []
    for each in judged:
        rows.append(
            f"<tr><td>{escape(each.claim)}<div class='said'>{escape(each.says)}</div></td><td>{escape(each.source)}"
            f"<div class='said'>{plural(each.seeds, 'seed')}</div></td>"
            f"<td><span class='verdict {each.verdict}'>{each.verdict}</span></td>"
            f"<td class='number'>{each.effect_text}</td><td class='number'>{each.interval_text}</td>"
            f"<td>{escape(each.of)}</td></tr>"
        )
    return f"<div class='table'><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _experiment(run: Run, figures: Sequence[Path]) -> str:
    name = f"{run.folder.parent.name}/{run.folder.stem}"
    shown = "".join(
        f"<figure><img loading='lazy' src='{escape(path.as_posix())}' alt='{path.stem} of {escape(name)}'></figure>"
        for path in figures
    )
    about = {
        key: str(value) for key, value in (about_run(run) or {}).items() if value and key not in ("seconds", "members")
    }
    facts = [f"{key}: <code>{escape(value)}</code>" for key, value in about.items()]
    if _seconds(run):
        facts.append(f"trained for {_seconds(run) / 60:.3g} minutes, {len(run.members)} members")
    return f"<section><h2>{escape(name)}</h2><p class='said'>{' · '.join(facts)}</p>{shown}</section>"


def _seconds(run: Run) -> float:
    return float((about_run(run) or {}).get("seconds") or 0.0)
