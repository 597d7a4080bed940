"""VMAS 1.5.2 as the judge: its scenarios set up as the paper's tasks, and its state read into ours."""

import math

import torch
import vmas
from vmas.scenarios import sampling

from dico.tasks import make
from dico.tasks.dispersion import DispersionState
from dico.tasks.navigation import NavigationState
from dico.tasks.reverse_transport import ReverseTransportState
from dico.tasks.sampling import CELLS, SamplingState
from dico.tasks.tag import TagState

WORLDS = 32


class Sampling(sampling.Scenario):
    """The released observation reads a sensor that is not there when agents do not collide."""

    def observation(self, agent):
        return agent.state.pos


def navigation(task):
    same = task.n_agents if task.name == "same-goal" else 1
    options = {"agents_with_same_goal": same, "observe_all_goals": True, "shared_rew": False, "collisions": False}
    return "navigation", options | {"n_agents": task.n_agents, "final_reward": task.final_reward}


SETUPS = {
    "navigation": navigation,
    "same-goal": navigation,
    "dispersion": lambda task: (
        "dispersion",
        {"n_agents": task.n_agents, "food_radius": task.food_radius, "share_reward": task.share_reward},
    ),
    "sampling": lambda task: (
        Sampling(),
        {
            "n_agents": task.n_agents,
            "n_gaussians": 1,
            "cov": task.covariance,
            "collisions": False,
            "spawn_same_pos": True,
        },
    ),
    "tag": lambda task: ("simple_tag", {"num_adversaries": task.n_red}),
    "reverse-transport": lambda task: (
        "reverse_transport",
        {
            "n_agents": task.n_agents,
            "package_mass": task.package_mass,
            "package_length": task.package_length,
            "package_width": task.package_width,
        },
    ),
}


def judge(task, worlds=WORLDS, seed=0):
    scenario, options = SETUPS[task.name](task)
    return vmas.make_env(scenario, num_envs=worlds, seed=seed, clamp_actions=True, **options)


def stacked(entities, attribute="pos"):
    return torch.stack([getattr(entity.state, attribute) for entity in entities], 1).clone()


def read(task, env):
    """VMAS's state as ours."""
    agents, landmarks, scenario = env.world.agents, env.world.landmarks, env.scenario
    moving = stacked(agents), stacked(agents, "vel")
    if task.name in ("navigation", "same-goal"):
        return NavigationState(*moving, stacked([agent.goal for agent in agents]))
    if task.name == "dispersion":
        return DispersionState(*moving, stacked(landmarks), torch.stack([food.eaten for food in landmarks], 1))
    if task.name == "sampling":
        density = scenario.max_pdf * 2 * math.pi * task.covariance
        visited = (scenario.sampled.long() << torch.arange(CELLS)).sum(-1)
        return SamplingState(*moving, scenario.locs[0].clone(), -2 * task.covariance * density.log(), visited)
    if task.name == "tag":
        return TagState(*moving, stacked(landmarks))
    package = scenario.package
    package_state = package.state.pos.clone(), package.state.vel.clone()
    return ReverseTransportState(*moving, *package_state, package.goal.state.pos.clone())


def step(env, actions):
    _, rewards, done, _ = env.step(list(actions.unbind(1)))
    return torch.stack(rewards, -1), done


def small_task(name, **options):
    """A task that is not the size the paper has, so that no dimension is right by chance."""
    return make(name, **({"n_agents": 5} | options))
