"""The DiCo policies as a BenchMARL model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from benchmarl.models.common import Model, ModelConfig
from benchmarl.models.mlp import MlpConfig
from tensordict import TensorDictBase
from torch import Tensor, nn
from torchrl.data import Bounded

from dico._checks import check_choice, check_number, check_positive, check_switch
from dico.adapters.benchmarl.scales import unscale
from dico.adapters.torchrl import act
from dico.constraints import FORMS, Constraint, parse_constraint, uncontrolled
from dico.kinds import KINDS
from dico.metrics import METRICS
from dico.policy import GRADIENTS, INITIALS, DiCo
from dico.schedules import is_scheduled, is_seeking

ACTION_LOSSES = ("separate", "off")
SMALLEST_EPS = 1e-30
"""Of Adam's epsilon, which divides by zero at 0."""


@dataclass(kw_only=True)
class DicoConfig(ModelConfig):
    """Settings of ``model=dico``; as a critic's configuration it stands for an MLP of the same size.

    >>> DicoConfig(desired_snd=">=0.3", tau=0.1).constraint
    Constraint(>=0.3)
    """

    desired_snd: Any = 0.3
    """Desired diversity: 0.3, >=0.3, <=0.5, 0.2..0.5, free, a schedule (0->1@2e6 rises from 0 to 1 by 2e6 frames),
    or module:function, which gives it for the frames so far."""
    groups: Sequence[str] | None = None
    """Groups whose diversity is controlled; by default every group of two or more agents. Others are free; of a lone
    agent the shared network acts alone."""
    num_cells: Sequence[int] = (256, 256)
    """Units in the hidden layers of the shared network and of each agent's deviation."""
    kind: str = "auto"
    """deterministic, shared_std, agent_std or agent_std_paper; auto is deterministic or shared_std, as it must be."""
    tau: float = 0.01
    """Soft update of the diversity estimate in [0, 1]; 1 makes thm:scaling exact on each minibatch."""
    gradient: str = "soft"
    """How the gradient flows through the estimate: soft, detached or straight_through."""
    initial: str = "batch"
    """The first estimate: measured on the first training batch, or desired."""
    estimate_on: str = "both"
    """DDPG: what the estimate is made on in each step: the minibatch's observations, or its next observations and then
    its observations (both), as in the original."""
    metric: str = "snd"
    """The diversity metric under control: snd, hse, det_root, max, min or mst."""
    squash_shared: bool = True
    """Bring the shared mean into the action box by a tanh."""
    action_loss: str = "separate"
    """The loss on means outside the action box: separate (an optimiser step of its own) or off."""
    action_loss_rows: str = "own"
    """Where it looks at an agent's mean: at the agent's own observations, as in the original, or at those of all."""
    action_loss_lr: float = 3e-5
    """Step size of its Adam."""
    action_loss_eps: float = 1e-8
    """Epsilon of its Adam."""
    action_loss_weight: float = 1.0
    """Its weight."""
    scale_mapping: str = "biased_softplus_1.0"
    """The algorithm's own scale_mapping, which makes standard deviations of this model's outputs."""

    def __post_init__(self):
        _ = self.constraint
        choices = {
            "kind": ("auto", *KINDS),
            "gradient": GRADIENTS,
            "initial": INITIALS,
            "metric": METRICS,
            "action_loss": ACTION_LOSSES,
            "action_loss_rows": ("own", "all"),
            "estimate_on": ("minibatch", "both"),
        }
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), allowed)
        check_number("tau", self.tau, 0, 1)
        check_switch("squash_shared", self.squash_shared)
        if isinstance(self.num_cells, str) or not isinstance(self.num_cells, Sequence):
            raise ValueError(f"num_cells must be a list of positive integers, got {self.num_cells!r}")
        for units in self.num_cells:
            check_positive("each of num_cells", units)
        listed = isinstance(self.groups, Sequence) and all(isinstance(name, str) for name in self.groups)
        if self.groups is not None and (isinstance(self.groups, str) or not listed):
            raise ValueError(f"groups must be a list of names, such as [agents], got {self.groups!r}")
        for name in ("action_loss_lr", "action_loss_weight"):
            check_number(name, getattr(self, name), 0)
        check_number("action_loss_eps", self.action_loss_eps, SMALLEST_EPS)
        unscale(torch.ones(()), self.scale_mapping)

    @property
    def constraint(self) -> Constraint:
        """The desired diversity as a constraint."""
        if is_seeking(str(self.desired_snd)):
            raise ValueError(
                f"desired_snd cannot seek without neighbours: dico train has them, got {self.desired_snd!r}"
            )
        try:
            return parse_constraint(str(self.desired_snd))
        except ValueError:
            if is_scheduled(str(self.desired_snd)):
                raise
            raise ValueError(f"desired_snd must be a diversity such as {FORMS}, got {self.desired_snd!r}") from None

    def controls(self, group: str, n_agents: int) -> bool:
        """Whether the diversity of a group is controlled."""
        return n_agents > 1 if self.groups is None else group in self.groups

    def controlled_policy(self, n_agents: int, obs_dim: int, act_dim: int, **options: Any) -> DiCo:
        """Policies of the desired diversity, for a group that is controlled."""
        return DiCo.mlp(n_agents, obs_dim, act_dim, self.constraint, **options)

    def get_model(self, **specs: Any) -> Model:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The policies of a group, or its critic, from BenchMARL's specifications."""
        if not self.is_critic:
            return self.associated_class()(self, **specs)
        critic = MlpConfig(num_cells=list(self.num_cells), activation_class=nn.Tanh, layer_class=nn.Linear)
        critic.is_critic = True
        return critic.get_model(**specs)

    @staticmethod
    def associated_class() -> "type[Dico]":
        """The model, after whose class BenchMARL names it."""
        return Dico


class Dico(Model):
    """A :class:`~dico.policy.DiCo` policy for one group of agents, between BenchMARL's observations and logits.

    The estimate is renewed in training passes of the actor's loss, on their own observations and before the outputs are
    scaled (:func:`~dico.adapters.torchrl.trains`). With ``estimate_on="both"`` it is renewed wherever gradients are
    enabled, as in the original: TorchRL's DDPG computes its targets so, at the next observations. A rollout of your own
    with gradients enabled looks like training: put it under ``torch.no_grad()``.
    """

    policy: DiCo

    def __init__(self, config: DicoConfig, *, model_index: int = 0, **specs: Any):
        super().__init__(**specs, model_index=model_index, is_critic=False)
        actions = self.action_spec[self.agent_group, "action"]
        low, high = _box(self.agent_group, actions)
        act_dim, width = len(low), self.output_leaf_spec.shape[-1]
        self.settings = config
        self.kind = _kind(config.kind, stochastic=width == 2 * act_dim)
        self.controlled = config.controls(self.agent_group, self.n_agents)
        self.obs_dim = sum(spec.shape[-1] for spec in self.input_spec.values(True, True))
        make = config.controlled_policy if self.controlled else _free_policy
        self.policy = make(
            self.n_agents, self.obs_dim, act_dim,
            kind=self.kind, hidden=tuple(config.num_cells), tau=config.tau, low=low, high=high,
            squash_shared=config.squash_shared, gradient=config.gradient, initial=config.initial, metric=config.metric,
        ).to(self.device)  # fmt: skip

    def observations(self, tensordict: TensorDictBase) -> Tensor:
        """What each agent sees: ``(*batch, n, o)``."""
        return torch.cat([tensordict.get(key) for key in self.in_keys], -1)

    def means(self, params: Tensor) -> Tensor:
        """The means among the policies' outputs: ``(*batch, n, d) -> (*batch, n, m)``."""
        return params[..., : self.box[0].shape[-1]]

    @property
    def goal(self) -> Constraint:
        """The desired diversity of the group, controlled or not."""
        assert isinstance(self.policy.constraint, Constraint)
        return self.policy.constraint

    @property
    def box(self) -> tuple[Tensor, Tensor]:
        """The corners of the action box."""
        low, high = self.policy.low, self.policy.high
        assert low is not None
        assert high is not None
        return low, high

    def _perform_checks(self) -> None:
        super()._perform_checks()
        if self.out_key[0] != self.agent_group or self.model_index > 0:
            raise ValueError("model=dico must be the whole policy of a group, not a layer of a sequence")
        for key, spec in self.input_spec.items(True, True):
            if len(spec.shape) != 2:
                raise ValueError(f"model=dico needs observations (agents, features), {key} is {tuple(spec.shape)}")

    def _forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        obs = self.observations(tensordict)
        params = act(self.policy, obs, "both" if self.settings.estimate_on == "both" else "grad")
        if self.policy.kind.width == 2:
            mean, std = params.chunk(2, -1)
            params = torch.cat((mean, unscale(std, self.settings.scale_mapping)), -1)
        return tensordict.set(self.out_key, params)


def _free_policy(n_agents: int, obs_dim: int, act_dim: int, **options: Any) -> DiCo:
    """Policies of a group that is not controlled."""
    return DiCo.mlp(n_agents, obs_dim, act_dim, uncontrolled(n_agents), **options)


def _box(group: str, actions: Any) -> tuple[list[float], list[float]]:
    """The corners of the action box, which all agents of the group must share."""
    if not isinstance(actions, Bounded) or not actions.dtype.is_floating_point:
        raise ValueError(
            f"model=dico needs continuous actions, group {group!r} has others: choose ippo, mappo, iddpg, maddpg, isac "
            "or masac, and experiment.prefer_continuous_actions=True"
        )
    space: Any = actions.space
    low, high = (corner.reshape(-1, actions.shape[-1]) for corner in (space.low, space.high))
    if (low != low[0]).any() or (high != high[0]).any():
        raise ValueError(f"model=dico needs one action box for all agents of a group, those of {group!r} differ")
    return low[0].tolist(), high[0].tolist()


def _kind(name: str, *, stochastic: bool) -> str:
    """The kind of policies that the algorithm can use."""
    if name == "auto":
        return "shared_std" if stochastic else "deterministic"
    if stochastic != (KINDS[name].width == 2):
        fitting = [kind for kind, value in KINDS.items() if stochastic == (value.width == 2)]
        raise ValueError(f"kind must be auto or one of {', '.join(fitting)} for this algorithm, got {name!r}")
    return name
