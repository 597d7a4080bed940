"""A diversity metric of your own, controlled to a value: how far agents act from their team's average.

Any metric that grows by c^p where all deviations grow by c will do (thm:general_metric); p is its degree.
"""

import torch
from torch import Tensor

import dico
from dico.experiments import preset
from dico.runs import Run


def spread(params: Tensor) -> Tensor:
    """Mean distance from the team's average, over observations and agents: ``(..., obs, n, d) -> (...)``."""
    average = params.mean(-2, keepdim=True)
    return torch.linalg.vector_norm(params - average, dim=-1).mean((-2, -1))


dico.METRICS["spread"] = dico.Metric(spread, degree=1)


def main(folder: str | None = None, frames: int = 60_000) -> Run:
    config = preset("quick", "navigation", metric="spread", snd=("0.2", "0.5"), seeds=2, frames=frames)
    run = dico.train(config, folder)
    for member, measured in zip(run.members, run.metric("spread")[:, -1].tolist(), strict=True):
        print(f"desired {member.constraint}, seed {member.seed}: measured {measured:.3f}")
    return run


if __name__ == "__main__":
    main()
