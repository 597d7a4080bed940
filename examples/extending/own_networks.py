"""Networks of your own under diversity control: MLPs, graph networks and recurrent ones.

Agents see the way to a landmark; agent i should go there at its own angle. Each team is trained to the same desired
diversity in a plain PyTorch loop.
"""

import torch
from torch import Tensor, nn

import dico

AGENTS, FEATURES, ACTIONS, WINDOW = 3, 2, 2, 4


def mlp(inputs: int = FEATURES) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 32), nn.Tanh(), nn.Linear(32, ACTIONS))


class Graph(nn.Module):
    """An agent's own observation, beside the mean of what all have to say: ``(..., n, o) -> (..., n, d)``."""

    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(FEATURES, 16), mlp(FEATURES + 16)

    def forward(self, obs: Tensor) -> Tensor:
        heard = self.message(obs).tanh().mean(-2, keepdim=True)
        return self.update(torch.cat((obs, heard.expand(*obs.shape[:-1], -1)), -1))


class Recurrent(nn.Module):
    """A GRU over the last steps, which are the observation: ``(..., window * o) -> (..., d)``."""

    def __init__(self):
        super().__init__()
        self.memory, self.head = nn.GRU(FEATURES, 16, batch_first=True), nn.Linear(16, ACTIONS)

    def forward(self, history: Tensor) -> Tensor:
        steps = history.reshape(-1, WINDOW, FEATURES)
        return self.head(self.memory(steps)[0][:, -1]).reshape(*history.shape[:-1], ACTIONS)


def policies(desired: float) -> dict[str, dico.DiCo]:
    """A team of each sort: one shared network, and one for each agent's deviation."""
    how = {"tau": 0.3, "gradient": "straight_through"}
    each = range(AGENTS)
    return {
        # rows one by one: an agent's network needs its own row alone when it acts
        "MLP": dico.DiCo(mlp(), dico.PerAgent([mlp() for _ in each], sees="self"), desired, **how),
        # looks at the whole team, so one for each agent, shown the team's observations
        "GNN": dico.DiCo(Graph(), [Graph() for _ in each], desired, **how),
        "recurrent": dico.DiCo(Recurrent(), dico.PerAgent([Recurrent() for _ in each], sees="self"), desired, **how),
    }


def observe(batch: int, sort: str) -> Tensor:
    """``(batch, agents, o)``; for recurrent networks the last steps of each agent, one after the other."""
    steps = WINDOW if sort == "recurrent" else 1
    return torch.randn(batch, AGENTS, steps * FEATURES)


def wanted(obs: Tensor) -> Tensor:
    """The newest direction to the landmark, turned by an angle of each agent's own."""
    x, y = nn.functional.normalize(obs[..., -FEATURES:], dim=-1).unbind(-1)
    angle = torch.linspace(-1, 1, AGENTS)
    return torch.stack((x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()), -1)


def main(desired: float = 0.5, steps: int = 300) -> dict[str, tuple[float, float]]:
    """Measured diversity and loss of each team."""
    torch.manual_seed(0)
    results = {}
    for sort, policy in policies(desired).items():
        optimiser = torch.optim.Adam(policy.parameters(), lr=3e-3)
        for _ in range(steps):
            obs = observe(128, sort)
            actions, snd_hat = policy.forward_and_estimate(obs)
            loss = (actions - wanted(obs)).square().sum(-1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            policy.commit_(snd_hat)
        with torch.no_grad():
            obs = observe(4000, sort)
            loss = (policy(obs) - wanted(obs)).square().sum(-1).mean().item()
            results[sort] = dico.snd(policy.everyone(obs)).item(), loss
        print(f"{sort:>9}: desired SND {desired}, measured {results[sort][0]:.3f}, loss {loss:.3f}")
    return results


if __name__ == "__main__":
    main()
