"""Schedules of desired diversity in BenchMARL: followed before each batch, recorded, restored."""

import pytest
import torch
from small_experiments import FRAMES, make, run

import dico
from dico.adapters.benchmarl import DicoCallback, DicoConfig
from dico.adapters.benchmarl.model import Dico

RAMP = "0.2->0.8@120"
"""Over three iterations of 40 frames."""


class Looking(DicoCallback):
    """Notes what the collector's policies desired while they collected."""

    def on_setup(self):
        super().on_setup()
        self.seen = []

    def on_batch_collected(self, batch):
        acting = next(module for module in self.experiment.policy.modules() if isinstance(module, Dico))
        self.seen.append(acting.policy.constraint.lo.item())
        super().on_batch_collected(batch)


@pytest.mark.parametrize("algorithm", ["ippo", "iddpg"])
def test_policies_follow_a_schedule_and_rows_tell_it(tmp_path, algorithm):
    model = DicoConfig(desired_snd=RAMP, num_cells=[8], tau=0.5)
    experiment = run(tmp_path, algorithm, model=model, callback=Looking(), max_n_iters=4, checkpoint_interval=FRAMES)
    expected = [0.2, 0.4, 0.6, 0.8]
    assert experiment.callbacks[0].seen == pytest.approx(expected)
    found = dico.load(experiment.folder_name)
    assert found.metric("desired")[0].tolist() == pytest.approx(expected)
    assert found.members[0].constraint == RAMP

    file = experiment.folder_name / "checkpoints" / f"checkpoint_{2 * FRAMES}.pt"
    again = make(
        None,
        algorithm,
        model=model,
        callback=Looking(),
        max_n_iters=4,
        restore_file=str(file),
        save_folder=str(tmp_path),
    )
    again.run()
    assert again.callbacks[0].seen == pytest.approx(expected[2:])
    assert dico.load(experiment.folder_name).metric("desired")[0].tolist() == pytest.approx(expected)


def test_a_function_may_be_named_and_is_asked_for_all_batches_beforehand(tmp_path, monkeypatch):
    (tmp_path / "my_levels.py").write_text(
        "def rising(frames):\n    return 0.2 + 0.6 * frames / 120\ndef negative(frames):\n    return 100 - frames\n"
    )
    monkeypatch.setenv("DICO_TRUST", "")
    monkeypatch.chdir(tmp_path)
    model = DicoConfig(desired_snd="my_levels:rising", num_cells=[8], tau=0.5)
    experiment = run(tmp_path, model=model, callback=Looking(), max_n_iters=3)
    assert experiment.callbacks[0].seen == pytest.approx([0.2, 0.4, 0.6])
    assert dico.load(experiment.folder_name).members[0].constraint == "my_levels:rising"
    (tmp_path / "bad").mkdir()
    with pytest.raises(ValueError, match="'my_levels:negative' gives after 120 frames must be a diversity"):
        run(tmp_path / "bad", model=DicoConfig(desired_snd="my_levels:negative", num_cells=[8]), max_n_iters=3)
    assert not [path for path in (tmp_path / "bad").rglob("metrics.jsonl") if path.read_text()]
    with pytest.raises(ValueError, match="'my_levels:nothing' cannot be imported"):
        DicoConfig(desired_snd="my_levels:nothing")


def test_a_constant_has_no_such_column(tmp_path):
    experiment = run(tmp_path, max_n_iters=1)
    assert "desired" not in dico.load(experiment.folder_name).rows()[0]


def test_a_bad_schedule_is_told():
    with pytest.raises(ValueError, match="the frames of a schedule must be above 0, finite and rising, got 0"):
        DicoConfig(desired_snd="0->1@0")
    with pytest.raises(ValueError, match="desired_snd cannot seek without neighbours"):
        DicoConfig(desired_snd="seek:0.4")
    assert torch.equal(DicoConfig(desired_snd=RAMP).constraint.lo, torch.tensor(0.2, dtype=torch.float64))
