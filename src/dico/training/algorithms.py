"""The registry of algorithms: how each one learns, and what its critics see.

Your own is one more entry::

    ALGORITHMS["mine"] = Algorithm(MyLearner, LocalCritic)
"""

from dataclasses import dataclass

from dico.training.critics import CentralCritic, LocalCritic, MakeCritic
from dico.training.ddpg import DDPG
from dico.training.learner import Learner
from dico.training.ppo import PPO
from dico.training.sac import SAC
from dico.training.td3 import TD3


@dataclass(frozen=True)
class Algorithm:
    """A way of learning, with a critic for each agent or one for the group."""

    learner: type[Learner]
    critic: MakeCritic

    @property
    def on_policy(self) -> bool:
        """Whether each batch is used once."""
        return self.learner.ON_POLICY

    @property
    def central(self) -> bool:
        """Whether its critics see the whole group."""
        return self.critic is CentralCritic

    @property
    def deterministic(self) -> bool:
        """Whether its policies draw nothing."""
        return self.learner.KINDS == ("deterministic",)


ALGORITHMS: dict[str, Algorithm] = {
    "ippo": Algorithm(PPO, LocalCritic),
    "mappo": Algorithm(PPO, CentralCritic),
    "iddpg": Algorithm(DDPG, LocalCritic),
    "maddpg": Algorithm(DDPG, CentralCritic),
    "itd3": Algorithm(TD3, LocalCritic),
    "matd3": Algorithm(TD3, CentralCritic),
    "isac": Algorithm(SAC, LocalCritic),
    "masac": Algorithm(SAC, CentralCritic),
}
"""By the name in a configuration."""
