"""Hostile command lines and calls from Python."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

import dico

WORDS: tuple[str, ...] = (
    "train", "resume", "eval", "report", "map", "video", "claims", "bound", "tasks", "reproduce", "navigation", "tag",
    "--snd", "--seeds", "--frames", "--run", "--preset", "--vary", "--task-options", "--device", "--stage", "--block",
    "--lr", "--hidden", "--help", "--out", "--json", "--agents", "--low", "--high", "--first-seed", "--controlled",
    "--freeze", "--checkpoint-every", "--algorithm", "--minibatch", "--scale", "--folder", "-h", "--", "-1", "0", "1",
    "0.3", "free", ">=0.3", "<=-1", "0.5..0.2", "1e400", "nan", "inf", "99999999999999999999999", "quick", "paper",
    "tuned", "cuda", "cpu", "meta", "tpu", "tau=0.1,0.01", "tau=", "=", "lr=x", "n_agents=0", "n_agents=1e9", "None",
    "vmas:navigation", "vmas:nothing", "vmas:", "pettingzoo:nothing", "pettingzoo:", "--config", "--to",
    "os:system", "builtins:exit", "mine:Mine", "/", "/dev/null", "/proc/1",
    ".", "..", "a" * 300, "\x01", "💥", "[red]", "[/red]", "", " ", "true", "{}", "[]", "ippo", "maddpg", "nobody",
)  # fmt: skip
COMMANDS = (
    "train", "resume", "eval", "report", "map", "video", "claims", "bound", "tasks", "reproduce", "list", "export",
    "completion", "nothing",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 2.5, 10**30, float("nan"), float("inf"), "", "x", "0.3", [], [1], [[1]], (), {}, object(),
    torch.zeros(0), torch.zeros(2), torch.full((2, 3, 2), torch.nan), torch.zeros(3, 2, 4, dtype=torch.int), b"x", len,
    torch.randn(5, 2, 4),
)  # fmt: skip
CALLS: tuple[Callable[..., Any], ...] = (
    dico.snd, dico.snd_at, dico.pairwise_w2, dico.equal, dico.at_least, dico.at_most, dico.between,
    dico.parse_constraint, dico.max_snd, dico.action_space_loss, dico.DiCo.mlp, dico.DiCo, dico.load, dico.train,
)  # fmt: skip
TOLD = (ValueError, TypeError, ImportError)
"""Errors that a caller is told of; any other is a fault of ours."""


def line(rng: random.Random) -> list[str]:
    """A command line; none that would train for long."""
    words = [rng.choice(COMMANDS), *(rng.choice(WORDS) for _ in range(rng.randrange(7)))]
    never = {"train": ("--frames", ("0", "-5", "x")), "reproduce": ("--scale", ("0", "x"))}
    if words[0] in never:
        option, values = never[words[0]]
        words += [option, rng.choice(values)]
    return words


def call(rng: random.Random) -> Callable[[], int]:
    """A call of the library with whatever."""
    function = rng.choice(CALLS)
    given: Sequence[Any] = [rng.choice(VALUES) for _ in range(rng.randrange(1, 5))]

    def work() -> int:
        try:
            function(*given)
        except TOLD as error:
            print("error:", str(error)[:300])  # noqa: T201
            return 2
        return 0

    work.__doc__ = f"{getattr(function, '__qualname__', function)}({', '.join(repr(each)[:40] for each in given)})"
    return work
