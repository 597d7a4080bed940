"""The commands that draw, as a user meets them."""

import shutil
import subprocess
import sys

import pytest
from command_line import dico
from folders import trained, write_metrics, write_run

pytestmark = pytest.mark.unchecked


@pytest.fixture
def run(tmp_path):
    """A trained run that a test may write into."""
    return shutil.copytree(trained("navigation").folder, tmp_path / "run")


def test_a_map_goes_into_the_run_folder(capsys, run):
    status, out, err = dico(capsys, "map", run, "--resolution", "8")
    assert (status, err) == (0, "")
    assert out == f"wrote {run / 'figures' / 'map.png'}"
    assert [path.name for path in (run / "figures").iterdir()] == ["map.png"]


def test_a_map_as_it_is_wanted(capsys, run, tmp_path):
    words = ("--levels", "0.50", "free", "--seed", "1", "--state-seed", "3", "--resolution", "8")
    for name, more in (("a.svg", ("--arrows",)), ("b.pdf", ("--coordinates", "0", "3"))):
        status, out, _ = dico(capsys, "map", run, "--out", tmp_path / name, *words, *more)
        assert (status, out) == (0, f"wrote {tmp_path / name}")
    drawn = (tmp_path / "a.svg").read_text()
    assert "desired SND 0.5" in drawn
    assert "desired SND 0 " not in drawn
    assert not (run / "figures").exists()


def test_videos_of_episodes_and_of_distances(capsys, run, tmp_path):
    status, out, err = dico(capsys, "video", run, "--of", "distances", "--fps", "5")
    assert (status, err) == (0, "")
    assert out == f"wrote {run / 'figures' / 'distances.mp4'}"
    out = tmp_path / "episode.gif"
    assert dico(capsys, "video", run, "--levels", "free", "--no-map", "--episode-seed", "4", "--out", out)[0] == 0
    assert out.read_bytes().startswith(b"GIF8")


def test_two_pages_in_one_folder_do_not_share_their_figures(capsys, run, tmp_path):
    for checkpoint in run.glob("checkpoint-*"):  # which would only take time
        shutil.rmtree(checkpoint)
    for name, by in (("a", "constraint"), ("b", "seed")):
        words = ("report", run, "--out", tmp_path / f"{name}.html", "--by", by, "--formats", "svg")
        status, out, err = dico(capsys, *words)
        assert (status, err) == (0, "")
        assert f"figures into {tmp_path / f'{name}-figures'}" in out
    drawn = [(tmp_path / f"{name}-figures" / "curves.svg").read_text() for name in "ab"]
    assert ["seed=1" in text for text in drawn] == [False, True]


@pytest.mark.filterwarnings("default:.* diverged and is left out")
def test_who_diverged_is_said_once(capsys, run):
    path = run / "metrics.jsonl"
    write_metrics(run, path.read_text().replace('"constraint": "0.5"', '"diverged": true, "constraint": "0.5"'))
    status, _, err = dico(capsys, "report", run, "--formats", "png")
    assert (status, err) == (0, "warning: snd 0.5 diverged and is left out")


BAD = {
    ("map", "nowhere"): "nowhere is no run folder: it does not exist",
    ("video", "nowhere"): "nowhere is no run folder: it does not exist",
    ("map", "."): "did you mean one in it: dispersion, empty, run, taken, ...?",
    ("map", "run/figures"): "run/figures is no run folder: it has no config.json; dico train writes one under runs/",
    ("map", "empty"): "empty has no checkpoint yet: let it train on",
    ("video", "empty"): "empty has no checkpoint yet: let it train on",
    ("video", "empty", "--of", "distances"): "empty has no distances",
    ("map", "run", "--levels", "0.4"): "no member has snd=0.4; there are snd 0, 0.5, free with seeds 0, 1",
    ("map", "run", "--levels", "much"): "'module:function' or 'free', got 'much'",
    ("video", "run", "--seed", "7"): "no member has snd=0 and seed=7",
    ("map", "run", "--out", "map.jpg"): "the figure's ending must be one of '.png', '.svg', '.pdf', got '.jpg'",
    ("video", "run", "--out", "video"): "the video's ending must be one of '.mp4', '.gif', got ''",
    ("map", "run", "--resolution", "0"): "resolution must be a positive integer, got 0",
    ("video", "run", "--fps", "-1"): "fps must be a positive integer, got -1",
    ("video", "run", "--fps", "60", "--out", "video.gif"): "fps must be at most 50 for a GIF, got 60",
    ("report", "run", "--out", "page.txt"): "the page's ending must be one of '.html', '.htm', got '.txt'",
    ("report", "run", "--out", ""): "the page's ending must be one of '.html', '.htm', got ''",
    ("report", "run", "--out", "folder.html"): "folder.html cannot be written (it is a folder)",
    ("report", "run", "--out", "run/config.json/a.html"): "config.json is a file): choose another place",
    ("report", "taken"): "figures is a file): choose another place",
    ("map", "run", "--coordinates", "0", "4"): "two different whole numbers from 0 to 3, got (0, 4)",
    ("map", "run", "--coordinates", "0", "1", "--arrows"): "leave out --arrows or --coordinates",
    ("video", "run", "--of", "distance"): "did you mean 'distances'?",
    ("video", "torn", "--of", "distances"): "the metrics of torn are lost, though it has checkpoints",
    ("map", "dispersion"): "has no map over positions (navigation, same-goal, sampling have)",
    ("map", "run", "--out", "run/config.json/map.png"): "cannot be written",
}


@pytest.mark.filterwarnings("ignore:.* is torn and left out")
@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_says_what_to_do_and_leaves_nothing_behind(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained("navigation").folder, "run")
    shutil.copytree(trained("dispersion").folder, "dispersion")
    write_run(tmp_path / "empty", lambda *_: {"reward": 0.0, "snd": 0.0, "action_bound_violation": 0.0})
    shutil.copytree("run", "torn")
    (tmp_path / "run" / "figures").mkdir()
    (tmp_path / "folder.html").mkdir()
    shutil.copytree("run", "taken", ignore=shutil.ignore_patterns("figures"))
    (tmp_path / "taken" / "figures").touch()
    (tmp_path / "torn" / "metrics.jsonl").write_text('{"member": 0, "it')
    before = sorted(tmp_path.rglob("*"))
    status, out, err = dico(capsys, *arguments)
    assert status == 2
    assert BAD[arguments] in err + out
    assert "Traceback" not in err + out
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("module", "command"), [("matplotlib", "map"), ("PIL", "video"), ("imageio_ffmpeg", "video")])
def test_a_missing_extra_is_named(module, command):
    code = f"import sys; sys.modules[{module!r}] = None; from dico.commands import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, command, "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f'error: dico {command}, as asked here, needs {module}: pip install "dico-marl[viz]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_other_commands_need_no_matplotlib():
    code = "import sys; sys.modules['matplotlib'] = None; from dico.commands import main; sys.exit(main(['tasks']))"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
