"""A process that keeps environments of PettingZoo, apart from the training: ``python -P -m dico._worker PIPE``.

It needs numpy and the environments' package, not torch: it stands outside :mod:`dico.tasks` so that it starts quickly.
Requests and answers are records over a pipe; when that closes, it ends.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from dico._trust import check_of_trusted

TRIED, OTHER = 3, 4
"""Seeds of an episode that is tried twice, and of another that runs beside it the second time."""
TRIED_STEPS = 5
NO_NUMBER = 0.0
"""What an environment is told in place of an action that is no number, as of a member that has diverged."""


class Replay(NamedTuple):
    """Where a slot should be: at a start, and so many steps on."""

    slot: int
    seed: int
    actions: np.ndarray
    """Taken since: ``(steps, agents, act)``."""


class Slot:
    """One environment, with all agents that it ever has, in the order of ``possible_agents``."""

    def __init__(self, env: Any):
        self.env, self.names = env, list(env.possible_agents)
        self.sizes = [int(np.prod(env.observation_space(name).shape)) for name in self.names]
        self.obs = np.zeros(sum(self.sizes), dtype=np.float32)
        self.done = False

    def start(self, seed: int) -> None:
        """A fresh episode."""
        seen, _ = self.env.reset(seed=seed)
        self._see(seen)
        self.done = not self.env.agents

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Each agent's reward; those that have left earn nothing, and see zeros."""
        rewards = np.zeros(len(self.names), dtype=np.float32)
        if self.done:
            return rewards
        actions = np.nan_to_num(actions, nan=NO_NUMBER)
        chosen = {name: actions[k] for k, name in enumerate(self.names) if name in self.env.agents}
        seen, earned, terminated, truncated, _ = self.env.step(chosen)
        self._see(seen)
        for k, name in enumerate(self.names):
            rewards[k] = earned.get(name, 0.0)
        self.done = not self.env.agents or all(terminated[name] or truncated[name] for name in terminated)
        return rewards

    def _see(self, seen: Mapping[str, Any]) -> None:
        parts = [
            np.asarray(seen[name], dtype=np.float32).ravel() if name in seen else np.zeros(size, dtype=np.float32)
            for name, size in zip(self.names, self.sizes, strict=True)
        ]
        self.obs = np.concatenate(parts)


class Keeper:
    """The environments of one process, by slot; made when they are first asked for."""

    def __init__(self, module: str, function: str, options: Mapping[str, Any]):
        make = getattr(importlib.import_module(module), function)
        check_of_trusted("environment", f"{module}:{function}", make)
        self.make, self.options = make, dict(options)
        self.slots: dict[int, Slot] = {}
        env = make(**self.options)
        if not self._continuous(env) and "continuous_actions" not in options:  # as MPE calls it
            try:
                env = make(**self.options, continuous_actions=True)
                self.options["continuous_actions"] = True
            except TypeError:
                pass
        self.slots[0] = Slot(env)

    def about(self) -> dict[str, Any]:
        """What a task is made of, if the environment can be one."""
        env, names = self.slots[0].env, self.slots[0].names
        for name in names:
            action, seen = env.action_space(name), env.observation_space(name)
            if (
                type(action).__name__ != "Box"
                or len(action.shape) != 1
                or not np.isfinite([action.low, action.high]).all()
            ):
                raise ValueError(f"the actions of {name} must be a finite Box of one dimension, got {action}")
            if type(seen).__name__ != "Box":
                raise ValueError(f"what {name} observes must be a Box, got {seen}")
        boxes = {(tuple(env.action_space(n).low.tolist()), tuple(env.action_space(n).high.tolist())) for n in names}
        if len(boxes) > 1:
            raise ValueError(f"all agents must have the same actions, got {sorted(boxes)}")
        ((low, high),) = boxes
        steps = getattr(env.unwrapped, "max_cycles", None)
        return {
            "agents": names, "sizes": self.slots[0].sizes, "low": low, "high": high,
            "steps": steps if isinstance(steps, int) else None, "repeats": self._repeats(np.array(low), np.array(high)),
        }  # fmt: skip

    def bring(self, replays: Sequence[Replay]) -> np.ndarray:
        """Put slots where they should be; what their agents see there."""
        for slot, seed, actions in replays:
            place = self._slot(slot)
            place.start(seed)
            for each in actions:
                place.step(each)
        return np.stack([self._slot(replay.slot).obs for replay in replays]) if replays else np.zeros((0, 0))

    def step(self, slots: Sequence[int], actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One step in each of the slots: what is seen, earned, and whether it ended."""
        rewards = np.stack([self._slot(slot).step(each) for slot, each in zip(slots, actions, strict=True)])
        obs = np.stack([self._slot(slot).obs for slot in slots])
        return obs, rewards, np.array([self._slot(slot).done for slot in slots])

    def _slot(self, number: int) -> Slot:
        if number not in self.slots:
            self.slots[number] = Slot(self.make(**self.options))
        return self.slots[number]

    def _repeats(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether a seed and actions decide all that happens, also where another environment steps in between."""
        shape = (TRIED_STEPS, len(self.slots[0].names), len(low))
        draws = np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)
        tried, other = self._slot(0), self._slot(1)
        seen: list[list[np.ndarray]] = []
        for beside in (False, True):
            tried.start(TRIED)
            if beside:
                other.start(OTHER)
            seen.append([tried.obs])
            for each in draws:
                rewards = tried.step(each)
                if beside:
                    other.step(each)
                seen[-1] += [tried.obs, rewards]
        return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*seen, strict=True))

    @staticmethod
    def _continuous(env: Any) -> bool:
        return all(type(env.action_space(name)).__name__ == "Box" for name in env.possible_agents)


def serve(pipe: Any) -> None:
    """Answer requests, ``(verb, arguments)``, by ``(True, result)`` or ``(False, what went wrong)``."""
    keeper: Any = None
    while True:
        try:
            verb, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if verb == "make":
                keeper = Keeper(*arguments)
                answer = keeper.about()
            else:
                answer = getattr(keeper, verb)(*arguments)
            answer = True, answer
        except Exception as error:
            answer = False, f"{type(error).__name__}: {' '.join(str(error).split())}"
        try:
            pipe.send(answer)
        except OSError:  # nobody is there any more
            return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
