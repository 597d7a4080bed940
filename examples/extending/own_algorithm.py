"""An algorithm of your own: one entry of the registry, and a learner that says what it does otherwise.

Here IPPO with normalised advantages. For a learner from scratch read dico/training/ddpg.py: acting, an update that
reads from top to bottom, and its losses.
"""

from dataclasses import replace

from torch import Tensor

import dico
from dico.experiments import preset
from dico.runs import Run
from dico.training.algorithms import ALGORITHMS, Algorithm
from dico.training.critics import LocalCritic
from dico.training.ppo import PPO, PPOMinibatch


class NormalisedPPO(PPO):
    """PPO whose advantages have mean 0 and standard deviation 1 in each member's minibatch."""

    def actor_loss(self, params: Tensor, minibatch: PPOMinibatch) -> Tensor:
        advantage = minibatch.advantage
        centred = advantage - advantage.mean((1, 2), keepdim=True)
        scaled = centred / (advantage.std((1, 2), keepdim=True) + 1e-8)
        return super().actor_loss(params, replace(minibatch, advantage=scaled))


ALGORITHMS["ippo-normalised"] = Algorithm(NormalisedPPO, LocalCritic)


def main(folder: str | None = None, frames: int = 60_000) -> Run:
    config = preset("quick", "navigation", algorithm="ippo-normalised", snd=("0", "1"), seeds=2, frames=frames)
    run = dico.train(config, folder)
    print({level.level: f"{float(level.reward.centre):.4f}" for level in dico.analysis.summary(run)})
    return run


if __name__ == "__main__":
    main()
