"""Words into options by tyro, whose errors become a line each: what is wrong, and what was perhaps meant."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr
from dataclasses import fields, is_dataclass
from decimal import Decimal
from difflib import get_close_matches
from io import StringIO
from itertools import groupby
from typing import Any, get_args, get_type_hints

import tyro

from dico._checks import not_allowed

OTHERS = {
    "--total-timesteps": "--frames", "--total-frames": "--frames", "--total-steps": "--frames",
    "--timesteps": "--frames",
    "--num-envs": "--envs", "--n-envs": "--envs", "--num-workers": "--envs",
    "--num-steps": "--frames-per-batch", "--n-steps": "--frames-per-batch", "--rollout-length": "--frames-per-batch",
    "--learning-rate": "--lr", "--batch-size": "--minibatch (PPO) or --batch", "--minibatch-size": "--minibatch",
    "--update-epochs": "--epochs", "--n-epochs": "--epochs", "--num-epochs": "--epochs",
    "--ent-coef": "--entropy", "--entropy-coef": "--entropy",
    "--clip-coef": "--clip", "--clip-range": "--clip", "--buffer-size": "--replay", "--discount": "--gamma",
    "--seed": "--seeds COUNT and --first-seed", "--algo": "--algorithm", "--cuda": "--device cuda",
    "--gpu": "--device cuda", "--track": "--wandb", "--desired-snd": "--snd", "--output": "--run", "--logdir": "--run",
    "--exp-name": "--run", "--run-name": "--run",
    "--env": "the task's name, which comes first", "--env-id": "the task's name, which comes first",
    "--task": "the task's name, which comes first",
}  # fmt: skip
"""What other libraries call it, and what it is called here."""
BOX = "╭╮╰╯│|+"
"""Drawn around an error, as far as the terminal has the letters."""
SCIENTIFIC = re.compile(r"\d+(\.\d+)?[eE]\+?\d{1,2}")
UNKNOWN = re.compile(r"Unrecognized options?: (.*)")
NO_VALUE = re.compile(r"Missing value for argument '(\S+)'\.")
NO_CHOICE = re.compile(r"invalid choice ('.*') for argument '(\S+)'\. Expected one of \((.*?)\)")
NO_FIT = re.compile(r"Error parsing (\S+): .* (?:for arguments:|instantiated from) \[(.*?)\]")
NO_NUMBER = re.compile(r"Error parsing (\S+): (?:invalid literal for int|could not convert string to float).*?: ('.*')")


def parse_words(kind: Any, words: Sequence[str], prog: str, **options: Any) -> Any:
    """The options that words give; an error in a line if they give none.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Options:
    ...     frames: int = 1
    >>> parse_words(Options, ["--frames", "3"], "dico train").frames, parse_words(Options, ["--frames=2e6"], "").frames
    (3, 2000000)
    >>> parse_words(Options, ["--total-timesteps", "3"], "dico train")
    Traceback (most recent call last):
    ValueError: there is no option --total-timesteps: it is --frames here (dico train --help tells all)
    """
    said = StringIO()
    try:
        with redirect_stderr(said):
            return tyro.cli(kind, args=_with_counts_in_digits(words, kind), prog=prog, **options)
    except SystemExit as stop:
        if not stop.code:
            raise
        raise ValueError(f"{_in_a_line(said.getvalue(), kind)} ({prog} --help tells all)") from None
    finally:
        if sys.exc_info()[0] is None and said.getvalue():
            sys.stderr.write(said.getvalue())


def _with_counts_in_digits(words: Sequence[str], kind: Any) -> list[str]:
    """Words in which counts such as 2e6 are written out."""
    counts = {flag for flag, types in _options_of(kind) if int in types}
    found: list[str] = []
    for word in words:
        flag, equals, value = word.partition("=")
        if equals and flag.replace("_", "-") in counts:
            found.append(f"{flag}={_digits(value)}")
        else:
            found.append(_digits(word) if found and found[-1].replace("_", "-") in counts else word)
    return found


def _digits(value: str) -> str:
    """A whole number in digits; anything else as it is.

    >>> _digits("2.5e6"), _digits("1e-3"), _digits("many")
    ('2500000', '1e-3', 'many')
    """
    whole = SCIENTIFIC.fullmatch(value) and Decimal(value) % 1 == 0
    return str(int(Decimal(value))) if whole else value


def _in_a_line(text: str, kind: Any) -> str:
    """What a box of several lines says first, in our words."""
    lines = [line.strip(BOX + " ") for line in text.splitlines()[1:]]
    parts = [list(part) for is_rule, part in groupby(lines, lambda line: not line.strip("─-")) if not is_rule]
    said = " ".join(" ".join(parts[0]).split()) if parts else "these words cannot be read"
    if unknown := UNKNOWN.match(said):
        return _unknown(unknown[1].split(", "), kind)
    if wrong := NO_NUMBER.match(said):
        return f"{wrong[1]} must be a number{'' if 'float' in said else ' without a fraction'}, got {wrong[2]}"
    if lacking := NO_VALUE.match(said):
        return f"{lacking[1]} must be followed by what it is to be, got nothing"
    if chosen := NO_CHOICE.match(said):
        return not_allowed(chosen[2], chosen[1].strip("'"), [name.strip("' ") for name in chosen[3].split(",")])
    if unfit := NO_FIT.match(said):
        return f"{unfit[1]} cannot be made of {unfit[2]}"
    return said.removeprefix("Error parsing settings: ").removeprefix("Error parsing session: ")


def _unknown(words: Sequence[str], kind: Any) -> str:
    flag = next((word for word in words if word.startswith("--")), None)
    if flag is None:
        return f"there is nothing to do with {' '.join(words)!r}"
    name = flag.partition("=")[0].replace("_", "-")
    meant = OTHERS.get(name)
    known = set(flags_of(kind))
    if meant is not None and (meant in known or " " in meant) and ("--frames" in known or meant in known):
        return f"there is no option {flag}: it is {meant} here"
    if "--settings" in known and (meant or name) in _settings():
        return f"there is no option {flag}: it is --settings {(meant or name)[2:].replace('-', '_')}=VALUE here"
    near = get_close_matches(name[2:], [each[2:] for each in known], n=1)  # two dashes are no likeness
    return f"there is no option {flag}" + (f"; did you mean --{near[0]}?" if near else "")


def _settings() -> set[str]:
    """Those of a training; which desired diversity and other numbers it has is never among `--settings`."""
    from dico.training.settings import Settings

    return {*flags_of(Settings)} - {"--snd", "--vary"}


def flags_of(kind: Any) -> Iterator[str]:
    """The options of a dataclass and of those in it; what has no name, but a place, is no option."""
    return (flag for flag, _ in _options_of(kind))


def _options_of(kind: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Their names, and what each may be."""
    types = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        parts = (types[each.name], *get_args(types[each.name]))
        inner = [part for part in parts if is_dataclass(part)]
        if inner:
            yield from _options_of(inner[0])
        elif not any(_is_positional(part) for part in parts):
            yield f"--{each.name.replace('_', '-')}", parts


def _is_positional(part: Any) -> bool:
    return part in get_args(tyro.conf.Positional[int])[1:]
