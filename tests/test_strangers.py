"""A run folder may come from a stranger: whatever it holds, opening it runs none of its code."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from command_line import dico as command

import dico
from dico._files import checksum, sealed
from dico.experiments import preset
from dico.runs import RunError
from dico.scale.worker import command as worker_command
from dico.tasks import check_known, from_folder, from_settings

SMALL = {"snd": ("0.3", "free"), "seeds": 1, "frames": 80, "envs": 4, "frames_per_batch": 40, "hidden": (8,),
         "epochs": 1, "minibatch": 20, "task_options": ("horizon=5",)}  # fmt: skip
OPENING = {
    "eval": ("--episodes", "2"), "report": (), "map": (), "video": (), "claims": (), "resume": ("--device", "cpu"),
}  # fmt: skip
"""Commands that open a run folder."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return dico.train(preset("quick", "navigation", **SMALL), tmp_path_factory.mktemp("strangers") / "run").folder


@pytest.fixture
def folder(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "run"))


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.unchecked
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPENING)
def test_a_task_that_only_the_folder_names_is_not_made(capsys, folder, tmp_path, monkeypatch, name):
    monkeypatch.setenv("DICO_TRUST", "")
    trace = tmp_path / "trace"
    saved = json.loads((folder / "config.json").read_text())
    saved["config"] |= {"task": "os:system", "task_options": [f"command=touch {trace}"]}
    saved.pop("seal", None)  # as somebody would who means it
    (folder / "config.json").write_text(json.dumps(saved))
    status, out, err = command(capsys, name, folder, *OPENING[name])
    assert not trace.exists()
    if name not in ("report", "claims"):  # which draw and judge what needs no task
        assert status == 2
        assert "is code of its own, which is not run for being named in a folder" in err
        assert "DICO_TRUST=os" in err
    else:
        assert status in (0, 2), out + err


@pytest.mark.unchecked
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPENING)
def test_a_schedule_that_only_the_folder_names_is_not_imported(capsys, folder, beside, name):
    (beside / "planted.py").write_text("open('trace', 'w')\ndef rising(frames):\n    return 0.3\n")
    for file in ("members.json", "metrics.jsonl", "config.json"):
        (folder / file).write_text((folder / file).read_text().replace('"0.3"', '"planted:rising"'))
    saved = json.loads((folder / "config.json").read_text())
    saved["checksums"]["members.json"] = checksum(folder / "members.json")
    (folder / "config.json").write_text(json.dumps(sealed({k: v for k, v in saved.items() if k != "seal"})))
    status, out, err = command(capsys, name, folder, *OPENING[name])
    assert not (beside / "trace").exists()
    assert status == (2 if name == "resume" else 0), out + err
    if name == "resume":
        assert "schedule 'planted:rising' is code of its own" in err
        assert "DICO_TRUST=planted" in err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.toml", 'snd = ["0.3", "planted:rising"]'),
        ("settings.toml", 'snd = "planted:rising"'),
        ("settings.toml", 'snd = " planted:rising "'),
        ("settings.json", json.dumps(asdict(preset("quick", "navigation", snd=("planted:rising",))))),
    ],
)
def test_a_schedule_that_only_a_file_of_settings_names_is_not_imported(capsys, beside, name, text):
    (beside / "planted.py").write_text("open('trace', 'w')\ndef rising(frames):\n    return 0.3\n")
    (beside / name).write_text(text)
    status, _, err = command(capsys, "train", "--config", name, "--run", "run")
    assert not (beside / "trace").exists()
    assert status == 2
    assert "DICO_TRUST=planted" in err
    assert not (beside / "run").exists()


@pytest.mark.unchecked
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPENING)
def test_pickles_and_yaml_are_not_taken_for_what_they_are_called(capsys, folder, tmp_path, name):
    """In place of every file and beside them, checksums included."""
    trace = tmp_path / "trace"
    bomb = pickle.dumps(Bomb(trace))
    for checkpoint in folder.glob("checkpoint-*"):
        (checkpoint / "state.safetensors").write_bytes(bomb)
        meta = json.loads((checkpoint / "meta.json").read_text())
        meta["checksums"] = {"state.safetensors": checksum(checkpoint / "state.safetensors")}
        (checkpoint / "meta.json").write_text(json.dumps(sealed({k: v for k, v in meta.items() if k != "seal"})))
    for beside in ("config.pkl", "state.pt", "report.npz"):
        (folder / beside).write_bytes(bomb)
    yaml = f"!!python/object/apply:os.system ['touch {trace}']\n"
    for beside in ("config.yaml", "sitecustomize.py"):
        (folder / beside).write_text(yaml)
    status, out, err = command(capsys, name, folder, *OPENING[name])
    assert not trace.exists()
    assert status in (0, 2), out + err
    (folder / "members.json").write_bytes(bomb)
    (folder / "metrics.jsonl").write_bytes(bomb)
    status, _, _ = command(capsys, name, folder, *OPENING[name])
    assert not trace.exists()
    assert status == 2


def test_what_you_trained_in_this_process_is_trusted(tmp_path, monkeypatch):
    monkeypatch.delenv("DICO_TRUST", raising=False)
    task = "dico.tasks.navigation:Navigation"
    run = dico.train(preset("quick", task, **SMALL), tmp_path / "run")
    assert run.task().horizon == 5
    monkeypatch.delenv("DICO_TRUST")
    with pytest.raises(RunError, match=r"set DICO_TRUST=dico\.tasks\.navigation, or call dico\.tasks\.trust"):
        dico.load(run.folder).task()
    monkeypatch.setenv("DICO_TRUST", "other, dico")
    assert dico.load(run.folder).task().horizon == 5


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A working directory with modules of somebody's."""
    monkeypatch.setenv("DICO_TRUST", "")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.unchecked
@pytest.mark.parametrize("opens", [from_folder, from_settings])
def test_a_package_beside_the_user_is_not_taken_for_one_of_environments(beside, opens):
    (beside / "mpe2").mkdir()
    (beside / "mpe2" / "__init__.py").write_text("open('trace', 'w')")
    (beside / "mpe2" / "evil.py").write_text("parallel_env = dict")
    with pytest.raises(ValueError, match="ModuleNotFoundError"):
        opens("pettingzoo:mpe2.evil", ["workers=1"])
    assert not (beside / "trace").exists()


@pytest.mark.unchecked
def test_environments_that_the_user_names_are_found_beside(beside, tmp_path):
    shutil.copy(Path(__file__).parent / "tasks" / "pettingzoo_envs.py", beside / "envs_beside.py")
    assert from_settings("pettingzoo:envs_beside", ["workers=1"]).n_agents == 2
    assert from_folder("pettingzoo:envs_beside", ["workers=1"]).n_agents == 2


def test_the_command_imports_nothing_from_the_working_directory(beside):
    (beside / "rich.py").write_text("open('trace', 'w')")
    words = [sys.executable, "-m", "dico", "--version"]
    path = {"PYTHONPATH": str(Path(dico.__file__).parents[1])}
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ | path).stdout
    assert said == f"dico {dico.__version__}\n"
    assert not (beside / "trace").exists()


def test_workers_of_a_run_in_pieces_import_nothing_from_the_working_directory(beside):
    words = worker_command(beside, "000", driver="x", device="cpu")
    asked = [*words[: words.index("-m")], "-c", "import sys; print(sys.path)"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, env={"PATH": ""}).stdout
    assert "''" not in said
    assert str(beside) not in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("has_imports:pathlib.os.system", "dots lead into classes alone"),
        ("has_imports:touch", "has_imports has only imported: if you trust it, set DICO_TRUST=has_imports,posix"),
        ("pettingzoo:has_imports:touch", "is of posix, which has_imports has only imported"),
    ],
)
def test_of_a_trusted_module_only_what_is_its_own_is_taken(beside, monkeypatch, name, said):
    imports = "import pathlib\nfrom os import mkdir as touch\n"
    nested = "class Outer:\n    from dico.tasks.navigation import Navigation\n"
    (beside / "has_imports.py").write_text(imports + nested)
    monkeypatch.setenv("DICO_TRUST", "has_imports")
    monkeypatch.delitem(sys.modules, "has_imports", raising=False)
    with pytest.raises(ValueError, match=said):
        from_folder(name, ["path=trace"])
    assert not (beside / "trace").exists()
    assert from_folder("has_imports:Outer.Navigation").n_agents == 2
    with pytest.raises(ValueError, match=said):
        check_known(name)  # as a resume does, which then trusts it


def test_every_line_about_trust_keeps_what_is_trusted_already(beside, monkeypatch):
    """Doing what it says leads on, and not round in circles."""
    (beside / "reexports.py").write_text("from dico_own_task import make\n")
    (beside / "dico_own_task.py").write_text("def make(): ...\n")
    monkeypatch.setenv("DICO_TRUST", "reexports")
    with pytest.raises(ValueError, match=r"set DICO_TRUST=reexports,dico_own_task$"):
        check_known("reexports:make")
    monkeypatch.setenv("DICO_TRUST", "dico_own_task")
    with pytest.raises(ValueError, match="set DICO_TRUST=dico_own_task,reexports, or call"):
        check_known("reexports:make")
    monkeypatch.setenv("DICO_TRUST", "dico_own_task,reexports")
    check_known("reexports:make")


def test_environments_in_a_package_are_named_where_they_are_imported(beside, monkeypatch):
    """PettingZoo's usual layout; and what the user names runs, wherever it comes from."""
    package, name = beside / "grouped", "pettingzoo:grouped.walk_v0"
    (package / "env").mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "tasks" / "pettingzoo_envs.py", package / "env" / "walk.py")
    (package / "walk_v0.py").write_text("from grouped.env.walk import parallel_env\n")
    (beside / "elsewhere.py").write_text("from grouped.walk_v0 import parallel_env\n")
    assert from_settings("pettingzoo:elsewhere", ["workers=1"]).n_agents == 2
    assert from_folder("pettingzoo:elsewhere", ["workers=1"]).n_agents == 2
    monkeypatch.setenv("DICO_TRUST", "grouped")
    check_known(name)
    assert from_folder(name, ["workers=1"]).n_agents == 2
