"""DiCo as an actor of TorchRL.

The module reads observations from a tensordict and writes the parameters of the action distribution, so that it drops
into a ``ProbabilisticActor`` and from there into any actor-critic loss.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from dico._checks import check_choice
from dico.policy import DiCo

try:
    from tensordict import TensorDictBase
    from tensordict.nn import TensorDictModuleBase
    from tensordict.utils import NestedKey
    from torchrl.objectives import LossModule
except ModuleNotFoundError as missing:
    raise ImportError(f'dico.adapters.torchrl needs {missing.name}: pip install "dico-marl[torchrl]"') from missing

REFRESHES = ("grad", "both", "never")


class DiCoModule(TensorDictModuleBase):
    """A :class:`~dico.policy.DiCo` policy between the keys of a tensordict.

    ``in_keys`` is the observation ``(*batch, n, o)``. ``out_keys`` are mean and standard deviation for the stochastic
    kinds, the mean alone for the deterministic one.

    ``refresh="grad"`` renews and commits the diversity estimate in every training pass (:func:`trains`): in the actor's
    loss, and not in collectors, under ``torch.no_grad()`` or in targets at the next observations, where the current
    estimate is used. ``refresh="both"`` renews it wherever gradients are enabled, as the original did: TorchRL's DDPG
    computes its targets so, and the estimate is renewed there before the actor's loss does. A rollout of your own with
    gradients enabled looks like training: put it under ``torch.no_grad()``. ``refresh="never"`` leaves the estimate to
    you: ``policy.commit_(policy.estimate(obs))``.

    >>> from tensordict import TensorDict
    >>> from torchrl.modules import ProbabilisticActor, TanhNormal
    >>> policy = DiCo.mlp(n_agents=2, obs_dim=4, act_dim=2, constraint=0.3, kind="shared_std")
    >>> keys = [("agents", "loc"), ("agents", "scale")]
    >>> module = DiCoModule(policy, in_keys=[("agents", "observation")], out_keys=keys)
    >>> actor = ProbabilisticActor(
    ...     module, in_keys=keys, out_keys=[("agents", "action")], distribution_class=TanhNormal, return_log_prob=True
    ... )
    >>> data = TensorDict({"agents": {"observation": torch.zeros(10, 2, 4)}}, [10])
    >>> actor(data)["agents", "action"].shape
    torch.Size([10, 2, 2])
    """

    def __init__(
        self,
        policy: DiCo,
        in_keys: Sequence[NestedKey] = (("agents", "observation"),),
        out_keys: Sequence[NestedKey] | None = None,
        refresh: str = "grad",
    ):
        super().__init__()
        default = [("agents", "loc"), ("agents", "scale")][: policy.kind.width]
        self.policy = policy
        self.in_keys: list[NestedKey] = list(in_keys)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.out_keys: list[NestedKey] = list(out_keys or default)  # pyright: ignore[reportIncompatibleVariableOverride]
        self.refresh = check_choice("refresh", refresh, REFRESHES)
        if len(self.in_keys) != 1 or len(self.out_keys) != policy.kind.width:
            raise ValueError(
                f"in_keys must hold 1 key and out_keys {policy.kind.width} for this kind of policy, "
                f"got {self.in_keys} and {self.out_keys}"
            )

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Write every agent's distribution parameters at its own observation.

        Args:
            tensordict: with the observations under ``in_keys``.

        Returns:
            The same, with the parameters under ``out_keys``.
        """
        obs = tensordict.get(self.in_keys[0])
        params = act(self.policy, obs, self.refresh)
        for key, value in zip(self.out_keys, params.chunk(len(self.out_keys), -1), strict=True):
            tensordict.set(key, value)
        return tensordict


def act(policy: DiCo, obs: Tensor, refresh: str) -> Tensor:
    """The policies' outputs; the estimate is renewed and committed first, if the pass is one that ``refresh`` names."""
    if refresh == "never" or not (torch.is_grad_enabled() if refresh == "both" else trains(policy)):
        return policy(obs)
    params, snd_hat = policy.forward_and_estimate(obs)
    policy.commit_(snd_hat)
    return params


@torch.no_grad()
def update_targets_(loss: LossModule, tensordict: TensorDictBase) -> None:
    r"""Scale a loss's delayed actors to the desired diversity too; call it after each step of ``SoftUpdate``.

    TorchRL's updaters move the parameters of a target actor (``delay_actor=True``, TD3's default) and leave all else at
    what it was when the loss was made: the estimate and, of a schedule, the desired diversity. But averaged deviations
    have a diversity of their own, :math:`\widehat{\mathrm{SND}}(\theta')`, and the target's scale is desired / that.
    It is measured here, and kept with the target's parameters by the same soft update as the actor's. Actors without
    delay are left alone.

    Args:
        loss: with ``DiCoModule`` in its actors.
        tensordict: with the observations under their ``in_keys``: ``batch["next"]`` has those of the targets.
    """
    for target in [key for key in loss._modules if key.startswith("target_")]:
        source = target.removeprefix("target_")
        network = getattr(loss, source.removesuffix("_params"))
        for module in network.modules():
            if isinstance(module, DiCoModule):
                with getattr(loss, source).to_module(network):
                    desired = dict(_bounds(module.policy))
                with getattr(loss, target).to_module(network):
                    for name, bound in _bounds(module.policy):
                        bound.copy_(desired[name])
                    module.policy.commit_(module.policy.estimate(tensordict.get(module.in_keys[0])))


def _bounds(policy: DiCo) -> list[tuple[str, Tensor]]:
    """What is desired, which schedules change."""
    return [(name, value) for name, value in policy.named_buffers() if name.startswith("constraint.")]


def trains(policy: DiCo) -> bool:
    """Whether a pass through the policies can move them: gradients are enabled, and the parameters take them.

    TorchRL's losses compute targets at the next observations without gradients (SAC), or with gradients enabled but
    with detached parameters in the policies' place (DDPG): such a pass is none of training.

    >>> policy = DiCo.mlp(n_agents=2, obs_dim=4, act_dim=2, constraint=0.3)
    >>> trains(policy), trains(policy.requires_grad_(False))
    (True, False)
    """
    return torch.is_grad_enabled() and any(parameter.requires_grad for parameter in policy.parameters())
