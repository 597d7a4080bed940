"""``dico completion``."""

from dataclasses import dataclass
from importlib import import_module

from rich.console import Console
from tyro.conf import Positional

from dico._checks import check_choice
from dico.commands import COMMANDS
from dico.commands._parsing import flags_of
from dico.tasks import TASKS

SHELLS = ("bash", "zsh")
TASKED = ("train", "tune")
"""Commands whose first word is a task."""
SCRIPT = """\
_dico() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _dico dico
"""
"""For bash, and for zsh by its bashcompinit; where nothing fits, the shell completes files."""

ZSH = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
"""
"""bashcompinit stands on compinit, which a bare zsh has not called."""


@dataclass(frozen=True)
class Options:
    """What it takes."""

    shell: Positional[str] = "bash"
    """bash or zsh."""


def run(options: Options, console: Console) -> int:
    """Print the script."""
    check_choice("shell", options.shell, SHELLS)
    before = {"bash": "", "zsh": ZSH}
    console.print(before[options.shell] + script(), markup=False, highlight=False, soft_wrap=True, end="")
    return 0


def script() -> str:
    """What completes the names of commands, of their options, and of tasks."""
    cases = []
    for name in COMMANDS:
        flags = sorted(flags_of(import_module(f"dico.commands.{name}").Options))
        words = [*flags, "--help", *(TASKS if name in TASKED else ())]
        cases.append(f'      {name}) words="{" ".join(words)}" ;;')
    return SCRIPT.format(commands=" ".join(COMMANDS), cases="\n".join(cases))
