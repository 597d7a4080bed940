"""Exported policies: one file that acts as the policy does, in a fresh process that has no dico."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import dico as command
from torch import nn

import dico
from dico.exporting import export
from dico.runs import RunError
from dico.runs.exporting import export_groups
from dico.training.config import Config
from dico.training.session import train

pytestmark = pytest.mark.unchecked  # torch traces the code
AGENTS, OBS, ACT = 3, 4, 2
BOX = {"low": [-1.0, 0.5], "high": [1.0, 3.0], "hidden": (8,)}
TINY = {"hidden": (8,), "envs": 4, "frames_per_batch": 40, "frames": 40, "epochs": 1, "minibatch": 40, "seeds": 1,
        "updates": 1, "batch": 8, "replay": 100}  # fmt: skip
TORCH_ALONE = """
import sys, json
sys.modules.update(dict.fromkeys(("dico", "jaxtyping", "onnx", "safetensors", "pettingzoo")))  # as if not installed
import numpy as np, torch
for file in sys.argv[2:]:
    told = {"dico.json": ""}
    program = torch.export.load(file, extra_files=told)
    act, about = program.module(), json.loads(told["dico.json"])
    given = np.load(sys.argv[1])
    results = []
    for batch in (1, 2, 7, len(given["obs"])):
        inputs = [torch.from_numpy(given[name][:batch]) for name in about["inputs"] if name != "scale"]
        default = program.state_dict["default_scale"]
        assert default.item() == np.float32(about["default_scale"])
        for scale in (default, torch.tensor(0.0), torch.tensor(2.5)):
            results.append(act(inputs[0], scale, *inputs[1:]).numpy().ravel())
    np.save(file + ".npy", np.concatenate(results))
"""
ONNX_ALONE = """
import sys, json
sys.modules.update(dict.fromkeys(("dico", "torch", "onnx", "jaxtyping")))
import numpy as np, onnxruntime
onnxruntime.set_default_logger_severity(3)
for file in sys.argv[2:]:
    session = onnxruntime.InferenceSession(file)
    about = json.loads(session.get_modelmeta().custom_metadata_map["dico.json"])
    assert [each.name for each in session.get_inputs()] == ["obs"]  # the others have defaults
    assert session.get_inputs()[0].shape == about["inputs"]["obs"]
    assert session.get_outputs()[0].shape == about["outputs"]["actions"]
    given = np.load(sys.argv[1])
    results = []
    for batch in (1, 2, 7, len(given["obs"])):
        inputs = {name: given[name][:batch] for name in about["inputs"] if name != "scale"}
        for scale in (None, 0.0, 2.5):
            turned = {} if scale is None else {"scale": np.array(scale, dtype=np.float32)}
            results.append(session.run(["actions"], {**inputs, **turned})[0].ravel())
    alone = session.run(["actions"], {"obs": given["obs"]})[0]
    np.save(file + ".npy", np.concatenate([*results, alone.ravel()]))
"""


def python(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def policies():
    torch.manual_seed(0)
    kinds = ("deterministic", "agent_std_paper")
    found = {kind: dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, kind=kind, **BOX) for kind in kinds}
    found["squashed"] = dico.DiCo.mlp(AGENTS, OBS, ACT, ">=0.3", kind="agent_std", squash_shared=True, **BOX)
    over = {"obs_low": [-1] * OBS, "obs_high": [1] * OBS}
    found["analytical"] = dico.AnalyticalDiCo.mlp(AGENTS, OBS, ACT, 0.5, kind="shared_std", **over, **BOX)
    finn = {"density": "finn-signed", "coordinates": [0, 1]}
    found["finn"] = dico.AnalyticalDiCo.mlp(AGENTS, OBS, ACT, 0.5, **finn, **over, **BOX)
    dial = dico.DialDiCo.mlp(AGENTS, OBS, ACT, [0, 0.5, 1], kind="shared_std", **BOX)
    dial.commit_(dial.estimate(torch.randn(3, 20, AGENTS, OBS)))
    found["dial"] = dial.at(0.7)
    own = dico.PerAgent([nn.Sequential(nn.Linear(OBS, 8), nn.ReLU(), nn.Linear(8, ACT)) for _ in range(AGENTS)])
    found["own"] = dico.DiCo(nn.Linear(OBS, ACT), own, 0.5, low=BOX["low"], high=BOX["high"])
    for policy in found.values():
        if not policy.has_estimate.all():
            policy.commit_(policy.estimate(torch.randn(20, AGENTS, OBS)))
    return found


def turned(policy, obs, scale, noise):
    """The definition: shared term, deviations times a factor, noise, box."""
    shared, deviation, usual = policy.terms(obs)
    params = shared + (usual if scale is None else scale) * deviation
    if policy.kind.width == 1:
        return params.clamp(policy.low, policy.high)
    mean, std = params.chunk(2, -1)
    return policy.low + (policy.high - policy.low) * ((mean + std * noise).tanh() + 1) / 2


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Enough teams for the branch on 2048 rows that a compiler takes."""
    generator = torch.Generator().manual_seed(1)
    inputs = {
        "obs": torch.randn(3000, AGENTS, OBS, generator=generator),
        "noise": torch.randn(3000, AGENTS, ACT, generator=generator),
    }
    file = tmp_path_factory.mktemp("given") / "given.npz"
    np.savez(file, **{name: value.numpy() for name, value in inputs.items()})
    return file, inputs


SOME, OTHERS = ("squashed", "dial", "own"), ("deterministic", "agent_std_paper", "analytical", "finn")
"""Torch takes its time to write them."""


@pytest.mark.parametrize("names", [SOME, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["some", "others"])
@pytest.mark.parametrize(("ending", "code"), [(".pt2", TORCH_ALONE), (".onnx", ONNX_ALONE)], ids=["torch", "onnx"])
def test_a_file_acts_as_the_policy_in_a_process_without_dico(tmp_path, given, ending, code, names):
    file, inputs = given
    every = policies()
    assert {*SOME, *OTHERS} == every.keys()
    found = {name: every[name] for name in names}
    for name, policy in found.items():
        export(policy, tmp_path / (name + ending), obs_dim=OBS)
    python(code, file, *(tmp_path / (name + ending) for name in found))
    for name, policy in found.items():
        with torch.no_grad():
            expected = [
                turned(policy, inputs["obs"][:batch], scale, inputs["noise"][:batch]).flatten()
                for batch in (1, 2, 7, 3000)
                for scale in (None, 0.0, 2.5)
            ]
        if ending == ".onnx":
            expected.append(policy.act(inputs["obs"], deterministic=True).flatten())
        gotten = torch.from_numpy(np.load(tmp_path / f"{name}{ending}.npy"))
        torch.testing.assert_close(gotten, torch.cat(expected), atol=1e-5, rtol=1e-5, msg=name)


def test_a_policy_itself_is_exported_for_any_batch():
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, **BOX)
    shapes = ({0: torch.export.Dim("batch", min=1)},)
    program = torch.export.export(policy, (torch.zeros(2, AGENTS, OBS),), dynamic_shapes=shapes).module()
    for batch in (1, 5, 3000):  # more than the 2048 rows from which on a compiler takes another way
        obs = torch.randn(batch, AGENTS, OBS)
        torch.testing.assert_close(program(obs), policy(obs))


def test_diversity_goes_with_the_scale(tmp_path):
    """thm:scaling: of deterministic policies far from the edges of their box, SND is proportional to it."""
    torch.manual_seed(0)
    policy = dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, low=[-100, -100], high=[100, 100], hidden=(8,), tau=1.0)
    obs = torch.randn(50, OBS)
    policy.commit_(policy.estimate(obs))
    program = torch.export.load(export(policy, tmp_path / "policy.pt2"))
    act, scale = program.module(), program.state_dict["default_scale"]
    for factor in (0.0, 0.5, 1.0, 3.0):
        everyone = act(obs[:, None, :].expand(50, AGENTS, OBS), factor * scale)
        assert dico.snd(everyone).item() == pytest.approx(0.5 * factor, rel=1e-5, abs=1e-6)


def test_what_cannot_be_exported_is_told(tmp_path, monkeypatch):
    policy = dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, **BOX)
    with pytest.raises(ValueError, match=r"ending of an exported policy must be one of '.pt2', '.onnx', got '.pt'"):
        export(policy, tmp_path / "policy.pt")
    with pytest.raises(ValueError, match="policy must have an action box"):
        export(dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5), tmp_path / "policy.pt2")
    with pytest.raises(ValueError, match="policy must be of one member"):
        export(dico.DiCo.mlp(AGENTS, OBS, ACT, dico.equal([0.5]), members=(1,), **BOX), tmp_path / "policy.pt2")
    with pytest.raises(ValueError, match="obs_dim must be given"):
        export(dico.DiCo(nn.Linear(4, 2), [nn.Linear(4, 2)] * 2, 0.5, low=[0, 0], high=[1, 1]), tmp_path / "p.pt2")
    monkeypatch.setattr("dico.exporting.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"ONNX needs onnx and onnxscript: pip install .dico-marl\[export\]"):
        export(policy, tmp_path / "policy.onnx")
    with pytest.raises(ImportError, match="ONNX needs onnx and onnxscript"):  # a folder would have got the .pt2 alone
        export_groups(tmp_path / "policies", ["agents"], lambda _: policy, {"run": "run"})
    assert not list(tmp_path.iterdir())


def test_a_run_exports_by_command_and_from_python(tmp_path, capsys):
    run = train(Config(**TINY, snd=("0", "1")), tmp_path / "run", device="cpu")
    status, out, err = command(capsys, "export", run.folder, "--snd", "1", "--to", tmp_path / "deep" / "policy.pt2")
    assert status == 0, err
    assert out == f"wrote {tmp_path / 'deep' / 'policy.pt2'}"
    told = {"dico.json": ""}
    program = torch.export.load(tmp_path / "deep" / "policy.pt2", extra_files=told)
    about = json.loads(told["dico.json"])
    assert (about["task"], about["constraint"], about["seed"], about["group"]) == ("navigation", "1", 0, "agents")
    obs = torch.randn(9, 2, 4)
    acted = program.module()(obs, program.state_dict["default_scale"], torch.zeros(9, 2, 2))
    torch.testing.assert_close(acted, run.policy(snd=1).act(obs, deterministic=True))
    for words, message in (
        (("--to", "policy.pt2"), "2 members have seed=0: choose one by snd 0, 1"),
        (("--snd", "2"), "no member has snd=2"),
        (("--snd", "1", "--to", "policy.txt"), "exported to a file .pt2 or .onnx, or to a folder, got policy.txt"),
        (("--snd", "1", "--group", "green"), "group must be one of agents, got 'green'"),
        (("--snd", "1", "--to", "/proc/1/policy.pt2"), "/proc/1/"),
    ):
        status, _, err = command(capsys, "export", run.folder, *words)
        assert status == 2
        assert message in err


def test_a_member_that_diverged_is_not_exported(tmp_path):
    """Nor is another group's policy, which would be half of it."""
    policies = {name: dico.DiCo.mlp(AGENTS, OBS, ACT, 0.5, **BOX) for name in ("good", "gone")}
    with torch.no_grad():
        next(policies["gone"].parameters()).fill_(torch.nan)
    about = {"run": "run", "constraint": "0.3", "seed": 1}
    for to, groups in (("policies", ["good", "gone"]), ("policy.pt2", ["gone"])):
        with pytest.raises(RunError, match=r"the member of run with snd=0.3 and seed=1 has diverged, .*choose another"):
            export_groups(tmp_path / to, groups, policies.__getitem__, about)
    assert not list(tmp_path.iterdir())


def test_several_groups_go_into_a_folder_and_a_dial_between_its_levels(tmp_path):
    run = train(Config(**TINY, task="tag", algorithm="iddpg", snd=("0.3",)), tmp_path / "tag", device="cpu")
    with pytest.raises(ValueError, match="there are the groups"):
        run.export(tmp_path / "policy.pt2")
    written = run.export(tmp_path / "policies")
    names = {spec["name"] for spec in run.groups}
    assert {file.name for file in written} == {f"{n}{e}" for n in names for e in (".pt2", ".onnx")} | {"policy.json"}
    dialled = train(Config(**TINY, snd=("0", "1"), dial=True), tmp_path / "dial", device="cpu")
    (file,) = dialled.export(tmp_path / "dial.pt2", snd=0.4)
    program = torch.export.load(file)
    obs = torch.randn(5, 2, 4)
    acted = program.module()(obs, program.state_dict["default_scale"], torch.zeros(5, 2, 2))
    torch.testing.assert_close(acted, dialled.dial().at(0.4).act(obs, deterministic=True))


def test_the_page_on_acting_runs_as_it_stands(tmp_path, monkeypatch):
    """Block after block, by somebody who follows it; the last one, of MLflow, is a test of loggers."""
    for needed in ("onnxruntime", "pettingzoo"):
        pytest.importorskip(needed)
    page = (Path(__file__).parent.parent / "docs" / "acting.md").read_text()
    act, play, in_torch, in_onnx, offered, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    run = train(Config(**TINY, snd=("0", "1")), "runs/navigation", device="cpu")
    obs, policy = torch.randn(5, 2, 4), run.policy(snd=1)
    for ending in (".pt2", ".onnx"):
        run.export(f"policy{ending}", snd=1)
    half = turned(policy, obs, 0.5 * policy.terms(obs).scale, torch.zeros(5, 2, 2))

    own = {"obs": obs, "generator": torch.Generator()}
    exec(act + play, own)
    assert own["actions"].shape == (5, 2, 2)
    assert own["played"].returns.shape == (1, 20, 2)
    for code, seen in ((in_torch, obs), (in_onnx, obs.numpy())):
        own = {"obs": seen}
        exec(code, own)
        torch.testing.assert_close(torch.as_tensor(own["actions"]), half.detach(), rtol=1e-5, atol=1e-5)
    exec(offered, own)
    assert len(own["observations"]) == 3
