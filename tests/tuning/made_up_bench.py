"""A bench on which nothing is trained: every level's metric is what a curve says, with seeds that scatter."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from dico.experiments import preset
from dico.tuning import METRICS, Bench, Trial


class MadeUpBench(Bench):
    """``curve`` is of a desired diversity; free agents land at ``free``. Half way all have half of it."""

    def __init__(self, curve, free=1.0, scatter=0.01, metric="reward", **settings):
        super().__init__(preset("quick", "navigation", **({"seeds": 4} | settings)), METRICS[metric], Path("nowhere"))
        self.curve, self.free, self.scatter = curve, free, scatter
        self.asked = []

    def train(self, chosen, frames, *, first_seed=0, after=None, leader=""):
        number = 1 + max((trial.population for trial in self.history), default=0)
        self.asked.append((list(chosen), frames, first_seed, leader))
        seeds = self.config.seeds
        self.frames += (frames - (after.frames if after else 0)) * seeds * len(chosen)
        learned = frames / self.config.frames
        trials = []
        for level in chosen:
            at = self.free if level == "free" else float(level)
            draw = np.random.default_rng([int(1000 * at), first_seed, level == "free"])
            values = learned * self.curve(at) + self.scatter * draw.standard_normal(seeds)
            known = [] if after is None else after.levels
            since = leader if after is not None and level not in known else None
            trials.append(Trial(number, level, frames, tuple(values.tolist()), at, since))
        self.history += trials
        return SimpleNamespace(frames=frames, levels=list(chosen)), trials


class LuckyBench(MadeUpBench):
    """Drawn anew each time: ``stays`` is how much of a seed's luck is of its networks, and stays with whom takes over.

    The other part of its variance is another one at each look.
    """

    def __init__(self, curve, draw, stays, **settings):
        super().__init__(curve, **settings)
        self.draw, self.stays = draw, stays

    def train(self, chosen, frames, *, first_seed=0, after=None, leader=""):
        number, seeds = len(self.asked) + 1, self.config.seeds
        self.asked.append((list(chosen), frames, first_seed, leader))
        before = {} if after is None else after.luck
        luck, trials = {}, []
        for level in chosen:
            at = self.free if level == "free" else float(level)
            luck[level] = before.get(level, before[leader]) if before else self.draw.standard_normal(seeds)
            noise = self.stays**0.5 * luck[level] + (1 - self.stays) ** 0.5 * self.draw.standard_normal(seeds)
            values = frames / self.config.frames * self.curve(at) + self.scatter * noise
            trials.append(Trial(number, level, frames, tuple(values.tolist()), at))
        self.history += trials
        return SimpleNamespace(frames=frames, luck=luck), trials
