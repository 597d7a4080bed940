"""``dico export``."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tyro.conf import Positional

from dico._checks import pairs
from dico._files import write_json
from dico.analysis import marl_eval
from dico.commands import say_where
from dico.runs import load
from dico.viz.files import check_place, output_file


@dataclass(frozen=True)
class Options:
    """What it takes."""

    run: Positional[Path]
    """The run folder."""
    to: Path = Path("policy.pt2")
    """The file: .pt2 (runs in torch alone) or .onnx (in any ONNX runtime); a folder, for all groups in both; or .json,
    for all members' curves as marl-eval reads them."""
    snd: str | None = None
    """The member's desired diversity; needed where members differ in it."""
    seed: int = 0
    """The member's seed."""
    where: tuple[str, ...] = ()
    """What else members differ in, such as tau=0.01."""
    group: str | None = None
    """The group of agents whose policies these are, in tasks with several."""


def run(options: Options, console: Console) -> int:
    """Write it, and say where it is."""
    if options.to.suffix == ".json":
        check_place(options.to)
        curves = marl_eval(load(options.run))
        with output_file(options.to) as scratch:
            write_json(scratch, curves)
        say_where(options.to, console)
        return 0
    numbers = pairs("where", options.where)
    written = load(options.run).export(options.to, options.snd, options.seed, options.group, **numbers)
    for file in written:
        say_where(file, console)
    return 0
