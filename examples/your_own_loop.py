"""Diversity control in a plain PyTorch loop.

Two agents see the same thing, the way to a landmark; one should go there, the other should go away from it. A shared
policy cannot do both. How well the team does depends on how differently its agents may act: the desired SND.
"""

import torch

import dico

LEVELS = (0.0, 0.5, 1.0)


def wanted(obs: torch.Tensor) -> torch.Tensor:
    """Opposite goals: half a step towards the landmark for agent 0, half a step away from it for agent 1."""
    direction = torch.nn.functional.normalize(obs, dim=-1)
    return direction * torch.tensor([[0.5], [-0.5]])


def train(desired: float, steps: int = 1000) -> tuple[float, float]:
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(
        n_agents=2, obs_dim=2, act_dim=2, constraint=dico.equal(desired), hidden=(64,), tau=0.1,
        gradient="straight_through",  # no incentive to outrun the estimate
    )  # fmt: skip
    optimiser = torch.optim.Adam(policy.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.01, steps)
    for _ in range(steps):
        obs = torch.randn(256, 2, 2)  # batch, agents, features
        actions, snd_hat = policy.forward_and_estimate(obs)
        loss = (actions - wanted(obs)).square().sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        policy.commit_(snd_hat)
    with torch.no_grad():
        obs = torch.randn(10_000, 2, 2)
        loss = (policy(obs) - wanted(obs)).square().sum(-1).mean()
        return dico.snd(policy.everyone(obs)).item(), loss.item()


if __name__ == "__main__":
    print("desired SND  measured SND      loss")
    for desired in LEVELS:
        measured, loss = train(desired)
        print(f"{desired:11.2f}  {measured:12.4f}  {loss:8.4f}")
