"""The project keeps its word: imports, README, example."""

import ast
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import zipfile
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from command_line import parse
from rich.console import Console

import dico
from dico.commands._progress import level_table

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DOCUMENTS = {path.name: path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
COMMANDS = [
    (name, line)
    for name, text in (DOCUMENTS | {"Makefile": (ROOT / "Makefile").read_text()}).items()
    for line in re.findall(r"^\s*(?:\$\(BIN\)/)?dico (.*)", text, re.MULTILINE)
]
"""What each document tells to type after `dico`; prose has it in backquotes, and never begins a line with it."""


def python(*arguments, **options):
    return subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=300, cwd=ROOT, **options
    ).stdout


def test_the_method_imports_with_torch_alone():
    banned = ["benchmarl", "torchrl", "tensordict", "vmas", "matplotlib", "numpy", "tyro", "rich", "safetensors"]
    python("-c", f"import sys; sys.modules.update(dict.fromkeys({banned})); from dico import *")


def docstrings(path):
    """What each class, function and variable of a module says of itself, in its source."""
    body = ast.parse(Path(path).read_text()).body
    said = {node.name: ast.get_docstring(node) for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    for node, following in pairwise(body):
        match node, following:
            case (
                ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=text)),
            ):
                said[name] = text
    return said


def test_public_names_exist_and_are_documented():
    """By their own words: a dict has a docstring too, and a dataclass makes itself one."""
    lines = ast.walk(ast.parse(Path(dico.__file__).read_text()))
    imported = {name.name: line.module for line in lines if isinstance(line, ast.ImportFrom) for name in line.names}
    assert {*dico.__all__, "train", "resume", "load"} <= imported.keys()
    for name in (*dico.__all__, "train", "resume", "load"):
        home = getattr(getattr(dico, name), "__module__", None) or imported[name]
        assert (docstrings(sys.modules[home].__file__).get(name) or "").strip(), name
    assert len(dico.__all__) <= 25


RUN = (
    "README.md", "get-started.md", "training.md", "torchrl.md", "reading-results.md", "run-folder.md", "analytical.md",
    "schedules.md", "tune.md",
)  # fmt: skip
"""Documents whose code is whole: it runs as it stands."""
OF_A_RUN = 'dico.load("runs/dial")'
"""What is in a block that needs a run of other length than a test's; tests of dials have it."""
BLOCKS = [
    (name, code)
    for name in RUN
    for code in re.findall(r"```python\n(.*?)```", DOCUMENTS[name], re.DOTALL)
    if OF_A_RUN not in code
]


@pytest.mark.parametrize(("document", "code"), BLOCKS, ids=[f"{name}: {code[:40]!r}" for name, code in BLOCKS])
def test_code_of_the_documents_runs(document, code, tmp_path, monkeypatch):
    if document == "reading-results.md":
        pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    exec(compile(code, document, "exec"), {"__name__": "document"})


def test_code_is_found():
    counts = {document: sum(name == document for name, _ in BLOCKS) for document in RUN}
    assert counts["README.md"] == 2
    assert min(counts.values()) >= 1


def test_readme_is_short():
    assert len(README.splitlines()) < 120


@pytest.mark.parametrize(("document", "line"), COMMANDS, ids=[f"{name}: {line[:60]}" for name, line in COMMANDS])
def test_commands_of_the_documents_are_understood(document, line):
    parse(shlex.split(line, comments=True))


def test_commands_are_found():
    counts = {
        name: sum(document == name for document, _ in COMMANDS) for name in ("README.md", "benchmarl.md", "training.md")
    }
    assert counts["README.md"] >= 4
    assert counts["benchmarl.md"] >= 1
    assert counts["training.md"] >= 12


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_prose_are_understood(document, capsys):
    for name, options in re.findall(r"`dico ([\w-]+)([^`]*)`", DOCUMENTS[document]):
        words = shlex.split(options.replace("TASK", "navigation")) or ["--help"]
        if words == ["--help"]:
            with pytest.raises(SystemExit, match=r"^0$"):
                parse([name, "--help"])
        else:
            parse([name, *words])


def test_readme_commands_exist():
    targets = re.findall(r"^make ([\w-]+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.unchecked
def test_the_example_controls_diversity_and_learns(capsys):
    """As it stands, but for fewer steps."""
    source = (ROOT / "examples" / "your_own_loop.py").read_text()
    assert len(source.splitlines()) < 60
    shorter = source.replace("steps: int = 1000", "steps: int = 300")
    assert shorter != source
    exec(compile(shorter, "your_own_loop.py", "exec"), {"__name__": "__main__"})
    rows = re.findall(r"^\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)$", capsys.readouterr().out, re.MULTILINE)
    desired, measured, loss = zip(*(map(float, row) for row in rows), strict=True)
    assert len(desired) == 3
    assert list(desired) == sorted(desired)
    assert measured == pytest.approx(desired, rel=0.01, abs=1e-6)
    assert loss[0] > 1.2 * loss[1] > 1.2 * 1.2 * loss[2]


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
)
def test_what_a_page_links_to_is_there(page):
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", (ROOT / page).read_text())
    missing = [link for link in links if not ((ROOT / page).parent / link).exists()]
    assert not missing


def test_the_table_of_get_started_is_as_dico_train_prints_it():
    """Its numbers are of a training that was; all else is made anew."""
    (table,) = re.findall(r"```\n( +measured.*?)\n```", DOCUMENTS["get-started.md"], re.DOTALL)
    names = ("snd", "snd_acted", "reward", "return", "success", "coverage")
    rows = []
    for line in table.partition("─\n")[2].splitlines():
        level, seeds, *numbers = line.split()
        told = {"constraint": level} | dict(zip(names, map(float, numbers), strict=True))
        rows += [{"member": len(rows) + seed, "seed": seed} | told for seed in range(int(seeds))]
    console = Console(width=80, record=True, file=StringIO())
    console.print(level_table(rows))
    printed = [line.rstrip() for line in console.export_text().splitlines()]
    assert [line for line in printed if line] == table.splitlines()


def test_numbers_of_the_readme_are_those_of_the_notes():
    """The rows of speed: every number stands in what was measured."""
    notes = (ROOT / "docs" / "performance-notes.md").read_text() + DOCUMENTS["performance.md"]
    rows = re.search(r"## How fast\n(.*?)\nCommands", README, re.DOTALL)
    assert rows
    found = re.findall(r"(?<![\w.,])(\d[\d,]*\.?\d*)(?= s\b| /s)", rows[1])
    assert len(found) == 8
    assert not [number for number in found if number not in notes]


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    pytest.importorskip("hatchling")
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    (wheel,) = tmp_path.iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"dico", f"dico_marl-{dico.__version__}.dist-info"}
    ours = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "dico").rglob("*") if path.is_file()}
    assert {name for name in ours if "__pycache__" not in name} <= set(names)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    """Its notebooks are run by `make docs`."""
    for needed in ("furo", "myst_nb", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(needed)
    words = ("--quiet", "--fail-on-warning", "--keep-going", "--define", "nb_execution_mode=off")
    python("-m", "sphinx", *words, "docs", str(tmp_path))
    assert "SND" in (tmp_path / "method.html").read_text()
    assert "frames_per_batch" in (tmp_path / "configuration.html").read_text()
    for name in ("navigation", "tag", "tau"):
        assert f'href="gallery/{name}.html"' in (tmp_path / "gallery.html").read_text()
        assert (tmp_path / "gallery" / f"{name}.html").stat().st_size < 600_000


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {dico.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {dico.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def documented():
    """Functions and methods of the API reference that take something; a test of figures has those that draw."""
    named = re.findall(
        r"autofunction:: ([\w.]+)|autoclass:: ([\w.]+)\n   :members: ([\w, ]+)", (ROOT / "docs/api.md").read_text()
    )
    for function, owner, members in named:
        if function.startswith("dico.viz"):
            continue
        for name in [function] if function else [f"{owner}.{each}" for each in members.split(", ")]:
            parts = name.removeprefix("dico.").split(".")
            found = dico
            for k, part in enumerate(parts):
                if not hasattr(found, part):
                    importlib.import_module(".".join(["dico", *parts[: k + 1]]))
                found = getattr(found, part)
            if callable(found) and len(inspect.signature(found).parameters) > ("." in name and not function):
                yield pytest.param(found, id=name)


@pytest.mark.parametrize("function", list(documented()))
def test_the_api_reference_says_what_goes_in_and_what_comes_out(function):
    said = inspect.getdoc(function)
    assert "Args:" in said
    returns = inspect.signature(function).return_annotation
    assert "Returns:" in said or returns in (None, "None")
