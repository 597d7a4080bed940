"""The command line, as BenchMARL users know it: Hydra's, with its errors in one line, and a list of what there is."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarl.algorithms import algorithm_config_registry
from benchmarl.environments import task_config_registry
from hydra import compose, initialize_config_module
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, MissingConfigException, OverrideParseException
from omegaconf import OmegaConf

from dico._checks import check_choice
from dico.adapters.benchmarl.configuration import check_configuration
from dico.adapters.benchmarl.explain import explain_errors
from dico.adapters.benchmarl.main import main

CONF = f"{__package__}.conf"
LISTED = {"algorithm": algorithm_config_registry, "task": task_config_registry}
"""What must be chosen, and from what."""
GROUPS = ("experiment", "model", "model@critic_model", *LISTED)


def command() -> None:
    """Check the words of the command before Hydra makes a folder, and hand over to it."""
    arguments = get_args_parser().parse_args()
    if arguments.help:
        print(help_text())  # noqa: T201
        return
    asks_hydra = arguments.hydra_help or arguments.cfg or arguments.info or arguments.shell_completion
    elsewhere = arguments.config_dir or arguments.config_path
    if not asks_hydra and not elsewhere:
        with explain_errors():
            cfg = compose_configuration(arguments)
            task = cfg.hydra.runtime.choices["task"]
            del cfg.hydra
            check_configuration(cfg, task)
    main()


def compose_configuration(arguments: Namespace) -> Any:
    """The configuration of a command; of a multirun, that of its first job."""
    name = (arguments.config_name or "config").removesuffix(".yaml")
    check_choice("--config-name", name, ("config", *experiment_names()))
    overrides = _parse(arguments.overrides)
    for override in overrides:
        if override.key_or_group in LISTED and not override.is_delete():
            for value in _values(override):
                _check_listed(override.key_or_group, value)
        if override.is_sweep_override() and not arguments.multirun:
            raise ValueError(f"{override.input_line} holds several values: add -m to train one after the other")
    missing = [group for group in LISTED if group not in {override.key_or_group for override in overrides}]
    if name == "config" and missing:
        raise ValueError(
            f"{' and '.join(missing)} must be chosen, such as algorithm=ippo task=dico/navigation, or an experiment of "
            "the paper, such as --config-name navigation; --help lists them"
        )
    with initialize_config_module(CONF, version_base=None):
        try:
            return compose(name, [_first(override) for override in overrides], return_hydra_config=True)
        except MissingConfigException as error:
            group, _, value = str(error.missing_cfg_file).rpartition("/")
            raise ValueError(_not_listed(group, value, error.options or ())) from None
        except ConfigCompositionException:
            chosen = [_first(override) for override in overrides if _group(override) in GROUPS]
            _check_names(overrides, compose(name, chosen))
            raise


def _parse(words: Sequence[str]) -> list[Override]:
    try:
        return OverridesParser.create().parse_overrides(list(words))
    except OverrideParseException as error:
        raise ValueError(
            f"Hydra cannot read {error.override}: write name=value, and signs in quotes, such as "
            "'model.desired_snd=\">=0.3\"'"
        ) from None


def experiment_names() -> list[str]:
    """The paper's experiments, by the names of their files."""
    files = (Path(__file__).parent / "conf").glob("*.yaml")
    return sorted({file.stem for file in files} - {"base", "config"})


def help_text() -> str:
    """What can be chosen."""
    tasks = [sorted(name for name in task_config_registry if name.startswith(part)) for part in ("dico/", "vmas/")]
    others = sorted({name.partition("/")[0] for name in task_config_registry} - {"dico", "vmas"})
    return f"""DiCo in BenchMARL: python -m dico.adapters.benchmarl [--config-name EXPERIMENT] [-m] SETTING=VALUE ...

  python -m dico.adapters.benchmarl algorithm=ippo task=dico/navigation model.desired_snd=0.3 seed=0
  python -m dico.adapters.benchmarl --config-name navigation model.desired_snd=0.3
  python -m dico.adapters.benchmarl -m algorithm=ippo task=dico/navigation model.desired_snd=0,0.3,free seed=0,1,2

{_list("experiments of the paper (--config-name)", experiment_names())}

{_list("algorithm", algorithm_config_registry)}
  (with model=dico or dico_analytical: ippo, mappo, iddpg, maddpg, isac, masac)

{_list("task", tasks[0])}
{fill(", ".join(tasks[1]), 118, initial_indent="  ", subsequent_indent="  ")}
  and BenchMARL's own of {", ".join(others)}

--cfg job shows all settings of a command, --hydra-help the options of Hydra.
"""


def _list(title: str, names: Iterable[str]) -> str:
    return f"{title}:\n" + fill(", ".join(names), 118, initial_indent="  ", subsequent_indent="  ")


def _check_listed(group: str, value: str) -> None:
    if value not in LISTED[group]:
        raise ValueError(_not_listed(group, value, LISTED[group]))


def _not_listed(group: str, value: str, options: Iterable[str]) -> str:
    """There may be too many to tell all: the nearest."""
    near = " or ".join(map(repr, get_close_matches(value, options, n=2)))
    return f"there is no {group}={value}" + (f"; did you mean {near}?" if near else "; --help lists what there is")


def _check_names(overrides: Sequence[Override], cfg: Any) -> None:
    """Refuse a setting that is not there, with the nearest of those beside it."""
    for override in overrides:
        if override.is_add() or override.is_force_add() or _group(override).startswith("hydra"):
            continue
        node: Any = cfg
        above: list[str] = []
        for key in override.key_or_group.split("."):
            if not OmegaConf.is_dict(node):
                break
            check_choice(f"setting of {'.'.join(above)}" if above else "setting", key, map(str, node))
            node = None if OmegaConf.is_missing(node, key) else node[key]
            above.append(key)


def _group(override: Override) -> str:
    return override.key_or_group + (f"@{override.package}" if override.package else "")


def _values(override: Override) -> list[str]:
    if override.is_sweep_override():
        return [str(value) for value in override.sweep_string_iterator()]
    return [str(override.value())]


def _first(override: Override) -> str:
    """An override without its sweep."""
    if not override.is_sweep_override():
        return str(override.input_line)
    return f"{override.get_key_element()}={_values(override)[0]}"
