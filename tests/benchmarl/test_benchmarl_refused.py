"""Bad input on the command line: one line, exit status 2, and nothing left behind."""

import shutil
from pathlib import Path

import pytest
from commands import SMALL, command
from small_experiments import FRAMES

import dico
from dico.adapters.benchmarl import DicoCallback
from dico.adapters.benchmarl.command import help_text

pytestmark = pytest.mark.unchecked

IPPO = ("algorithm=ippo", "task=dico/navigation")
BAD = {
    (*IPPO, "+task.n_agnts=3"): "got 'n_agnts'; did you mean 'n_agents'?",
    ("algorithm=ippo", "task=vmas/navigation", "+task.n_agnts=3"): "got 'n_agnts'; did you mean 'n_agents'?",
    (*IPPO, "+model.desird_snd=1"): "setting of model must be one of",
    (*IPPO, "+critic_model.numcells=[8]"): "got 'numcells'; did you mean 'num_cells'?",
    (*IPPO, "+experiment.max_n_frame=1"): "did you mean 'max_n_frames'?",
    (*IPPO, "+algorithm.clip_epsilo=1"): "did you mean 'clip_epsilon'?",
    (*IPPO, "+desired_snd=1"): "got 'desired_snd'",
    (*IPPO, "model.desired_snd=about"): "desired_snd must be a diversity such as",
    (*IPPO, "model.metric=sdn"): "did you mean 'snd'?",
    (*IPPO, "task.n_agents=0"): "n_agents must be a whole number from 1 up, got 0",
    (*IPPO, *SMALL, "model.groups=[agent]"): "did you mean 'agents'?",
    (*IPPO, *SMALL, "+freeze.agnts=9"): "group in freeze must be one of 'agents', got 'agnts'",
    (): "algorithm and task must be chosen",
    ("algorithm=ippo",): "task must be chosen, such as",
    ("algorithm=ipo", "task=dico/tag"): "there is no algorithm=ipo; did you mean 'ippo'?",
    ("algorithm=ippo", "task=dico/navigatoin"): "did you mean 'dico/navigation' or 'vmas/navigation'?",
    ("-m", "algorithm=ippo", "task=vmas/balance,vmas/balanc"): "there is no task=vmas/balanc",
    (*IPPO, "model.desired_snd=0,0.3"): "model.desired_snd=0,0.3 holds several values: add -m",
    ("--config-name", "navigaton"): "--config-name must be one of 'config', 'dispersion'",
    (*IPPO, "model=dicco"): "there is no model=dicco; did you mean 'dico'?",
    (*IPPO, "model.desird_snd=1"): "got 'desird_snd'; did you mean 'desired_snd'?",
    (*IPPO, "desired_snd=1"): "setting must be one of 'experiment', 'algorithm'",
    (*IPPO, "model.desired_snd=>=0.3"): "Hydra cannot read model.desired_snd=>=0.3",
    (*IPPO, "experiment.lr=abc"): "'abc' of type 'str' could not be converted to Float",
    (*IPPO, "model.groups=3"): "groups must be a list of names",
    (*IPPO, "model.action_loss_lr=null"): "action_loss_lr must be a number from 0 up, got None",
    (*IPPO, "model.squash_shared=no"): "squash_shared must be True or False, got 'no'",
    (*IPPO, "seed=null"): "seed must be a whole number from 0 up, got None",
    (*IPPO, "seed=1.5"): "seed must be a whole number from 0 up, got 1.5",
    (*IPPO, "freeze=3"): "freeze must be frames by group",
    (*IPPO, "+freeze.agents=null"): "freeze.agents must be a whole number from 0 up, got None",
    (*IPPO, "+freeze.agents=-3"): "freeze.agents must be a whole number from 0 up, got -3",
    (*IPPO, "critic_model=dico"): "critic_model is chosen by model@critic_model=NAME",
    (*IPPO, "experiment.save_folder=nowhere"): "save_folder nowhere does not exist: make it first",
    (*IPPO, "experiment.restore_file=nowhere.pt"): "restore_file nowhere.pt does not exist",
    (*IPPO, "experiment.loggers=[foo]"): "experiment.loggers must be one of 'csv'",
    (*IPPO, "experiment.train_device=nonsense"): "experiment.train_device=nonsense cannot be used here",
    (*IPPO, "experiment.on_policy_collected_frames_per_batch=0"): "frames_per_batch must be a positive integer, got 0",
    ("algorithm=ippo", "task=dico/tag", "task.n_agents=1"): "n_agents must be a whole number from 2 up, got 1",
    (*IPPO, *SMALL, "model.groups=[]"): "model.desired_snd=0.3 controls no group of two or more agents",
    (*IPPO, *SMALL, "task.n_agents=1"): "model.desired_snd=0.3 controls no group of two or more agents",
}


@pytest.mark.parametrize("words", BAD, ids=lambda words: " ".join(words[-1:]))
def test_bad_input_is_refused_in_one_line_and_leaves_nothing_behind(monkeypatch, tmp_path, capsys, words):
    assert command(monkeypatch, tmp_path, *words) == 2
    error = capsys.readouterr().err
    assert BAD[words] in error
    assert "Traceback" not in error
    assert len(error.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


class Busy(DicoCallback):
    """While it is set up, another process begins an experiment in the same folder."""

    def on_setup(self):
        Path("newer").mkdir()
        Path("newer/config.pkl").write_text("of another process")
        super().on_setup()


def test_a_failed_experiment_leaves_what_others_write_beside_it(monkeypatch, tmp_path):
    monkeypatch.setattr("dico.adapters.benchmarl.main.DicoCallback", Busy)
    words = (*IPPO, *SMALL, "model.groups=[]", f"experiment.save_folder={tmp_path}")
    assert command(monkeypatch, tmp_path, *words) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"newer"}
    assert (tmp_path / "newer" / "config.pkl").is_file()


def test_a_restore_that_is_refused_touches_nothing(monkeypatch, tmp_path, capsys):
    assert command(monkeypatch, tmp_path, *IPPO, *SMALL) == 0
    (folder,) = dico.load(tmp_path / "outputs").source.folders
    file = folder / "checkpoints" / f"checkpoint_{2 * FRAMES}.pt"
    torn = shutil.copy(file, file.with_name("checkpoint_99.pt"))
    torn.write_bytes(torn.read_bytes()[:-100])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for word, message in {
        f"experiment.restore_file={torn}": "is not whole, or no checkpoint",
        "algorithm=mappo": "algorithm=ippo (got mappo)",
        "model.num_cells=[9]": "model.num_cells=[8] (got [9])",
        "seed=4": "seed=0 (got 4)",
        "algorithm.share_param_critic=False": "algorithm.share_param_critic=True (got False)",
        "+freeze.agents=9": "freeze={}, got {'agents': 9}",
    }.items():
        assert command(monkeypatch, tmp_path, *IPPO, *SMALL, f"experiment.restore_file={file}", word) == 2
        assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    more = ("experiment.max_n_frames=120", f"experiment.restore_file={file}")
    assert command(monkeypatch, tmp_path, *IPPO, *SMALL, *more) == 0
    assert [row["iteration"] for row in dico.load(folder).rows()] == [1, 2, 3]


def test_help_lists_what_there_is(monkeypatch, tmp_path, capsys):
    assert command(monkeypatch, tmp_path, "--help") == 0
    shown = capsys.readouterr().out
    assert shown.strip() == help_text().strip()
    for name in ("dico/reverse_transport", "vmas/balance", "masac", "same_goal", "--config-name"):
        assert name in shown
    assert not list(tmp_path.iterdir())
