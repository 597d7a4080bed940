"""Runs in pieces, as when the process that trained them died between the last piece's end and the join."""

import shutil
from pathlib import Path

from dico.runs import load
from dico.scale.driver import cut_out
from dico.scale.gather import Source
from dico.scale.pieces import Outcome, Piece, Pieces
from dico.training.options import SessionOptions
from dico.training.session import read_config

ABOUT = ("config.json", "members.json", "machine.json")
"""What the folder of a run in pieces holds beside them."""


def cut(whole: Path, place: Path) -> int:
    """A copy of a finished run in pieces of a member each, all finished and not joined yet."""
    run = load(whole)
    place.mkdir()
    for name in ABOUT:
        shutil.copy(whole / name, place / name)
    pieces, options = Pieces(place.absolute()), SessionOptions(**run.session)
    parts = [Piece(f"{member.index:03d}", (member.index,)) for member in run.members]
    everyone = range(len(run.members))
    cut_out(read_config(run), options, pieces, Source.newest(whole, len(everyone)), everyone, parts)
    pieces.write(parts)
    for part in parts:
        pieces.note(part, Outcome("finished"))
    return 0
