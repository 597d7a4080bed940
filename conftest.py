"""Tests run with the shapes in the signatures checked; those marked `compiled` run apart, without (`--unchecked`)."""

import pytest
from beartype import BeartypeConf, beartype
from hypothesis import settings
from jaxtyping import install_import_hook

check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))
settings.register_profile("dico", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dico")


def pytest_addoption(parser):
    parser.addoption("--unchecked", action="store_true", help="run the `compiled` tests, with no shape checks")


def pytest_configure(config):
    if not config.getoption("unchecked"):
        install_import_hook("dico", "conftest.check_types")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("unchecked"):
        skip = pytest.mark.skip(reason="the compiler cannot trace shape checks: run pytest --unchecked -m compiled")
        for item in items:
            if "compiled" in item.keywords:
                item.add_marker(skip)
