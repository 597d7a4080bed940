"""What all algorithms share: a group's policies, the diversity estimate, gradient steps, the action-space loss."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dico.acting import into_box
from dico.analytical import mlp_policy
from dico.constraints import Constraint
from dico.dial import dialled_mlp
from dico.losses import action_space_loss
from dico.members import NUMBERS, Member
from dico.policy import Estimated
from dico.random import Random
from dico.training.critics import Critic, MakeCritic, initialise_
from dico.training.experience import Comparison, Decision, Experience, Team, Weight, average, of_rows
from dico.training.optimiser import PopulationAdam, clip_factors, flat
from dico.training.settings import Settings
from dico.training.staging import Stage


class Learner(ABC, Generic[Experience]):
    """One group's policies, critics and optimisers, for all members."""

    KINDS: ClassVar[tuple[str, ...]]
    """Kinds of policies that it can train; the first is what ``auto`` means."""
    ON_POLICY: ClassVar[bool]
    """Whether each batch is used once."""
    BATCH: type[Experience]
    """What it remembers of each step."""
    READS: ClassVar[tuple[str, ...]] = ("tau", "lr", "max_grad_norm", "action_loss_lr", "action_loss_weight")
    """Which of the numbers that may vary between members it reads."""
    CRITIC_PASSES: ClassVar[int]
    """How many times an update sends its frames through a critic, for the memory plan."""

    def __init__(
        self,
        settings: Settings,
        members: Sequence[Member],
        team: Team,
        constraint: Constraint,
        critic: MakeCritic,
        stream: int,
        stage: Stage,
    ):
        self.settings, self.members, self.team, self.stage = settings, tuple(members), team, stage
        self.make_critic, self.constraint = critic, constraint
        self.rng = Random([member.seed for member in members], stream, stage.device)
        turned = settings.dial and len(set(constraint.texts())) > 1  # not a group that is not controlled
        self.tied = _tied(members, stage.device) if turned else None
        """Of each member, those that it has its policies in common with."""
        over = {"obs_box": team.obs_box, "density": settings.density, "coordinates": settings.coordinates}
        box = {} if settings.dial else over
        make = dialled_mlp if settings.dial else mlp_policy
        self.policy = make(
            team.n_agents, team.obs_dim, len(team.low), constraint, **box,
            kind=self.policy_kind(settings), hidden=settings.hidden, tau=self._values("tau"),
            low=team.low, high=team.high, squash_shared=settings.squash_shared, gradient=settings.gradient,
            initial=settings.initial, metric=settings.metric, members=(self.n_members,),
        ).to(stage.device)  # fmt: skip
        initialise_(self.policy, self.rng)
        self.low, self.high = (torch.tensor(corner, device=stage.device) for corner in (team.low, team.high))
        self.numbers = {name: self._vector(name) for name in NUMBERS}
        """Of each member, what may vary between them."""
        self.actor_adam = self.adam(self.policy.parameters())
        rates, eps = self.numbers["action_loss_lr"], settings.action_loss_eps
        self.action_adam = PopulationAdam(list(self.policy.parameters()), rates, eps)
        self._separate_action_loss = stage.function(self.separate_action_loss)
        # two functions: PyTorch's compilers fail on sums beside what the optimiser does (pytorch/pytorch#176591)
        self._clip_factors = stage.function(clip_factors)
        self._step = stage.function(PopulationAdam.step)

    @classmethod
    def policy_kind(cls, settings: Settings) -> str:
        """The kind of policies, ``auto`` resolved."""
        return cls.KINDS[0] if settings.kind == "auto" else settings.kind

    @property
    def n_members(self) -> int:
        """How many members."""
        return len(self.members)

    # collecting

    @abstractmethod
    def act(self, obs: Float[Tensor, "members envs n o"]) -> Decision:
        """Explore."""

    def begin_batch(self, frames: int) -> None:
        """Prepare to explore and learn; ``frames`` were collected before this batch."""

    def empty_batch(self, steps: int, envs: int) -> Experience:
        """Room for what the group will experience."""
        size, device, kinds = (self.n_members, steps, envs), self.low.device, {"done": torch.bool}
        room = {
            name: torch.zeros(*size, *shape, dtype=kinds.get(name), device=device)
            for name, shape in self.shapes().items()
        }
        return self.BATCH(**room)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what a batch holds for each step of an environment, by field; an algorithm adds what it remembers."""
        n, o = self.team.n_agents, self.team.obs_dim
        return {"obs": (n, o), "next_obs": (n, o), "reward": (n,), "done": ()}

    # learning

    @abstractmethod
    def learn(self, batch: Experience) -> None:
        """Make use of a batch."""

    def compare(
        self, obs: Float[Tensor, "members rows n o"], weight: Weight = None, newest: Tensor | None = None
    ) -> Comparison:
        """How agents are compared in an update on ``obs``.

        What is random in a loss is drawn outside: drawn in there, a compiled backward pass might draw it again.
        """
        return Comparison(self.draw_offsets(obs), weight, newest)

    def draw_offsets(self, obs: Float[Tensor, "members rows n o"]) -> Int[Tensor, "members frames k"] | None:
        """Which agents are compared at each frame, random ones if not all are."""
        n = self.team.n_agents
        compared = self.settings.agents_compared(n)
        if compared == n:
            return None
        return self.rng.permutation(n, self.settings.estimate_rows(obs.shape[1]))[..., :compared]

    def act_and_estimate(
        self,
        obs: Float[Tensor, "members rows n o"],
        how: Comparison,
        current: Float[Tensor, " members"] | None = None,
    ) -> Estimated:
        """A training pass: the policies' outputs, scaled by a new estimate and with its gradient; and that estimate.

        The estimate that comes beside them has no gradient: it is only committed, and a compiler would write a backward
        pass for it too. ``current`` is an estimate of just now, in place of the committed one.
        """
        frames = self.settings.estimate_rows(obs.shape[1])
        if how.offsets is None and how.newest is not None:
            params, snd_hat = self.policy.forward_and_estimate(obs, on=how.newest[:, :frames], current=current)
        elif how.offsets is None and frames == obs.shape[1]:
            params, snd_hat = self.policy.forward_and_estimate(obs, weight=of_rows(how.weight), current=current)
        else:
            snd_hat = self.estimate(obs, how, current)
            params = self.policy(obs, snd_hat)
        return Estimated(params, snd_hat.detach())

    def estimate(self, obs: Tensor, how: Comparison, current: Tensor | None = None) -> Float[Tensor, " members"]:
        """The estimate of a training pass, with its gradient: on the first frames, which are in random order."""
        frames = self.settings.estimate_rows(obs.shape[1])
        if how.newest is not None:
            return self.policy.estimate(how.newest[:, :frames], how.offsets, current=current)
        weight = None if how.weight is None else of_rows(how.weight[:frames])
        return self.policy.estimate(obs[:, :frames], how.offsets, weight=weight, current=current)

    def descend(self, loss: Float[Tensor, " members"], *optimisers: PopulationAdam) -> None:
        """One step of each member on its own loss, its gradients clipped for each optimiser by themselves."""
        for optimiser, gradient in zip(optimisers, self.gradients(loss, *optimisers), strict=True):
            self.step(optimiser, gradient)

    def gradients(
        self, loss: Float[Tensor, " members"], *optimisers: PopulationAdam
    ) -> list[Float[Tensor, "members all"]]:
        """Of each member's own loss, for the parameters of each optimiser."""
        parameters = [p for optimiser in optimisers for p in optimiser.parameters]
        each = iter(torch.autograd.grad(loss.sum(), parameters))
        return [flat([next(each) for _ in optimiser.parameters]) for optimiser in optimisers]

    def step(self, optimiser: PopulationAdam, gradient: Float[Tensor, "members all"]) -> None:
        """One step of each member, its gradient clipped."""
        if self.tied is not None and optimiser in (self.actor_adam, self.action_adam):
            gradient = torch.stack([gradient[of] for of in self.tied]).mean(0)
        self._step(optimiser, gradient, self._clip_factors(gradient, self.numbers["max_grad_norm"]))

    # the action-space loss

    def mean(self, params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n a"]:
        """The means among a policy's outputs."""
        return params[..., : len(self.team.low)]

    def executed(self, params: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n a"]:
        """The means in the action box."""
        return into_box(self.policy.kind, self.mean(params), self.low, self.high)

    def action_loss(self, params: Tensor, weight: Weight = None) -> Float[Tensor, " members"]:
        """Each member's action-space loss as trained on: squared, averaged, times ``action_loss_weight``."""
        squared = action_space_loss(self.mean(params), self.low, self.high).square()
        return self.numbers["action_loss_weight"] * average(squared, weight)

    def add_action_loss(
        self, actor_loss: Float[Tensor, " members"], params: Tensor, weight: Weight = None
    ) -> Float[Tensor, " members"]:
        """The actor's loss, with the action-space loss where that is merged."""
        return actor_loss + self.action_loss(params, weight) if self.settings.action_loss == "merged" else actor_loss

    def step_action_loss(self, obs: Float[Tensor, "members rows n o"], how: Comparison) -> None:
        """The original's way: after each step, one of its own on the same frames, which leaves the estimate alone."""
        if self.settings.action_loss == "separate":
            again = self.compare(obs, how.weight, how.newest)
            self.descend(self._separate_action_loss(obs, again), self.action_adam)

    def separate_action_loss(
        self, obs: Float[Tensor, "members rows n o"], how: Comparison
    ) -> Float[Tensor, " members"]:
        """Each member's action-space loss in a pass of its own, whose estimate has a gradient and is not committed.

        Of each agent at its own observations, as in the original, or at those of all agents: then it is no way to meet
        the loss to move diversity to where an agent does not act.
        """
        if self.settings.action_loss_rows == "own":
            return self.action_loss(self.act_and_estimate(obs, how).params, how.weight)
        everyone = self.policy.everyone(obs, self.estimate(obs, how))
        weight = None if how.weight is None else how.weight.repeat_interleave(self.team.n_agents)
        return self.action_loss(everyone, weight)

    def estimated_on(self, newest: Float[Tensor, "members rows n o"]) -> Float[Tensor, "members rows n o"]:
        """As many frames as ``newest`` that the diversity estimate is made of: those of the newest batch themselves."""
        return newest

    # what it is made of

    @abstractmethod
    def modules(self) -> dict[str, nn.Module]:
        """All networks by name."""

    def optimisers(self) -> dict[str, PopulationAdam]:
        """All optimisers by name."""
        return {"actor": self.actor_adam, "action": self.action_adam}

    def buffers(self) -> dict[str, Tensor]:
        """All other tensors that carry over from one batch to the next, by name."""
        return {"rng.counter": self.rng.counter}

    def constants(self) -> dict[str, Tensor]:
        """What sets members apart and never changes, by name."""
        return {"rng.keys": self.rng.keys, **self.numbers}

    def tensors(self) -> dict[str, Tensor]:
        """Everything that an update writes and the next one reads, by name."""
        named = dict(self.buffers())
        for kind, module in self.modules().items():
            named |= {f"{kind}.{name}": value for name, value in module.state_dict().items()}
        for kind, optimiser in self.optimisers().items():
            named |= {f"adam.{kind}.{name}": value for name, value in optimiser.tensors().items()}
        return named

    def critic_network(self, inputs: int, *stacked: int) -> Critic:
        """A critic for each member, or several."""
        sizes = (self.team.n_agents, inputs, self.settings.hidden, (self.n_members, *stacked))
        critic = self.make_critic(*sizes).to(self.low.device)
        initialise_(critic, self.rng)
        return critic

    def adam(self, parameters: Iterable[nn.Parameter]) -> PopulationAdam:
        """The optimiser of actors and critics."""
        return PopulationAdam(list(parameters), self.numbers["lr"], self.settings.adam_eps)

    def _vector(self, name: str) -> Float[Tensor, " members"]:
        return torch.tensor(self._values(name), dtype=torch.get_default_dtype(), device=self.stage.device)

    def _values(self, name: str) -> list[float]:
        return [getattr(member, name) for member in self.members]


def _tied(members: Sequence[Member], device: torch.device) -> Int[Tensor, "levels members"]:
    """Of each member all that differ from it in desired diversity alone, as indices; itself is among them.

    >>> _tied([Member(0, "0", 7), Member(1, "0", 8), Member(2, "1", 7), Member(3, "1", 8)], torch.device("cpu"))
    tensor([[0, 1, 0, 1],
            [2, 3, 2, 3]])
    """
    alike = [replace(member, index=0, constraint="", name="") for member in members]
    return torch.tensor([[k for k, other in enumerate(alike) if other == mine] for mine in alike], device=device).T
