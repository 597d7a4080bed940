"""The paper's tasks as VMAS's released scenarios, with the paper's observations.

The simulator, rewards and endings are VMAS's own; only what agents see differs, and settings that the paper fixes.
"""

from typing import Any

import torch
from torch import Tensor
from vmas.scenarios import dispersion, navigation, reverse_transport, sampling
from vmas.scenarios.mpe import simple_tag
from vmas.simulator.core import World


class Navigation(navigation.Scenario):
    """Each agent goes to a goal of its own, and sees its position relative to every goal, and nothing else."""

    def make_world(self, batch_dim: int, device: torch.device, **options: Any) -> World:
        """Agents see all goals, and pass through each other."""
        fixed = {"collisions": False, "observe_all_goals": True, "shared_rew": False}
        return super().make_world(batch_dim, device, **self.goals(options["n_agents"]), **fixed, **options)

    def goals(self, n_agents: int) -> dict[str, int]:  # noqa: ARG002
        """How the goals are shared: not at all."""
        return {"agents_with_same_goal": 1}

    def observation(self, agent: Any) -> Tensor:
        """The agent's position relative to every goal."""
        others: Any = self.world.agents
        return torch.cat([agent.state.pos - other.goal.state.pos for other in others], -1)


class SameGoal(Navigation):
    """Navigation where all agents go to one goal."""

    def goals(self, n_agents: int) -> dict[str, int]:
        """How the goals are shared: one for all."""
        return {"agents_with_same_goal": n_agents}


class Dispersion(dispersion.Scenario):
    """Agents eat food, and see where each food is from them and whether it was eaten, and nothing else."""

    def observation(self, agent: Any) -> Tensor:
        """For each food: where it is from the agent, and 1 if it was eaten."""
        foods: Any = self.world.landmarks
        return torch.cat(
            [part for food in foods for part in (food.state.pos - agent.state.pos, food.eaten[:, None].float())], -1
        )


class Sampling(sampling.Scenario):
    """Agents collect the values of cells, and see their own position and the values around it."""

    def make_world(self, batch_dim: int, device: torch.device, *, covariance: float, **options: Any) -> World:
        """One Gaussian; agents start at the centre and pass through each other."""
        fixed = {"n_gaussians": 1, "cov": float(covariance), "collisions": False, "spawn_same_pos": True}
        return super().make_world(batch_dim, device, **fixed, **options)

    def observation(self, agent: Any) -> Tensor:
        """Own position and the values one cell away, row by row from the lower left."""
        steps = (-self.grid_spacing, 0.0, self.grid_spacing)
        around = [(x, y) for y in steps for x in steps if (x, y) != (0.0, 0.0)]
        position = agent.state.pos
        # VMAS clamps what it is handed in place, so each value is sampled at a tensor of its own
        values = [self.sample(position + position.new_tensor(step), norm=self.norm) for step in around]
        return torch.cat([position, torch.stack(values, -1)], -1)

    def nomrlize_pdf(self, env_index: int | None = None) -> None:
        """The greatest value at the cells' corners: at the nearest one, in place of VMAS's search over all 1,600."""
        corners = torch.arange(-self.xdim, self.xdim, self.grid_spacing, device=self.world.device)
        corners = corners.clamp(-self.x_semidim, self.x_semidim)
        apart = (self.locs[0][:, :, None] - corners).abs()
        greatest = self.gaussians[0].log_prob(corners[apart.argmin(-1)]).exp()
        if env_index is None:
            self.max_pdf[:] = greatest
        else:
            self.max_pdf[env_index] = greatest[env_index]


class Tag(simple_tag.Scenario):
    """Red agents chase a green one, as released."""

    def make_world(self, batch_dim: int, device: torch.device, *, n_agents: int, **options: Any) -> World:
        """All agents are red but the last."""
        return super().make_world(batch_dim, device, num_good_agents=1, num_adversaries=n_agents - 1, **options)


ReverseTransport = reverse_transport.Scenario
"""Agents push a package from inside, as released."""
