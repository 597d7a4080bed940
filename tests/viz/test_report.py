"""The report page as data: what it holds, how small it is, and what it says where something is missing."""

import base64
import json
import re
import shlex
from importlib.resources import files

import numpy as np
import pytest
import torch
from folders import write_metrics, write_run
from report_runs import payload_of, report_fixtures, small_run, without_checkpoints

from dico import analysis
from dico._files import plain
from dico.analysis.alignment import align_agents, renumber, square
from dico.commands import parse
from dico.experiments import presets_of
from dico.metrics import snd_at
from dico.policy import DiCo
from dico.runs import RunError, load
from dico.tasks.navigation import NavigationState
from dico.training.config import Config
from dico.viz.page.encode import pack, quantise
from dico.viz.page.inline import json_in_html, page
from dico.viz.page.networks import BITS, ROUGHLY, TOLERANCE, Layer, encode_policy
from dico.viz.page.numbers import POINTS
from dico.viz.report import payload, write_report

run, found = report_fixtures("report")


def ends(band):
    return [plain(float(each)) for each in (band.centre, band.low, band.high)]


def floats(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


PAPER, SVG = "https://arxiv.org/abs/2405.15054", "http://www.w3.org/2000/svg"


def test_the_page_goes_into_the_run_folder_and_needs_no_network(run):
    path = write_report(run.folder)
    assert path == run.folder / "report.html"
    text = path.read_text("utf-8")
    outside = text.split('id="payload">')[0] + text.split('id="payload">')[1].split("</script>", 1)[1]
    assert "src=" not in outside
    assert set(re.findall(r"https?://[^\"<`]*", outside)) == {PAPER, SVG}  # a link, and the name of a format
    assert "{{" not in outside.replace("`", "")
    assert not list(run.folder.glob(".*part*"))


def test_summary_and_curves_are_the_statistics_of_the_run(run, found):
    (shown,) = found["runs"]
    assert [level["text"] for level in found["levels"]] == ["0", "0.5", "free"]
    for row, expected in zip(shown["summary"], analysis.summary(run), strict=True):
        assert row["level"] == expected.level
        assert row["seeds"] == 2
        assert row["reward"] == pytest.approx(ends(expected.reward))
        assert row["diversity"][0] == pytest.approx(float(expected.snd.centre))
    assert shown["summary"][2]["tracking"] == [None, None, None]
    assert shown["best"] is None  # two seeds do not tell
    assert shown["maximum"] is None  # of means before a tanh there is none
    chosen = analysis.of_level(run, "0.5")
    rewards = analysis.curves(run, "reward")[chosen]
    curve = shown["curves"]["reward"]["0.5"]
    np.testing.assert_allclose(floats(curve["centre"]), rewards.mean(0), rtol=1e-5)
    assert curve["low"] is None
    np.testing.assert_allclose([floats(seed) for seed in curve["seeds"]], rewards, rtol=1e-6)
    np.testing.assert_allclose(floats(shown["frames"]), analysis.frames(run))
    assert "free" not in shown["curves"]["tracking"]


def test_the_page_says_task_algorithm_seeds_and_statistic(found):
    said = " ".join([*found["facts"], *found["statistic"].values(), found["footer"]])
    for word in ("navigation", "IPPO", "2 agents", "3 levels", "2 seeds", "standard deviation"):
        assert word in said


def test_three_seeds_have_bands_and_may_name_a_best(tmp_path):
    def values(level, seed, iteration):
        gains = {"0": 0.0, "0.5": 5.0, "free": 1.0}
        return {"reward": gains[level] + 0.1 * seed, "snd": 0.5 * seed, "action_bound_violation": 0.01 * 10**seed}

    found = payload_of(write_report(write_run(tmp_path / "run", values, seeds=3, frames=12_000)))
    (shown,) = found["runs"]
    assert shown["best"] == "0.5"
    curve = shown["curves"]["reward"]["0.5"]
    np.testing.assert_allclose(floats(curve["low"]), 5.0, rtol=1e-6)
    np.testing.assert_allclose(floats(curve["high"]), 5.2, rtol=1e-6)
    assert floats(shown["curves"]["action_bound_violation"]["0.5"]["low"]).tolist() == [0, 0]  # and not below
    assert found["notes"] == ["3 seeds of a level: intervals are wide and rough; five or more tell levels apart."]


def test_levels_that_actions_cannot_have_are_told_of(tmp_path):
    def values(*_):
        return {"reward": 1.0, "snd": 0.5}

    run = write_run(tmp_path / "run", values, snd=("1", "6"), seeds=5, frames=12_000)
    most = "Executed actions can have an SND of at most 2.83: the desired 6 is of means"
    squashed = f"{most} before the tanh."
    assert payload_of(write_report(run))["notes"] == [squashed]
    saved = json.loads((run.folder / "config.json").read_text())
    saved["groups"][0]["kind"] = "deterministic"
    (run.folder / "config.json").write_text(json.dumps(saved))
    outside = f"{most} that lie outside the action box."
    assert payload_of(write_report(run.folder))["notes"] == [outside]


def test_the_short_command_means_the_same_run(run):
    shown = payload([run], presets=presets_of)["runs"][0]
    words = shlex.split(shown["short"])
    assert words[:5] == ["dico", "train", "navigation", "--preset", "quick"]
    assert "--algorithm" not in words  # it is the task's own
    assert len(words) < len(shlex.split(shown["command"])) / 2
    assert parse(words[1:])[1].settings == Config.from_json(dict(run.config))


def test_interquartile_means_on_request(run, tmp_path):
    found = payload_of(write_report(run, tmp_path / "iqm.html", stat="iqm"))
    assert "interquartile mean" in found["footer"]
    expected = analysis.summary(run, "iqm")[1].reward
    assert found["runs"][0]["summary"][1]["reward"] == pytest.approx(ends(expected))


def test_the_command_means_the_same_run(run, found):
    words = shlex.split(found["runs"][0]["command"])
    assert words[:3] == ["dico", "train", "navigation"]
    assert parse(words[1:])[1].settings == Config.from_json(dict(run.config))


@pytest.mark.parametrize("task", ["tag", "reverse-transport"])
@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_the_command_means_the_same_run_of_other_tasks(tmp_path, task):
    run = small_run(tmp_path / "run", task, seeds=1, frames=40, freeze=(), snd=(">=0.3", "0.2..0.5"))
    found = payload_of(write_report(run))
    assert parse(shlex.split(found["runs"][0]["command"])[1:])[1].settings == Config.from_json(dict(run.config))


def test_maps_and_episodes_are_what_the_policies_do(run, found):
    (shown,) = found["runs"]
    policy = run.policy("0.5", 0)
    task = run.task()
    episode = next(each for each in shown["episodes"] if each["level"] == "0.5")
    places = unquantised(episode["places"]).reshape(episode["steps"], episode["things"], 2)
    agents = [circle["place"] for circle in episode["circles"] if circle["role"] == "agent"]
    goals = [circle["place"] for circle in episode["circles"] if circle["role"] == "goal"]
    position, velocity = torch.tensor(places[0, agents]).float(), torch.zeros(2, 2)
    goal = torch.tensor(places[0, goals]).float()
    state = NavigationState(position, velocity, goal)
    for step in range(1, episode["steps"]):
        (obs,) = task.observe(state)
        mean = policy(obs).chunk(2, -1)[0].detach()
        state, _, _ = task.step(state, mean.tanh())
        np.testing.assert_allclose(places[step, agents], state.position, atol=2e-3)
    panel = next(each for each in shown["maps"]["panels"] if each["level"] == "0.5")
    values = unquantised(panel["values"]).reshape(60, 60)
    left, right, _, _ = shown["maps"]["extent"]
    spot = torch.tensor([[left + (right - left) * (10 + 0.5) / 60, left + (right - left) * (41 + 0.5) / 60]])
    there = snd_at(policy.everyone(task.observation_at(NavigationState(position, velocity, goal), spot)))
    assert values[41, 10] == pytest.approx(there.item(), abs=1e-3)


def unquantised(encoded):
    return encoded["low"] + encoded["step"] * np.frombuffer(base64.b64decode(encoded["words"]), "<u2")


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_every_task_has_a_page(tmp_path):
    for task in ("same-goal", "dispersion", "sampling", "tag", "reverse-transport"):
        run = small_run(tmp_path / task, task, seeds=1, frames=40, snd=("0", "0.5"))
        found = payload_of(write_report(run))
        (shown,) = found["runs"]
        assert len(shown["episodes"]) == 2
        assert (shown["maps"]["scene"] is None) == (task not in ("same-goal", "sampling"))
        assert [network["level"] for network in shown["live"]["networks"]] == ["0", "0.5"]
        if shown["maps"]["scene"] is None:  # over two observed numbers, as the figure has it
            assert shown["maps"]["axes"] == list(run.task().observation_names(run.task().groups[0])[:2])
            assert [panel["level"] for panel in shown["maps"]["panels"]] == [each["text"] for each in found["levels"]]
            left, right, bottom, top = shown["maps"]["extent"]
            dots = floats(shown["maps"]["panels"][-1]["dots"]).reshape(-1, 2)
            inside = (dots > [left, bottom]).all(1) & (dots < [right, top]).all(1)
            assert inside.mean() > 0.9
        assert "there is no interval" in found["statistic"]["table"]
        assert shown["curves"]["reward"]["0"]["low"] is None


def test_cells_of_sampling_change_as_they_are_visited(tmp_path):
    run = small_run(tmp_path / "run", "sampling", seeds=1, frames=40, snd=("1",))
    field = payload_of(write_report(run))["runs"][0]["episodes"][0]["field"]
    changes = np.frombuffer(base64.b64decode(field["changes"]), "<u2").reshape(-1, 3)
    assert (field["rows"], field["columns"]) == (40, 40)
    assert len(np.frombuffer(base64.b64decode(field["first"]), np.uint8)) == 1600
    assert len(changes) > 0
    assert (changes[:, 2] == 0).all()
    assert (np.diff(changes[:, 0].astype(int)) >= 0).all()


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_several_runs_are_compared(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = small_run(tmp_path / "other", snd=("0.5", "1"), algorithm="mappo")
    found = payload_of(write_report([run, other]))
    assert (tmp_path / "report.html").is_file()
    assert [each["name"] for each in found["runs"]] == ["run", "other"]
    assert [level["text"] for level in found["levels"]] == ["0", "0.5", "1", "free"]
    assert "IPPO and MAPPO" in found["facts"]
    (row,) = found["differences"]["rows"]
    own, others = analysis.final(run, "reward")[2:4].mean(), analysis.final(other, "reward")[:2].mean()
    assert row["values"][0] == [pytest.approx(others - own), None, None]
    assert row["verdicts"][0] == "too few seeds"
    assert "0, 1, free" in found["differences"]["about"]
    assert "own end" not in found["differences"]["about"]
    same_name = small_run(tmp_path / "elsewhere" / "run")
    names = [each["name"] for each in payload_of(write_report([run, same_name]))["runs"]]
    assert len(set(names)) == 2
    assert all(name.endswith("/run") for name in names)


def test_runs_that_do_not_compare_are_refused(run, tmp_path):
    other = small_run(tmp_path / "other", "dispersion", frames=40, seeds=1)
    with pytest.raises(RunError, match=r"same task, got .*navigation.*dispersion"):
        write_report([run, other], tmp_path / "report.html")
    with pytest.raises(RunError, match="given once each"):
        write_report([run, run], tmp_path / "report.html")
    with pytest.raises(ValueError, match="at least one run"):
        write_report([])
    with pytest.raises(ValueError, match=r"got 'men'; did you mean 'mean'"):
        write_report(run, tmp_path / "report.html", stat="men")
    assert not (tmp_path / "report.html").exists()


def test_a_run_still_training_shows_what_there_is(run, tmp_path):
    young = without_checkpoints(run, tmp_path / "young", lines=12)
    found = payload_of(write_report(young))
    (shown,) = found["runs"]
    assert shown["progress"] == {"frames": 80, "total": 240}
    assert len(floats(shown["frames"])) == 2
    assert "episodes" not in shown
    for part in ("episodes", "maps", "live"):
        assert "no checkpoint yet" in found["missing"][part]


def test_empty_and_torn_metrics(run, tmp_path):
    empty = without_checkpoints(run, tmp_path / "empty", lines=0)
    with pytest.raises(RunError, match="has no metrics yet"):
        write_report(empty)
    assert not (empty.folder / "report.html").exists()
    torn = without_checkpoints(run, tmp_path / "torn", lines=9)
    with (torn.folder / "metrics.jsonl").open("a") as file:
        file.write('{"member": 1, "constr')
    with pytest.warns(UserWarning, match="line 10 is torn"):
        found = payload_of(write_report(torn))
    assert any("line 10 is torn" in note for note in found["notes"])


def test_a_member_that_diverged_is_named_and_left_out(run, tmp_path):
    mixed = without_checkpoints(run, tmp_path / "mixed")
    rows = [json.loads(line) for line in (mixed.folder / "metrics.jsonl").read_text().splitlines()]
    for row in rows:
        if row["member"] == 0 and row["iteration"] > 3:
            row |= {"reward": None, "diverged": True}
    (mixed.folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = payload_of(write_report(mixed))
    assert found["runs"][0]["summary"][0]["seeds"] == 1
    assert found["runs"][0]["summary"][0]["diverged"] == 1
    assert found["notes"][0] == "Diverged and left out of all numbers: 0 (seed 0)."


def test_the_least_that_a_run_folder_may_hold(tmp_path):
    run = write_run(
        tmp_path / "run", lambda level, seed, iteration: {"reward": seed + iteration, "snd": 0.5}, frames=12_000
    )
    found = payload_of(write_report(run))
    (shown,) = found["runs"]
    assert shown["summary"][1]["reward"][0] == 2.5
    assert set(shown["curves"]) == {"reward", "diversity", "tracking"}
    assert shown["took"] == ""
    assert shown["machine"] is None
    assert shown["command"].startswith("dico train navigation")


def test_distances_of_larger_teams_leave_out_an_iteration_that_is_being_written(tmp_path):
    run = small_run(tmp_path / "run", "dispersion", frames=120, snd=("0.5", "free"), seeds=2)
    young = without_checkpoints(run, tmp_path / "young", lines=10)  # the third iteration has two of four members
    shown = payload_of(write_report(young))["runs"][0]["distances"]
    assert shown["agents"] == 4
    assert floats(shown["frames"]).tolist() == [40, 80]
    own = square(run.metric("distances")[:2, :2].numpy())
    expected = renumber(own, align_agents(own[:, -1])).mean(0)[..., *np.triu_indices(4, 1)].flatten()
    np.testing.assert_allclose(unquantised(shown["levels"]["0.5"]), expected, atol=1e-4)


def test_an_opened_run_stays_as_it_was_while_the_training_goes_on(run, tmp_path):
    young = without_checkpoints(run, tmp_path / "young", lines=6)
    before = load(young.folder).read()
    with (young.folder / "metrics.jsonl").open("a") as file:
        file.write((run.folder / "metrics.jsonl").read_text().splitlines()[6] + "\n")
    assert len(before.rows()) == 6
    assert len(young.rows()) == 7
    assert torch.equal(before.metric("reward"), without_checkpoints(run, tmp_path / "again", 6).metric("reward"))
    assert before.read() is before


def test_every_file_of_the_page_is_in_it():
    static = files("dico.viz.page") / "static"
    text, others = page({}, ""), ("index.html", "style.css", "reproduction.css")
    for path in static.iterdir():
        name = path.name.partition(".")[0]
        assert path.name in others or f"const ${name} = (() => {{" in text, path.name
        assert all(len(line) <= 120 for line in path.read_text("utf-8").splitlines() if path.suffix == ".js"), path.name
    assert "import {" not in text
    assert "export " not in text.replace("// export", "")


def test_hostile_names_stay_text(run, tmp_path):
    folder = tmp_path / "<" / "script><img src=x onerror=alert(1)>&\"'{{style}}é日本"
    assert "</script>" in str(folder)
    text = write_report(without_checkpoints(run, folder), tmp_path / "report.html").read_text("utf-8")
    assert "<img" not in text
    assert payload_of(tmp_path / "report.html")["runs"][0]["folder"] == folder.name
    assert json.loads(json_in_html({"a": "</script>&"})) == {"a": "</script>&"}
    assert "<b>" not in page({}, "<b>").split("<style>")[0]


def test_names_of_members_that_are_left_out_take_room_too(tmp_path, monkeypatch):
    run, size = small_run(tmp_path / "many", snd=("0", "0.3"), seeds=40, frames=40, hidden=(8,)), 0
    for more in (0, 5_000, 20_000):
        monkeypatch.setattr("dico.viz.report.LIMIT", size + more)
        path = write_report(run, tmp_path / "report.html")
        (shown,) = payload_of(path)["runs"]
        assert bool(shown["live"]["networks"]) == bool(more)
        if more:
            assert len(path.read_text("utf-8")) <= size + more
        else:
            size = len(path.read_text("utf-8"))


@pytest.mark.unchecked  # long; shapes are checked elsewhere
def test_a_population_of_28_with_the_papers_networks_stays_below_5_mb(tmp_path):
    levels = ("0", "0.1", "0.3", "0.4", "0.5", "1", "free")
    run = small_run(tmp_path / "big", snd=levels, seeds=4, frames=40, hidden=(256, 256))
    rows = run.rows()
    rng = np.random.default_rng(0)
    lines = []
    for iteration in range(1, 401):
        for row in rows:
            noise = {"reward": rng.normal(), "snd": abs(rng.normal()), "action_bound_violation": rng.random()}
            lines.append(json.dumps({**row, **noise, "iteration": iteration, "frames": 60_000 * iteration}) + "\n")
    write_metrics(run.folder, "".join(lines))
    path = write_report(load(run.folder))
    found = payload_of(path)
    assert path.stat().st_size < 5_000_000
    (shown,) = found["runs"]
    assert len(floats(shown["frames"])) == POINTS
    assert floats(shown["frames"])[-1] == 400 * 60_000
    live = [(network["level"], network["seed"]) for network in shown["live"]["networks"]]
    assert {level for level, _ in live} == set(levels)
    absent = [(member["level"], member["seed"]) for member in shown["live"]["absent"]]
    assert sorted([*live, *absent]) == sorted((member.constraint, member.seed) for member in run.members)


def test_networks_use_as_few_bits_as_keep_their_outputs():
    torch.manual_seed(0)
    obs = torch.randn(64, 4)
    policy = DiCo.mlp(2, 4, 2, 0.5, hidden=(64, 64), low=[-1, -1], high=[1, 1])
    policy.commit_(policy.estimate(obs))
    bits = encode_policy(policy, obs, most=0.5, tolerance=ROUGHLY)["shared"][0]["bits"]
    finer = encode_policy(policy, obs, most=0.5)["shared"][0]["bits"]
    assert bits < finer
    assert {bits, finer} <= set(BITS)
    layer = Layer(np.random.default_rng(0).normal(size=(64, 3)), np.zeros(3))
    assert np.abs(layer.round_to(24).weight - layer.weight).max() < TOLERANCE / 10
    assert np.abs(layer.whole(16)).max() == 2**15 - 1


def test_only_mlps_are_encoded():
    with pytest.raises(ValueError, match="tanh MLPs"):
        encode_policy(DiCo(torch.nn.Linear(4, 2), [torch.nn.Linear(4, 2)] * 2, 0.3), torch.zeros(1, 4), 1.0)
    with pytest.raises(ValueError, match="one member's"):
        encode_policy(DiCo.mlp(2, 4, 2, 0.3, members=(3,), low=[-1, -1], high=[1, 1]), torch.zeros(1, 4), 1.0)


def test_encodings_come_back():
    values = np.random.default_rng(0).integers(-(2**17), 2**17, 1001)
    bits = np.unpackbits(np.frombuffer(base64.b64decode(pack(values, 18)), np.uint8))[: 18 * 1001].reshape(-1, 18)
    assert ((bits @ (1 << np.arange(17, -1, -1))) - 2**17 == values).all()
    numbers = np.random.default_rng(1).normal(size=(5, 7))
    assert np.abs(unquantised(quantise(numbers)) - numbers.ravel()).max() < 1e-4
    assert (unquantised(quantise(np.full(3, 2.5))) == 2.5).all()


def test_a_file_that_cannot_be_written_is_an_error(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        write_report(run, tmp_path / "file" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_table_has_executed_diversity_returns_and_outcomes(tmp_path):
    def row(level, seed, _):
        told = {"snd_acted": 0.4 + 0.1 * seed, "return": -2.0 - seed, "success": 0.25 * seed, "coverage": 0.5}
        return {"reward": 1.0, "snd": 0.5, **told}

    found = payload([write_run(tmp_path / "run", row, seeds=3, frames=12_000)])
    assert [column["key"] for column in found["columns"]] == ["snd_acted", "return", "success", "coverage"]
    assert [column["percent"] for column in found["columns"]] == [False, False, True, True]
    more = found["runs"][0]["summary"][1]["more"]
    assert more["return"] == pytest.approx([-3.0, -3.0 - 1, -3.0 + 1])
    assert more["snd_acted"][0] == pytest.approx(0.5)
    assert more["success"] == pytest.approx([0.25, 0, 0.5])
    (acted,) = (metric for metric in found["metrics"] if metric["key"] == "snd_acted")
    assert acted["limit"] == pytest.approx(8**0.5)  # two agents in a square of side 2, stochastic or not


def test_groups_are_kept_apart(tmp_path):
    run = small_run(tmp_path / "run", "tag", seeds=2, frames=80, snd=("0", "0.5"))
    found = payload([run])
    assert found["grouping"]["of"] == " (adversary)"
    assert all(metric["title"].endswith(" (adversary)") for metric in found["metrics"])
    assert found["columns"][0]["title"] == "executed SND (adversary)"
    (evader,) = (column for column in found["columns"] if "not controlled" in column["title"])
    expected = run.metric("reward", "agent")[:2, -1].mean().item()
    assert found["runs"][0]["summary"][0]["more"][evader["key"]][0] == pytest.approx(expected, rel=1e-5)
    assert any("Numbers are of the group adversary" in note for note in found["notes"])
    assert " red " not in json.dumps({**found, "runs": []})
