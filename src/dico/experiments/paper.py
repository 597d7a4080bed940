"""The paper's experiments as data: what each of them trains, which figure shows it, and what it is for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dico.experiments import presets
from dico.tasks import TASKS
from dico.training.config import Config


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One population of the paper."""

    name: str
    task: str
    """A task of :data:`dico.tasks.TASKS`."""
    snd: tuple[str, ...]
    """Desired diversities."""
    figure: str
    """The label of the paper's figure."""
    purpose: str
    """What it is for, in a sentence."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that are not those of the task's preset."""

    def config(
        self, preset: str = "paper", *, scale: float = 1.0, seeds: int | None = None, first_seed: int = 0
    ) -> Config:
        """The settings of a preset for the task, and the experiment's own.

        ``scale`` makes the training longer or shorter, see :func:`scaled`. ``seeds`` are the preset's by default.

        >>> EXPERIMENTS["tag"].config(scale=0.1, seeds=1).freeze
        ('agent=300000',)
        """
        changes = {"snd": self.snd, "first_seed": first_seed, **self.changes}
        if seeds is not None:
            changes["seeds"] = seeds
        return scaled(presets.preset(preset, self.task, **changes), scale)


def scaled(config: Config, scale: float) -> Config:
    """A training of ``scale`` times the frames, in whole batches and at least one.

    What is counted in frames goes along: how long a group learns, and how long the exploration noise falls. The replay
    buffer keeps its size. With a scale of 1 nothing changes.

    >>> config = scaled(EXPERIMENTS["reverse-transport"].config(), 0.1)
    >>> config.frames, config.noise_frames
    (798000, 100000)
    """
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
        raise ValueError(f"scale must be a finite number above 0, got {scale!r}")
    if scale == 1:
        return config
    batches = max(1, round(config.frames * scale / config.frames_per_batch))
    return replace(
        config,
        frames=batches * config.frames_per_batch,
        noise_frames=max(1, round(config.noise_frames * scale)),
        freeze=tuple(_scaled_freeze(text, scale) for text in config.freeze),
    )


def _scaled_freeze(text: str, scale: float) -> str:
    """Frames are scaled; a share of all frames stays what it is.

    >>> _scaled_freeze("agent=3000000", 0.02), _scaled_freeze("agent=25%", 0.02)
    ('agent=60000', 'agent=25%')
    """
    group, _, frames = text.partition("=")
    return text if frames.endswith("%") else f"{group}={round(int(frames) * scale)}"


_ANALYTICAL: dict[str, Any] = {"algorithm": "maddpg", "control": "analytical", "seeds": 3}

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="navigation",
            task="navigation",
            snd=("0", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "free"),
            figure="fig:nav_case_study",
            purpose="Each agent has a goal of its own: reward grows with diversity, until there is too much of it.",
        ),
        Experiment(
            name="same-goal",
            task="same-goal",
            snd=TASKS["same-goal"].snd_levels,
            figure="fig:nav_case_study_same_goal",
            purpose="Both agents have one goal: diversity costs reward, and is placed away from the goal.",
        ),
        Experiment(
            name="dispersion",
            task="dispersion",
            snd=TASKS["dispersion"].snd_levels,
            figure="fig:dispersion_plots",
            purpose="Each agent must take another food: a high diversity finds that faster than free agents do.",
            changes={"task_options": ("share_reward=false",)},
        ),
        Experiment(
            name="dispersion-shared",
            task="dispersion",
            snd=TASKS["dispersion"].snd_levels,
            figure="fig:dispersion_plots",
            purpose="Dispersion with the reward shared among all agents, as the paper's text has it.",
            changes={"task_options": ("share_reward=true",)},
        ),
        Experiment(
            name="sampling",
            task="sampling",
            snd=TASKS["sampling"].snd_levels,
            figure="fig:sampling_plots",
            purpose="Agents must spread to sample a field: a high diversity explores better than free agents do.",
        ),
        Experiment(
            name="tag",
            task="tag",
            snd=TASKS["tag"].snd_levels,
            figure="fig:tag_plots",
            purpose="Chasers with twice the diversity that free ones come to find better strategies.",
        ),
        Experiment(
            name="reverse-transport",
            task="reverse-transport",
            snd=TASKS["reverse-transport"].snd_levels,
            figure="fig:rev_transport_plots",
            purpose="All agents should push alike: less diversity than free agents have learns faster.",
        ),
        Experiment(
            name="tau",
            task="navigation",
            snd=("1",),
            figure="fig:tau_comparison",
            purpose="A small tau has a steady diversity that overshoots; a large one is on target and scatters.",
            changes={"vary": ("tau=0.1,0.01,0.001,0.0001",)},
        ),
        Experiment(
            name="analytical",
            task="navigation",
            snd=("0", "0.1", "0.3", "0.5", "1"),
            figure="fig:nav_finn",
            purpose="Diversity guaranteed over a whole box of observations: reward grows with it, as on batches.",
            changes=_ANALYTICAL,
        ),
        Experiment(
            name="analytical-finn",
            task="navigation",
            snd=("0", "0.1", "0.3", "0.5", "1"),
            figure="fig:nav_finn",
            purpose="The same with the paper's fixed-integral network, signed: else no ridge is along equal inputs.",
            changes={**_ANALYTICAL, "density": "finn-signed"},
        ),
    )
}
"""The paper's experiments by name. Navigation's 1.5 is that of fig:nav_case_study_too_much; the last tau is 0.0001,
where the paper's text has 0.001 twice. The text has no levels for fig:nav_finn: they are those of navigation."""
