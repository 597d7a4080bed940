"""Bad input: a ValueError that names the argument, the value and what is allowed."""

import re

import pytest
import torch
from torch import nn

import dico
from dico import DiCo, PerAgent, action_space_loss, at_least, at_most, between, equal, max_snd, parse_constraint, snd
from dico.control import closed_loop_in_batches
from dico.metrics import hse

nan, inf = float("nan"), float("inf")


def mlp(n_agents=2, obs_dim=4, act_dim=2, constraint=0.5, **options):
    return DiCo.mlp(n_agents, obs_dim, act_dim, constraint, hidden=(4,), **options)


CASES = {
    "negative diversity": (lambda: equal(-0.1), "x must be a diversity, finite and at least 0, got -0.1"),
    "nan diversity": (lambda: at_least(nan), "x must be a diversity, finite and at least 0, got nan"),
    "infinite diversity": (lambda: at_most(inf), "x must be a diversity, finite and at least 0, got inf"),
    "one bad member": (lambda: equal([0.1, -1]), "x must be a diversity, finite and at least 0, got [0.1, -1]"),
    "one bad member, tensor": (lambda: equal(torch.tensor([0.5, nan])), "got [0.5, nan]"),
    "lo above hi": (lambda: between(0.5, 0.2), "lo must not exceed hi, got lo=0.5 and hi=0.2"),
    "lo above hi, members": (lambda: between([0.1, 0.5], 0.2), "lo must not exceed hi, got lo=[0.1, 0.5] and hi=0.2"),
    "bounds of other lengths": (lambda: between([0.1, 0.2], [0.3] * 3), "lo and hi must hold as many members"),
    "text for a number": (lambda: equal("0.3"), "x must be a number, or a sequence or tensor of numbers, got '0.3'"),
    "nothing": (lambda: equal(None), "x must be a number"),
    "empty": (lambda: equal([]), "x must be a number, or a sequence or tensor of numbers, got []"),
    "constraint of crossed bounds": (lambda: dico.Constraint(1.0, 0.5), "lo must not exceed hi, got lo=1.0 and hi=0.5"),
    "constraint of nan": (lambda: dico.Constraint(0.0, nan), "hi must be at least 0, got nan"),
    "population in a population": (
        lambda: dico.stack_constraints([equal([0.1, 0.2]), dico.free()]),
        "constraints must be of one member each",
    ),
    "number for a text": (lambda: parse_constraint(0.3), "text must be a constraint such as"),
    "hidden of nothing": (lambda: DiCo.mlp(2, 4, 2, 0.5, hidden=(0,)), "each of hidden must be a positive integer"),
    "members as a number": (lambda: mlp(members=3), "members must be a sequence of positive integers, got 3"),
    "estimate of other members": (lambda: mlp()(torch.zeros(2, 2, 4), torch.ones(2)), "snd_hat must hold one value"),
    "commit of other members": (lambda: mlp().commit_(torch.ones(2)), "snd_hat must hold one value"),
    "scalar obs": (lambda: mlp()(torch.tensor(1.0)), "obs must have shape (..., 2, 4), got ()"),
    "integer obs": (lambda: mlp()(torch.zeros(5, 2, 4, dtype=torch.int)), "obs must be a floating-point tensor"),
    "degree": (lambda: dico.Metric(snd, degree=0), "degree must be a finite number above 0, got 0"),
    "no constraints": (lambda: dico.stack_constraints([]), "constraints must hold at least one"),
    "text": (lambda: parse_constraint("about 0.3"), "text must be a constraint such as '0.3', '>=0.3'"),
    "negative text": (lambda: parse_constraint("-0.3"), "at least 0, got -0.3"),
    "text lo above hi": (lambda: parse_constraint("0.5..0.2"), "lo must not exceed hi"),
    "constraint in policy": (lambda: mlp(constraint=-1), "at least 0, got -1"),
    "constraint for other members": (lambda: mlp(constraint=equal([0.1] * 3), members=(2,)), "each of members=(2,)"),
    "tau below": (lambda: mlp(tau=-0.1), "tau must be in [0, 1], got -0.1"),
    "tau above": (lambda: mlp(tau=1.5), "tau must be in [0, 1], got 1.5"),
    "tau nan": (lambda: mlp(tau=nan), "tau must be in [0, 1], got nan"),
    "tau for other members": (lambda: mlp(tau=[0.1, 0.2, 0.3], members=(2,)), "tau must hold one value or one for"),
    "zero agents": (lambda: mlp(n_agents=0), "n_agents must be a positive integer, got 0"),
    "no deviations": (lambda: DiCo(nn.Linear(4, 2), [], 0.5), "n_agents must be the number of deviation networks"),
    "agents unknown": (lambda: DiCo(nn.Linear(4, 2), nn.Linear(4, 2), 0.5), "n_agents must be the number"),
    "agents disagree": (
        lambda: DiCo(nn.Linear(4, 2), [nn.Linear(4, 2)] * 3, 0.5, n_agents=2),
        "got n_agents=2 for 3 networks",
    ),
    "zero observations": (lambda: mlp(obs_dim=0), "obs_dim must be a positive integer, got 0"),
    "zero actions": (lambda: mlp(act_dim=0), "act_dim must be a positive integer, got 0"),
    "low above high": (lambda: mlp(low=[-1, 1], high=[1, 1]), "low must be below high, both finite, got low=[-1, 1]"),
    "low alone": (lambda: mlp(low=[-1, -1]), "low and high must be given together"),
    "box of other length": (lambda: mlp(low=[-1], high=[1]), "low and high must hold act_dim=2 numbers each, got"),
    "squash without a box": (lambda: mlp(squash_shared=True), "squash_shared=True needs low and high"),
    "metric": (lambda: mlp(metric="sdn"), "metric must be one of 'snd', 'hse'"),
    "metric's nearest": (lambda: mlp(metric="sdn"), "got 'sdn'; did you mean 'snd'?"),
    "kind": (lambda: mlp(kind="shared"), "did you mean 'shared_std'?"),
    "gradient": (lambda: mlp(gradient="straight"), "gradient must be one of 'soft', 'detached', 'straight_through'"),
    "initial": (lambda: mlp(initial="zero"), "initial must be one of 'batch', 'desired', got 'zero'"),
    "agents in obs": (lambda: mlp()(torch.zeros(5, 3, 4)), "obs must have shape (..., 2, 4), got (5, 3, 4)"),
    "features in obs": (lambda: mlp()(torch.zeros(5, 2, 3)), "obs must have shape (..., 2, 4), got (5, 2, 3)"),
    "features in estimate": (lambda: mlp().estimate(torch.zeros(5, 3)), "obs must have shape (..., 4), got (5, 3)"),
    "members in obs": (
        lambda: mlp(members=(3,))(torch.zeros(5, 2, 4)),
        "obs must have shape (3, ..., 2, 4), got (5, 2, 4)",
    ),
    "agents in one pass": (lambda: mlp().forward_and_estimate(torch.zeros(4)), "shape (..., 2, 4), got (4,)"),
    "no rows": (lambda: mlp().estimate(torch.zeros(0, 4)), "params must be a floating-point tensor (..., obs, n, d)"),
    "widths": (lambda: DiCo(nn.Linear(4, 2), [nn.Linear(4, 3)] * 2, 0.5)(torch.zeros(2, 4)), "make 2 and 3 in all"),
    "widths that broadcast": (
        lambda: DiCo(nn.Linear(4, 1), [nn.Linear(4, 3)] * 2, 0.5)(torch.zeros(2, 4)),
        "make 1 and 3 in all",
    ),
    "sees": (lambda: PerAgent([nn.Linear(4, 2)], sees="all"), "sees must be one of 'team', 'self', got 'all'"),
    "params without observations": (lambda: snd(torch.zeros(3, 2)), "(..., obs, n, d), no axis empty, got (3, 2)"),
    "params of no agents": (lambda: snd(torch.zeros(4, 0, 2)), "no axis empty, got (4, 0, 2)"),
    "integer params": (lambda: snd(torch.zeros(4, 3, 2, dtype=torch.int)), "got (4, 3, 2) torch.int32"),
    "pairs": (lambda: snd(torch.zeros(4, 3, 2), pairs=0), "pairs must be a positive integer, got 0"),
    "observations": (lambda: snd(torch.zeros(4, 3, 2), observations=-1), "observations must be a positive"),
    "clustering": (lambda: hse(torch.zeros(4, 3, 2), clustering="double"), "clustering must be one of 'single'"),
    "params that are none": (lambda: snd(None), "params must be a floating-point tensor (..., obs, n, d), got None"),
    "params as a list": (lambda: dico.pairwise_w2([[1.0], [2.0]]), "tensor (..., n, d), got [[1."),
    "degree as text": (lambda: dico.Metric(snd, degree="1"), "degree must be a finite number above 0, got '1'"),
    "no degree": (lambda: dico.Metric(snd, degree=None), "degree must be a finite number above 0, got None"),
    "degrees": (lambda: dico.Metric(snd, degree=[1]), "degree must be a finite number above 0, got [1]"),
    "degree of two": (lambda: dico.Metric(snd, degree=torch.ones(2)), "degree must be a finite number above 0, got"),
    "metric without a function": (lambda: dico.Metric("snd"), "fn must be a function of params, as snd is, got 'snd'"),
    "of_means": (lambda: dico.Metric(snd, of_means="no"), "of_means must be True or False, got 'no'"),
    "of_pairs": (lambda: dico.Metric(snd, of_pairs=1), "of_pairs must be True or False, got 1"),
    "squash as text": (
        lambda: mlp(squash_shared="x", low=[-1, -1], high=[1, 1]), "squash_shared must be True or False, got 'x'"
    ),
    "squash as text, any networks": (
        lambda: DiCo(nn.Linear(4, 2), [nn.Linear(4, 2)] * 2, 0.5, squash_shared="x"), "squash_shared must be True or"
    ),
    "members as a number, any networks": (
        lambda: DiCo(nn.Linear(4, 2), [nn.Linear(4, 2)] * 2, 0.5, members=3), "members must be a sequence of positive"
    ),
    "agents as a tensor": (
        lambda: DiCo(nn.Linear(4, 2), [nn.Linear(4, 2)] * 2, 0.5, n_agents=torch.ones(2)), "n_agents must be a positive"
    ),
    "no shared network": (lambda: DiCo(None, [nn.Linear(4, 2)] * 2, 0.5), "shared must be a module, got None"),
    "deviations as a number": (lambda: DiCo(nn.Linear(4, 2), 3, 0.5), "networks must be a sequence of modules"),
    "deviations of numbers": (lambda: PerAgent([1, 2]), "modules, one for each agent, got [1, 2]"),
    "constraints as a number": (lambda: dico.stack_constraints(3), "constraints must be a sequence of constraints,"),
    "bytes": (lambda: equal(b"1"), "x must be a number, or a sequence or tensor of numbers, got b'1'"),
    "more than a float holds": (lambda: equal(10**400), "x must be a number that a float can hold, got 1000"),
    "more agents than can be counted": (lambda: mlp(n_agents=2**63), "n_agents must be a positive integer, got 9223"),
    "obs as a list": (lambda: mlp()([0.0]), "obs must be a tensor, got [0.0]"),
    "obs of a gym": (lambda: mlp()(torch.zeros(9, 2, 4).numpy()), "got ndarray: torch.as_tensor makes one of it"),
    "estimate as a number": (lambda: mlp()(torch.zeros(5, 2, 4), 0.5), "snd_hat must be a tensor, got 0.5"),
    "commit of a number": (lambda: mlp().commit_(0.5), "snd_hat must be a tensor, got 0.5"),
    "kept of other members": (
        lambda: mlp().estimate(torch.zeros(5, 2, 4), current=torch.ones(2)), "current must hold one value or"
    ),
    "mean as a list": (lambda: action_space_loss([0.0], -1, 1), "mean must be a tensor (..., n, m), got [0.0]"),
    "loss's box as text": (lambda: action_space_loss(torch.zeros(5, 3, 2), "-1", 1), "low must be a number, or"),
    "too many cliques": (lambda: hse(torch.zeros(1, 20, 2), clustering="cliques"), "at most 14 agents, got 20"),
    "no agents in a box": (lambda: max_snd(0, [-1], [1]), "n_agents must be a positive integer, got 0"),
    "inverted box": (lambda: max_snd(2, [1], [-1]), "low must be below high, both finite, got low=[1] and high=[-1]"),
    "infinite box": (lambda: max_snd(2, [-inf], [1]), "low must be below high, both finite, got low=[-inf]"),
    "a run that is no path": (lambda: dico.load(3), "run must be the path of a run folder, got 3"),
    "nothing to evaluate": (lambda: dico.closed_loop(None, 0.5), "evaluate must be a function that gives a level's"),
    "nothing to evaluate together": (lambda: closed_loop_in_batches([1], 0.5), "gives a level's metric, got [1]"),
    "target as text": (lambda: dico.closed_loop(abs, "x"), "target must be a finite number, got 'x'"),
    "tolerance as text": (
        lambda: dico.closed_loop(abs, 1.0, tolerance="x"), "tolerance must be a finite number above 0, got 'x'"
    ),
    "initial as text": (lambda: dico.closed_loop(abs, 1.0, initial="x"), "initial must be a diversity, finite and at"),
    "one gain": (lambda: dico.closed_loop(abs, 1.0, gains=1), "gains must be three finite numbers, got 1"),
    "uneven box": (lambda: max_snd(2, [-1, -1], [1]), "low and high must hold as many numbers as each other"),
    "loss's box": (
        lambda: action_space_loss(torch.zeros(5, 3, 2), torch.zeros(3), torch.ones(3)),
        "low must hold one bound for each of mean's action components: mean (..., n, m) is (5, 3, 2), low is (3,)",
    ),
}  # fmt: skip


@pytest.mark.unchecked
@pytest.mark.parametrize("case", CASES)
def test_bad_input(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
