"""A policy as one file that runs without dico: in torch alone (``.pt2``), or in any ONNX runtime (``.onnx``).

The file acts: observations in, actions in the box out, for any number of teams. It has up to three inputs.

- ``obs``: ``(batch, n, o)``, a row for each agent.
- ``scale``: the factor on the agents' deviations, a number. Diversity goes with it: twice the scale is twice the SND
  (of means or Gaussians, before they are brought into the box), and 0 makes all agents the same.
- ``noise``: ``(batch, n, a)``, of stochastic policies: standard normal numbers, or zeros to act by the mean.

An ONNX file knows a default of all but the first; a ``.pt2`` has that of the scale as ``state_dict["default_scale"]``.
Whatever a network does to observations, such as normalising them, is part of the file.
"""

import json
import warnings
from collections.abc import Mapping
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dico._checks import check_choice
from dico._files import whole
from dico.acting import actions_of
from dico.policy import DiCo

ENDINGS = (".pt2", ".onnx")
"""Of the files that a policy can be exported to."""
NEEDED = ("onnx", "onnxscript")
"""Packages without which torch writes no ONNX."""
ABOUT = "dico.json"
"""What a file has its description under: an extra file of a ``.pt2``, a property of an ONNX model."""


class Acting(nn.Module):
    """A policy from observations to actions, with all that changes them as inputs."""

    default_scale: Float[Tensor, ""]
    low: Float[Tensor, " a"]
    high: Float[Tensor, " a"]

    def __init__(self, policy: DiCo, example: Float[Tensor, "batch n o"]):
        super().__init__()
        if policy.members:
            raise ValueError(f"policy must be of one member to be exported, got members={policy.members}")
        if policy.low is None or policy.high is None:
            raise ValueError("policy must have an action box, low and high, to be exported")
        self.policy = deepcopy(policy).cpu().eval().requires_grad_(False)
        self.draws = policy.kind.width > 1
        """Whether noise is one of its inputs."""
        constants = {"default_scale": self.policy.terms(example).scale, "low": policy.low, "high": policy.high}
        for name, value in constants.items():
            self.register_buffer(name, value.detach().to("cpu", example.dtype))

    def forward(
        self,
        obs: Float[Tensor, "batch n o"],
        scale: Float[Tensor, ""],
        noise: Float[Tensor, "batch n a"] | None = None,
    ) -> Float[Tensor, "batch n a"]:
        """Actions in the box."""
        shared, deviation, _ = self.policy.terms(obs)
        return actions_of(shared + scale * deviation, self.policy.kind, self.low, self.high, noise)


def export(policy: DiCo, to: str | Path, *, obs_dim: int | None = None, about: Mapping[str, Any] | None = None) -> Path:
    """Write a policy as one file, ``.pt2`` or ``.onnx``, that acts without dico.

    Args:
        policy: of one member, with an action box.
        to: the file; one that is there is replaced, once the new one is whole.
        obs_dim: how many numbers an agent observes, only where the networks do not say.
        about: what else the file should tell of itself, as JSON has it.

    Returns:
        The file.

    >>> policy = DiCo.mlp(2, 4, 2, 0.3, low=[-1, -1], high=[1, 1], hidden=(8,))
    >>> file = export(policy, "policy.pt2")  # doctest: +SKIP
    >>> program = torch.export.load(file)  # doctest: +SKIP
    >>> program.module()(torch.zeros(10, 2, 4), program.state_dict["default_scale"]).shape  # doctest: +SKIP
    torch.Size([10, 2, 2])
    """
    path = Path(to)
    check_choice("the ending of an exported policy", path.suffix, ENDINGS)
    if path.suffix == ".onnx":
        check_onnx()
    features = getattr(policy.deviations, "inputs", obs_dim)
    if features is None:
        raise ValueError("obs_dim must be given for networks that do not say how many numbers they take")
    dtype = next((p.dtype for p in policy.parameters()), torch.get_default_dtype())
    obs = torch.zeros(2, policy.n_agents, features, dtype=dtype)
    acting = Acting(policy, obs)
    told = json.dumps(describe(acting, obs) | dict(about or {}))
    path.parent.mkdir(parents=True, exist_ok=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's of itself
        warnings.simplefilter("ignore", DeprecationWarning)
        program = _program(acting, obs)
        with whole(path) as scratch:
            if path.suffix == ".onnx":
                _write_onnx(program, acting, scratch, told)
            else:
                with scratch.open("wb") as file:  # torch's own error of a disk is none of the system's
                    torch.export.save(program, file, extra_files={ABOUT: told})
    return path


def describe(acting: Acting, obs: Float[Tensor, "batch n o"]) -> dict[str, Any]:
    """What a file tells of itself."""
    team = ["batch", acting.policy.n_agents]
    noise = {"noise": [*team, len(acting.low)]} if acting.draws else {}
    return {
        "inputs": {"obs": [*team, obs.shape[-1]], "scale": [], **noise},
        "outputs": {"actions": [*team, len(acting.low)]},
        "default_scale": acting.default_scale.item(),
        "low": acting.low.tolist(),
        "high": acting.high.tolist(),
    }


def _program(acting: Acting, obs: Tensor) -> torch.export.ExportedProgram:
    batch = torch.export.Dim("batch", min=1)
    inputs: dict[str, Tensor] = {"obs": obs, "scale": acting.default_scale}
    shapes: dict[str, Any] = {"obs": {0: batch}, "scale": None}
    if acting.draws:
        inputs["noise"], shapes["noise"] = obs.new_zeros(*obs.shape[:-1], len(acting.low)), {0: batch}
    return torch.export.export(acting, tuple(inputs.values()), dynamic_shapes=shapes)


def check_onnx() -> None:
    """An error if torch could write no ONNX here."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f'ONNX needs {" and ".join(missing)}: pip install "dico-marl[export]"; .pt2 needs torch alone'
        )


def _write_onnx(program: torch.export.ExportedProgram, acting: Acting, path: Path, told: str) -> None:
    """With defaults: an input of ONNX that is a constant too need not be given."""
    import onnx

    names = [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    written = torch.onnx.export(program, input_names=names, output_names=["actions"], dynamo=True, verbose=False)
    if written is None:
        raise ValueError("torch wrote no ONNX model")
    model = written.model_proto
    defaults = {"scale": acting.default_scale, "noise": acting.default_scale.new_zeros(1, 1, 1)}
    for value in (*model.graph.input, *model.graph.output):
        sides = value.type.tensor_type.shape.dim
        if value.name in ("obs", "actions"):
            sides[0].dim_param = "batch"
        if value.name == "noise":
            _expand_noise(model.graph, len(acting.low))
            for side, name in zip(sides, ("noise_batch", "noise_agents", "noise_actions"), strict=True):
                side.dim_param = name
        if value.name in defaults:
            model.graph.initializer.append(onnx.numpy_helper.from_array(defaults[value.name].numpy(), value.name))
    del model.graph.value_info[:]  # of the shapes that were
    onnx.helper.set_model_props(model, {ABOUT: told})
    onnx.checker.check_model(model)
    onnx.save_model(model, str(path))


def _expand_noise(graph: Any, actions: int) -> None:
    """Let noise be a single number for all too, as its default is: everything else sees as much as there is of obs."""
    from onnx import TensorProto, helper

    for node in graph.node:
        for k, name in enumerate(node.input):
            if name == "noise":
                node.input[k] = "noise_of_all"
    graph.initializer.append(helper.make_tensor("actions_of_an_agent", TensorProto.INT64, [1], [actions]))
    before = [
        helper.make_node("Shape", ["obs"], ["rows_of_obs"], end=2),
        helper.make_node("Concat", ["rows_of_obs", "actions_of_an_agent"], ["shape_of_noise"], axis=0),
        helper.make_node("Expand", ["noise", "shape_of_noise"], ["noise_of_all"]),
    ]
    others = list(graph.node)
    del graph.node[:]
    graph.node.extend([*before, *others])
