"""Tests run with the shapes in the signatures checked; those marked `unchecked` run apart, as users run the code."""

import os

import pytest
from beartype import BeartypeConf, beartype
from hypothesis import settings
from jaxtyping import install_import_hook

os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # as the make targets do; before torch is imported
APART = "runs without shape checks: pytest --unchecked -m unchecked"
ONLY_SHOWN = "all tests skipped by +SKIP option"  # examples in docstrings that need a run folder
check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))
settings.register_profile("dico", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dico")


def pytest_addoption(parser):
    parser.addoption("--unchecked", action="store_true", help="check no shapes: for the tests marked `unchecked`")


def pytest_configure(config):
    if not config.getoption("unchecked"):
        install_import_hook("dico", "conftest.check_types")


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
        if reason not in (APART, ONLY_SHOWN):
            terminalreporter.write_line(f"skipped {skipped.count(reason)} tests: {reason}")
