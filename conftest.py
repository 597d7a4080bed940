"""Tests run with the shapes in the signatures checked; those marked `unchecked` run apart, as users run the code."""

import os
import re

import pytest
from beartype import BeartypeConf, beartype
from hypothesis import settings
from jaxtyping import install_import_hook

os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as the make targets do; before torch is imported
APART = "runs without shape checks: pytest --unchecked -m unchecked"
check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))
settings.register_profile("dico", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dico")


def pytest_addoption(parser):
    parser.addoption("--unchecked", action="store_true", help="check no shapes: for the tests marked `unchecked`")


def pytest_configure(config):
    if not config.getoption("unchecked"):
        install_import_hook("dico", "conftest.check_types")


@pytest.fixture(scope="session")
def folder_of_examples(tmp_path_factory):
    """Where the examples in docstrings run: with a run that was trained a little."""
    from dico.training.config import Config
    from dico.training.session import train

    folder = tmp_path_factory.mktemp("examples")
    small = {"frames": 80, "envs": 4, "frames_per_batch": 40, "epochs": 1, "minibatch": 40, "hidden": (8,)}
    settings = Config(**small, seeds=2, task_options=("horizon=10",))
    train(settings, folder / "runs" / "navigation", device="cpu")
    return folder


@pytest.fixture(autouse=True)
def _run_of_examples(request, monkeypatch):
    """The name ``run`` in the examples that open one."""
    if isinstance(request.node, pytest.DoctestItem) and "run" in _names(request.node):
        from dico.runs import load

        monkeypatch.chdir(request.getfixturevalue("folder_of_examples"))
        request.getfixturevalue("doctest_namespace")["run"] = load("runs/navigation")


def _names(item):
    """The words of an example."""
    return {word for example in item.dtest.examples for word in re.findall(r"\w+", example.source)}


def pytest_collection_modifyitems(config, items):
    if not config.getoption("unchecked"):
        skip = pytest.mark.skip(reason=APART)
        for item in items:
            if "unchecked" in item.keywords:
                item.add_marker(skip)


def pytest_terminal_summary(terminalreporter):
    """Says what was skipped for want of something on this machine."""
    skipped = [report.longrepr[-1].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())]
    for reason in dict.fromkeys(skipped):
        if reason != APART:
            terminalreporter.write_line(f"skipped {skipped.count(reason)} tests: {reason}")
