"""Small environments of PettingZoo's sort, with the faults that real ones may have; no package is needed."""

import random
import sys


class Box:
    def __init__(self, low, high):
        import numpy as np

        self.low, self.high = np.array(low, dtype=np.float32), np.array(high, dtype=np.float32)
        self.shape = self.low.shape

    def __repr__(self):
        return f"Box{self.shape}"


class Discrete:
    def __repr__(self):
        return "Discrete(5)"


class Walk:
    """Each agent walks on a line; agent 0 leaves after three steps."""

    def __init__(self, fault="", steps=6):
        self.fault, self.steps = fault, steps
        self.possible_agents = ["walker_0", "walker_1"]
        self.unwrapped, self.max_cycles = self, steps

    def observation_space(self, agent):
        return Box([-9, -9, -9], [9, 9, 9])

    def action_space(self, agent):
        if self.fault == "discrete":
            return Discrete()
        return Box([-1], [2 if self.fault == "unequal" and agent == "walker_1" else 1])

    def reset(self, seed=None):
        self.rng, self.time, self.agents = random.Random(seed), 0, list(self.possible_agents)
        self.at = {agent: self.rng.random() for agent in self.agents}
        return self._see(), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert list(actions) == self.agents
        self.time += 1
        if self.fault == "breaks" and self.time == 6:
            raise ZeroDivisionError("a wheel\ncame off")
        if self.fault == "dies" and self.time == 6:
            import os

            os._exit(7)
        for agent, action in actions.items():
            self.at[agent] += float(action[0]) + self.rng.random()
        seen, rewards = self._see(), {agent: self.at[agent] for agent in self.agents}
        over = self.time >= self.steps
        terminated = {agent: agent == "walker_0" and self.time >= 3 for agent in self.agents}
        truncated = dict.fromkeys(self.agents, over)
        self.agents = [agent for agent in self.agents if not (terminated[agent] or truncated[agent])]
        return seen, rewards, terminated, truncated, {}

    def _see(self):
        drawn = random.random() if self.fault == "forgets" else 0.0
        return {agent: [self.at[agent], self.time, drawn] for agent in self.agents}


def parallel_env(**options):
    sys.stdout.write("Hello from a chatty package\n")
    return Walk(**options)
