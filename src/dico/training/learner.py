"""What all algorithms share: a group's policy, its exploration interface, the action-space loss and the metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.func import functional_call

from dico._measuring import MAX_DISTANCES, spaced
from dico._pairs import upper
from dico.constraints import Constraint
from dico.losses import action_space_loss
from dico.metrics import METRICS, behavioural_distances, snd
from dico.policy import DiCo, Estimated
from dico.random import Random
from dico.runs.episodes import into_box
from dico.training.config import Config
from dico.training.critics import CentralCritic, LocalCritic, initialise_
from dico.training.optimiser import PopulationAdam, clip_factors, flat
from dico.training.staging import Stage

Weight = Shaped[Tensor, " rows"] | None
"""How much each frame of a minibatch counts, all alike if there is none; true or false will do."""


@dataclass(frozen=True)
class Team:
    """The group of agents that a learner trains."""

    name: str
    n_agents: int
    obs_dim: int
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Decision:
    """What a group does in one step: ``(members, envs, n, ...)``."""

    action: Tensor
    """In the action box."""
    raw: Tensor
    """As the update needs it: before squashing for the stochastic algorithms, the action itself for others."""
    log_prob: Tensor
    """Of ``raw``, summed over action components; zero where there is none."""


@dataclass(frozen=True)
class Batch:
    """What a group experienced: ``(members, steps, envs, ...)``."""

    obs: Float[Tensor, "members steps envs n o"]
    next_obs: Float[Tensor, "members steps envs n o"]
    """Before any reset."""
    raw: Float[Tensor, "members steps envs n a"]
    log_prob: Float[Tensor, "members steps envs n"]
    reward: Float[Tensor, "members steps envs n"]
    done: Bool[Tensor, "members steps envs"]
    """The episode ended here, by itself or at the horizon: no value is bootstrapped beyond."""


class Learner(ABC):
    """One group's policies, critics and optimisers, for all members."""

    loss: Callable[..., tuple[Tensor, Tensor]]
    """Each member's loss on a minibatch, and its diversity estimate; every algorithm has its own.

    Its arguments are the observations, what else the algorithm needs, :meth:`draw_offsets`, and what :meth:`improve`
    is told of the estimate.
    """

    def __init__(
        self, config: Config, team: Team, constraint: Constraint, seeds: Sequence[int], stream: int, stage: Stage
    ):
        self.config, self.team, self.stage = config, team, stage
        device = stage.device
        self.members = len(seeds)
        self.rng = Random(seeds, stream, device)
        self.policy = DiCo.mlp(
            team.n_agents, team.obs_dim, len(team.low), constraint,
            kind=config.policy_kind, hidden=config.hidden, tau=config.tau, low=team.low, high=team.high,
            squash_shared=config.squash_shared, gradient=config.gradient, initial=config.initial,
            metric=config.metric, members=(self.members,),
        ).to(device)  # fmt: skip
        initialise_(self.policy, self.rng)
        self.low = torch.tensor(team.low, device=device)
        self.high = torch.tensor(team.high, device=device)
        self.actor_adam = self._adam(self.policy, config.lr, config.adam_eps)
        self.action_adam = self._adam(self.policy, config.action_loss_lr, config.action_loss_eps)
        self._loss = stage.function(self.loss)
        self._own_action_loss = stage.function(self.own_action_loss)
        # two functions: PyTorch's compilers fail on sums beside what the optimiser does (pytorch/pytorch#176591)
        self._clip_factors = stage.function(clip_factors)
        self._step = stage.function(PopulationAdam.step)

    @abstractmethod
    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Explore."""

    def begin_batch(self, frames: int) -> None:  # noqa: B027
        """Prepare to explore; ``frames`` were collected before this batch."""

    def empty_batch(self, steps: int, envs: int) -> Batch:
        """Room for what the group will experience."""
        n, o, a = self.team.n_agents, self.team.obs_dim, len(self.team.low)
        size, device = (self.members, steps, envs), self.low.device
        shapes = ((n, o), (n, o), (n, a), (n,), (n,), ())
        values = [torch.zeros(*size, *shape, device=device) for shape in shapes]
        return Batch(*values[:-1], done=values[-1].bool())  # pyright: ignore[reportCallIssue]

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """Make use of a batch."""

    @abstractmethod
    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return {"actor": self.actor_adam, "action": self.action_adam}

    def buffers(self) -> dict[str, Tensor]:
        """All other tensors that carry over from one batch to the next, by name."""
        return {"rng.counter": self.rng.counter}

    def draw_offsets(self, obs: Float[Tensor, "members rows n o"]) -> Int[Tensor, "members frames k"] | None:
        """Which agents :meth:`act_and_estimate` compares at each frame, as :meth:`DiCo.estimate` takes them."""
        n = self.team.n_agents
        compared = self.config.compared(n)
        if compared == n:
            return None
        return self.rng.permutation(n, self.config.estimated(obs.shape[1]))[..., :compared]

    def act_and_estimate(
        self,
        obs: Float[Tensor, "members rows n o"],
        offsets: Tensor | None = None,
        weight: Weight = None,
        *,
        recent: Float[Tensor, "members rows n o"] | None = None,
        kept: Float[Tensor, " members"] | None = None,
    ) -> Estimated:
        """A training pass; the estimate is made on all frames, or on the first of them, which are in random order.

        ``recent`` are frames that it is made on instead. ``kept`` is an estimate of just now, in place of the committed
        one. The parameters have the estimate's gradient. The estimate that comes beside them has none: it is only kept,
        and a compiler would write a backward pass for it too.
        """
        if recent is None and offsets is None and self.config.estimated(obs.shape[1]) == obs.shape[1]:
            params, snd_hat = self.policy.forward_and_estimate(obs, weight=_of_rows(weight), kept=kept)
        else:
            snd_hat = self.estimate(obs, offsets, weight, recent, kept)
            params = self.policy(obs, snd_hat)
        return Estimated(params, snd_hat.detach())

    def estimate(
        self,
        obs: Tensor,
        offsets: Tensor | None,
        weight: Weight,
        recent: Tensor | None,
        kept: Tensor | None = None,
    ) -> Float[Tensor, " members"]:
        """The estimate of a training pass, with its gradient."""
        frames = self.config.estimated(obs.shape[1])
        if recent is not None:
            return self.policy.estimate(recent[:, :frames], offsets, kept=kept)
        weight = None if weight is None else _of_rows(weight[:frames])
        return self.policy.estimate(obs[:, :frames], offsets, weight=weight, kept=kept)

    def improve(
        self,
        optimisers: Sequence[PopulationAdam],
        obs: Float[Tensor, "members rows n o"],
        *rest: Tensor,
        **estimation: Tensor | None,
    ) -> None:
        """One step of each optimiser on the loss, then the new estimate, then the action-space loss where it is apart.

        ``estimation`` is ``weight`` or ``recent`` of :meth:`act_and_estimate`, where there is one. What is random in
        the loss comes from outside: drawn in there, a compiled backward pass might draw it again.
        """
        given = {name: value for name, value in estimation.items() if value is not None}
        loss, snd_hat = self._loss(obs, *rest, self.draw_offsets(obs), **given)
        self.descend(loss, *optimisers)
        self.policy.commit_(snd_hat)
        self.step_action_loss(obs, **given)

    def mean(self, params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n a"]:
        """The means among a policy's outputs."""
        return params[..., : len(self.team.low)]

    def executed(self, params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n a"]:
        """The means in the action box."""
        return into_box(self.policy, self.mean(params), self.low, self.high)

    def action_loss(self, params: Tensor, weight: Weight = None) -> Float[Tensor, " members"]:
        """Each member's action-space loss as trained on: squared, averaged, times ``action_loss_weight``."""
        squared = action_space_loss(self.mean(params), self.low, self.high).square()
        return self.config.action_loss_weight * average(squared, weight)

    def merged(
        self, actor_loss: Float[Tensor, " members"], params: Tensor, weight: Weight = None
    ) -> Float[Tensor, " members"]:
        """The actor's loss, with the action-space loss where that is merged."""
        return actor_loss + self.action_loss(params, weight) if self.config.action_loss == "merged" else actor_loss

    def step_action_loss(self, obs: Float[Tensor, "members rows n o"], **estimation: Tensor) -> None:
        """The original's way: after each step, one of its own on the same frames, which leaves the estimate alone."""
        if self.config.action_loss == "separate":
            self.descend(self._own_action_loss(obs, self.draw_offsets(obs), **estimation), self.action_adam)

    def own_action_loss(
        self,
        obs: Float[Tensor, "members rows n o"],
        offsets: Tensor | None,
        weight: Weight = None,
        recent: Tensor | None = None,
    ) -> Float[Tensor, " members"]:
        """Each member's action-space loss in a pass of its own, whose estimate has a gradient and is not kept.

        Of each agent at its own observations, as in the original, or at those of all agents: then it is no way to meet
        the loss to move diversity to where an agent does not act.
        """
        if self.config.action_loss_rows == "own":
            return self.action_loss(self.act_and_estimate(obs, offsets, weight, recent=recent).params, weight)
        everyone = self.policy.everyone(obs, self.estimate(obs, offsets, weight, recent))
        return self.action_loss(everyone, None if weight is None else weight.repeat_interleave(self.team.n_agents))

    def descend(self, loss: Float[Tensor, " members"], *optimisers: PopulationAdam) -> None:
        """One step of each member on its own loss, its gradients clipped for each optimiser by themselves."""
        parameters = [p for optimiser in optimisers for p in optimiser.parameters]
        gradients = list(torch.autograd.grad(loss.sum(), parameters))
        for optimiser in optimisers:
            own, gradients = gradients[: len(optimiser.parameters)], gradients[len(optimiser.parameters) :]
            gradient = flat(own)
            self._step(optimiser, gradient, self._clip_factors(gradient, self.config.max_grad_norm))

    def tensors(self) -> dict[str, Tensor]:
        """Everything that an update writes and the next one reads, by name."""
        named = dict(self.buffers())
        for kind, module in self.modules().items():
            named |= {f"{kind}.{name}": value for name, value in module.state_dict().items()}
        for kind, optimiser in self.optimisers().items():
            named |= {f"adam.{kind}.{name}": value for name, value in optimiser.tensors().items()}
        return named

    @torch.no_grad()
    def measure(self, batch: Batch) -> dict[str, Float[Tensor, "members *pairs"]]:
        """What the run folder says of each member after a batch; ``distances`` is the one with several numbers.

        Diversity is measured three times: ``snd`` on the newest batch, ``snd_train`` on what the estimate is made of,
        and ``snd_acted`` on the newest batch with the means brought into the action box, as agents execute them.
        """
        obs = batch.obs.flatten(1, 2)
        obs = obs[:, spaced(obs.shape[1], self.team.n_agents, obs.device)]
        params, everyone = self.policy(obs), self.policy.everyone(obs)
        controlled, means = self.config.metric, self.mean(everyone)
        trained_on = self.estimated_on(obs)
        return {
            "reward": average(batch.reward),
            "snd": snd(everyone),
            **({} if controlled == "snd" else {controlled: METRICS[controlled].fn(everyone)}),
            "snd_train": snd(everyone if trained_on is obs else self.policy.everyone(trained_on)),
            "snd_acted": snd(self.executed(everyone)),
            "snd_hat": self.policy.snd_hat.clone(),
            "scale": self.policy.scale(),
            "overflow": average(action_space_loss(self.mean(params), self.low, self.high)),
            "overflow_all": average(action_space_loss(means, self.low, self.high)),
            **self._distances(everyone),
        }

    def estimated_on(self, newest: Float[Tensor, "members rows n o"]) -> Float[Tensor, "members rows n o"]:
        """As many frames as ``newest`` that the diversity estimate is made of: those of the newest batch themselves."""
        return newest

    def _distances(self, everyone: Float[Tensor, "members rows n d"]) -> dict[str, Float[Tensor, "members pairs"]]:
        """How differently each two agents behave, in the order of ``pairwise_w2``."""
        n = self.team.n_agents
        if not 2 <= n <= MAX_DISTANCES:
            return {}
        return {"distances": upper(behavioural_distances(everyone))}

    def _critic(self, inputs: int, members: Sequence[int]) -> nn.Module:
        make = CentralCritic if self.config.central else LocalCritic
        critic = make(self.team.n_agents, inputs, self.config.hidden, members).to(self.low.device)
        initialise_(critic, self.rng)
        return critic

    def _adam(self, module: nn.Module, lr: float, eps: float) -> PopulationAdam:
        return PopulationAdam(list(module.parameters()), lr, eps)


def _of_rows(weight: Weight) -> Tensor | None:
    """The weight of each frame as that of its agents' observations."""
    return None if weight is None else weight[:, None]


def average(values: Float[Tensor, "members rows *rest"], weight: Weight = None) -> Float[Tensor, " members"]:
    """Each member's mean, in which every row counts alike, or as much as it weighs.

    >>> average(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([1, 3, 0]))
    tensor([1.7500, 4.7500])
    """
    if weight is not None:
        share = weight.to(values.dtype)
        values = values * (share / share.mean()).reshape(-1, *[1] * (values.ndim - 2))
    return values.flatten(1).mean(1)


def without_gradient(module: nn.Module, x: Tensor) -> Tensor:
    """A module's output with a gradient for its input, and none for its parameters."""
    return functional_call(module, {name: p.detach() for name, p in module.named_parameters()}, (x,))
