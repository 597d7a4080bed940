"""The project keeps its word: imports, README, example."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import dico

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=300, cwd=ROOT, **options
    ).stdout


def test_the_method_imports_with_torch_alone():
    banned = ["benchmarl", "torchrl", "tensordict", "vmas", "matplotlib", "numpy", "tyro", "rich", "safetensors"]
    python("-c", f"import sys; sys.modules.update(dict.fromkeys({banned})); from dico import *")


def test_public_names_exist_and_are_documented():
    for name in dico.__all__:
        assert (getattr(dico, name).__doc__ or "").strip(), name
    assert len(dico.__all__) <= 24


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL), ids=lambda b: b.split("\n")[0])
def test_readme_code_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_readme_commands_exist():
    targets = re.findall(r"^make ([\w-]+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_readme_links_lead_somewhere():
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / path).exists(), path


def test_the_example_controls_diversity_and_learns():
    source = (ROOT / "examples" / "your_own_loop.py").read_text()
    assert len(source.splitlines()) < 60
    rows = re.findall(r"^\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)$", python("examples/your_own_loop.py"), re.MULTILINE)
    desired, measured, loss = zip(*(map(float, row) for row in rows), strict=True)
    assert len(desired) == 3
    assert list(desired) == sorted(desired)
    assert measured == pytest.approx(desired, rel=0.01, abs=1e-6)
    assert loss[0] > 1.2 * loss[1] > 1.2 * 1.2 * loss[2]
