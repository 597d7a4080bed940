"""What the site's pages tell of the code when they are built."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from dico.commands import COMMANDS
from dico.commands._parsing import flags_of
from dico.experiments import EXPERIMENTS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    yield import_module("generated_pages")
    del sys.modules["generated_pages"]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_commands_tells_each_option_once(pages, name):
    """In a table of the command's own, or on the page that it links to; and none that the command does not take."""
    text = "\n\n".join(pages.command(name))
    told = re.findall(r"^\| `(--[\w-]+)`", text, re.MULTILINE)
    for kind, where in pages.SHARED.items():
        told += flags_of(kind) if where in text else ()
    assert sorted(told) == sorted(flags_of(import_module(f"dico.commands.{name}").Options))


def test_what_commands_share_is_told_where_they_link_to(pages):
    for kind, where in pages.SHARED.items():
        page = (DOCS / re.search(r"\(([\w.]+)", where)[1]).read_text()
        assert "{presets}" in page if kind.__name__ == "Config" else f"{kind.__module__}:{kind.__name__}" in page


def test_a_command_is_asked_of_something(pages):
    assert "- `TASK`: A task's name" in next(pages.command("train"))
    experiments = next(pages.command("reproduce"))
    assert set(EXPERIMENTS) <= set(re.findall(r"[\w-]+", experiments))


def test_pages_of_the_code_are_read_again_in_every_build(pages):
    names = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    env = SimpleNamespace(found_docs=names, doc2path=lambda name: DOCS / f"{name}.md")
    again = pages.read_again(None, env, set(), set(), set())
    assert {*again} == {"commands", "configuration", "method", "scale"}
