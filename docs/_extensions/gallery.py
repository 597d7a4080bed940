"""The gallery: a page for each experiment that has results, made from its summary by what ``dico report`` runs.

``{gallery}`` in a page becomes a card for each. The pages are written into the site and nowhere else: each is some
hundred kB that anybody can make again.
"""

import re
from html import escape
from pathlib import Path

from dico.experiments import presets_of
from dico.runs import load
from dico.runs.summary import is_summary
from dico.viz.page.finding import finding
from dico.viz.report import card_beside, write_report

RESULTS = Path(__file__).parents[1] / "results"
PIECE = re.compile(r"-seed\d+$")
"""Summaries of more seeds of an experiment that has a page."""


def summaries():
    """Those of whole experiments, by name: those of the preset ``paper`` first."""
    found = [path for path in sorted(RESULTS.glob("*/*.json")) if is_summary(path) and not PIECE.search(path.stem)]
    paper = [path for path in found if path.parent.name == "paper"]
    others = {f"{path.stem}-{path.parent.name}": path for path in found if path not in paper}
    return {path.stem: path for path in paper} | others


def write_pages(app):
    if app.builder.format != "html":
        return
    for name, path in summaries().items():
        write_report(load(path), Path(app.outdir) / "gallery" / f"{name}.html", presets=presets_of, card=True)


def show_cards(app, docname, content):
    if docname == "gallery":
        content[0] = content[0].replace(
            "{gallery}", "\n".join(["```{raw} html", *map(card, summaries().items()), "```"])
        )


def card(named):
    name, path = named
    run = load(path)
    page = f"gallery/{name}.html"
    picture = card_beside(Path(page)).as_posix() if path.with_suffix(".npz").is_file() else None
    image = f'<img src="{picture}" alt="Episodes of {name}" width="800" height="420" loading="lazy">' if picture else ""
    title, told = escape(name.replace("-", " ").capitalize()), escape(finding(run, "mean"))
    return f'<a class="gallery-card" href="{page}">{image}<strong>{title}</strong><span>{told}</span></a>'


def setup(app):
    app.connect("builder-inited", write_pages)
    app.connect("source-read", show_cards, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
