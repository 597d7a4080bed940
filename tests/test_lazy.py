"""Public names are imported when they are first used, and whatever was imported stays."""

import subprocess
import sys

import pytest

import dico
from dico import viz


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_package_imports_nothing():
    assert python("import sys, dico; print('torch' in sys.modules)") == ["False"]


def test_names_and_modules_are_there_after_the_import_alone():
    names, modules = ("metrics", "DiCo", "load", "train", "resume"), ("analysis", "viz", "tasks", "runs")
    code = f"import dico; print(*(getattr(dico, name).__name__ for name in {(*names, *modules)}))"
    assert python(code) == ["dico.metrics", *names[1:], *(f"dico.{name}" for name in modules)]


def test_what_there_is_can_be_listed():
    assert {*dico.__all__, "analysis", "load", "resume", "train", "viz"} <= set(dir(dico))
    assert set(viz.__all__) <= set(dir(viz))


@pytest.mark.parametrize("module", [dico, viz])
def test_what_there_is_not_is_told_as_usual(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nothing'"):
        _ = module.nothing
    assert not hasattr(module, "_nothing")


def test_adapters_name_the_extra_that_is_missing():
    """In a process where none of the libraries can be imported."""
    code = """
import importlib, sys
sys.modules.update(dict.fromkeys(["benchmarl", "gymnasium", "hydra", "numpy", "pettingzoo", "tensordict", "torchrl"]))
for name in ("torchrl", "benchmarl", "pettingzoo"):
    try:
        importlib.import_module(f"dico.adapters.{name}")
    except ImportError as error:
        print(str(error).rpartition(" ")[2])
"""
    assert python(code) == ['"dico-marl[torchrl]"', '"dico-marl[benchmarl]"', '"dico-marl[pettingzoo]"']
