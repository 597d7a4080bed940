"""The distribution as strangers get it: built, looked into, installed into empty environments, and used there.

    python tests/empty_environments.py [--python python3.12 ...] [--extra viz ...] [--cuda]

Each Python gets an environment with the wheel and what the method needs (torch, jaxtyping), and for each extra one more
that has these and the extra alone. Where torch comes only with CUDA (gigabytes) and ``--cuda`` is not given, the wheel
is installed without torch: its sources are compiled and what needs no torch is used, and the line says so.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMALL = (
    "--snd 0 1 --seeds 1 --hidden 4 --envs 2 --frames-per-batch 20 --minibatch 20 --frames 20 --device cpu --run run"
)
TRAIN = f"train navigation {SMALL}"
USES = {
    "train": [TRAIN, "eval run --episodes 2", "export run --snd 1 --to policy.pt2", "report run --no-figures"],
    "viz": [TRAIN, "report run"],
    "export": [TRAIN, "export run --snd 1 --to policy.onnx"],
    "tensorboard": [f"{TRAIN} --tensorboard"],
    "wandb": [f"{TRAIN} --wandb"],
    "vmas": ["tasks", f"train vmas:balance {SMALL}"],
    "pettingzoo": [f"train pettingzoo:mpe2.simple_spread_v3 {SMALL} --task-options max_cycles=5 workers=1"],
    "ray": [f"{TRAIN} --on ray"],
    "slurm": [f"{TRAIN} --on slurm --dry-run"],
    "torchrl": [],
    "benchmarl": ["report --help"],
}
"""What each extra is for: words after ``dico``."""
IMPORTS = {"torchrl": "dico.adapters.torchrl", "benchmarl": "dico.adapters.benchmarl.__main__"}
"""What else must be there with an extra."""
REFUSED = {
    "import dico; dico.viz.plot_reward": "viz",
    "import dico; dico.load": "train",
    "import dico.adapters.torchrl": "torchrl",
    "import dico.adapters.benchmarl as ours; ours.DicoModelConfig": "benchmarl",
    "import dico.adapters.pettingzoo": "pettingzoo",
    "import sys, dico.__main__ as ours; sys.argv[1:] = ['train', 'navigation']; sys.exit(ours.main())": "train",
}
"""What the method alone cannot do, and the extra that its error must name."""
LIGHT = ("jaxtyping", "numpy", "rich", "safetensors", "tyro")


def main() -> int:
    """Everything, a line for each; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", default=["python3.11", "python3.12", "python3.13"])
    parser.add_argument("--extra", nargs="+", default=[*USES], choices=[*USES])
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel = build(folder / "dist")
        for number, python in enumerate(options.python):
            place = folder / str(number)
            if not runs(python, "--version"):
                say(f"{python}: not here, not tried")
            elif options.cuda or has_small_torch(python):
                try_extras(python, wheel, options.extra, place)
            else:
                try_without_torch(python, wheel, place)
    return 0


def build(dist: Path) -> Path:
    """The wheel, after both files were looked into; the one made from the source distribution must hold the same."""
    for target in ("wheel", "sdist"):
        call(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(dist), cwd=ROOT)
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
        assert inside >= {"README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "src/dico/__init__.py"}
        archive.extractall(dist / "unpacked", filter="data")
    (unpacked,) = (dist / "unpacked").iterdir()
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist / "again"), cwd=unpacked)
    (again,) = (dist / "again").iterdir()
    assert names(wheel) == names(again), "the wheel of the source distribution holds something else"
    tools = environment(sys.executable, dist / "tools")
    pip(tools, "twine")
    call(tools, "-m", "twine", "check", "--strict", str(wheel), str(source))
    say(f"{wheel.name} ({size(wheel)}, {len(names(wheel))} files), {source.name} ({size(source)}): checked by twine")
    return wheel


def has_small_torch(python: str) -> bool:
    """Whether torch comes without CUDA for this Python; asks the index, downloads nothing of size."""
    words = [
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--quiet",
        "--ignore-installed",
        "--report",
        "-",
        "--no-deps",
        *constraints(),
    ]
    done = subprocess.run([python, *words, "torch"], capture_output=True, text=True)
    if done.returncode:
        return False
    (torch,) = json.loads(done.stdout)["install"]
    return not any("nvidia" in need or "cuda" in need for need in torch["metadata"].get("requires_dist", ()))


def try_extras(python: str, wheel: Path, extras: list[str], folder: Path) -> None:
    """The method alone; then each extra, in an environment that has the method's and its own packages only."""
    base = environment(python, folder / "method")
    pip(base, str(wheel))
    call(base, "-c", "import dico, torch; print(dico.DiCo.mlp(2, 4, 2, dico.equal(1.0))(torch.zeros(3, 2, 4)).shape)")
    for code, extra in REFUSED.items():
        said = refused(base, code)
        assert f"dico-marl[{extra}]" in said, f"{code} says: {said}"
    say(f"{python}: the method alone works; the rest names its extra in {len(REFUSED)} errors")
    (shared,) = (folder / "method").glob("lib/python*/site-packages")
    for extra in extras:
        place = folder / extra
        bin_python = environment(python, place)
        (own,) = place.glob("lib/python*/site-packages")
        (own / "method.pth").write_text(f"{shared}\n")
        pip(bin_python, f"{wheel}[{extra}]")
        work = place / "work"
        work.mkdir()
        for words in USES[extra]:
            call(bin_python, "-m", "dico", *words.split(), cwd=work)
        if extra in IMPORTS:
            call(bin_python, "-c", f"import {IMPORTS[extra]}", cwd=work)
        say(f"{python}: [{extra}] installs and works")
        shutil.rmtree(place)


def try_without_torch(python: str, wheel: Path, folder: Path) -> None:
    """Every source compiles, and what needs no torch runs."""
    bin_python = environment(python, folder)
    pip(bin_python, "--no-deps", str(wheel))
    pip(bin_python, *LIGHT)
    (package,) = folder.glob("lib/python*/site-packages/dico")
    call(bin_python, "-W", "error", "-m", "compileall", "-q", "-f", str(package))
    call(bin_python, "-m", "dico", "--version")
    call(bin_python, "-m", "dico", "--help")
    call(bin_python, "-c", "import dico.control, dico._student")
    say(f"{python}: torch comes with CUDA only: compiled all sources, used what needs no torch; NOT the rest (--cuda)")


def environment(python: str, folder: Path) -> str:
    """A new one's Python."""
    call(python, "-m", "venv", str(folder))
    return str(folder / "bin" / "python")


def pip(python: str, *words: str) -> None:
    """Install, with the versions that the tests have."""
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *constraints(), *words)


def constraints() -> list[str]:
    """As ``make test``."""
    return ["--constraint", str(ROOT / "constraints.txt")]


def refused(python: str, code: str) -> str:
    """The last line of what it says, where it fails as it should."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd="/", env=alone())
    assert done.returncode, f"{code} did not fail"
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def call(*words: str, cwd: Path | None = None) -> None:
    """Run it; what it said is shown if it failed."""
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=alone())
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def alone() -> dict[str, str]:
    """The surroundings, without what would let this checkout in."""
    return {**os.environ, "PYTHONPATH": "", "WANDB_MODE": "offline", "OMP_NUM_THREADS": "1"}


def runs(*words: str) -> bool:
    """Whether there is such a program, and it works."""
    try:
        return subprocess.run(words, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def names(wheel: Path) -> set[str]:
    """What is in it."""
    return set(zipfile.ZipFile(wheel).namelist())


def size(path: Path) -> str:
    """In MB."""
    return f"{path.stat().st_size / 1e6:.1f} MB"


def say(line: str) -> None:
    """As it happens."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
