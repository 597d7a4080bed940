"""Settings from a file: the config.json of a run, which tells all of them, or TOML, which tells some."""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from dico._checks import check_choice
from dico.experiments import preset
from dico.runs.reading import read_json
from dico.schedules import check_known_schedules
from dico.tasks import check_known
from dico.training.config import Config


def settings_of(file: Path, preset_given: str | None, task: str | None, algorithm: str | None) -> Config:
    """The settings that a file makes.

    What the command line says of preset, task and algorithm is taken into account, for other settings follow from it.
    TOML has settings by their names in Python, and may have ``preset``.
    """
    if not file.is_file():
        raise ValueError(f"{file} is no file: --config takes a run's config.json, or TOML")
    if file.suffix == ".json":
        saved = read_json(file)
        if preset_given is not None:
            raise ValueError(f"--preset has no say beside {file}, which tells every setting: leave one of them out")
        told = saved.get("config", saved) if isinstance(saved, dict) else None
        if not isinstance(told, dict):
            raise ValueError(f"{file} holds no settings: --config takes a run's config.json, or TOML")
        try:
            check_known(str(told.get("task", "")))
            return _known(Config.from_json(told))
        except (TypeError, ValueError) as error:
            raise ValueError(f"with the settings of {file}: {error}") from None
    values = _read_toml(file)
    name = preset_given or str(values.pop("preset", "quick"))
    values.pop("preset", None)
    known = [field.name for field in fields(Config)]
    for key in values:
        check_choice(f"setting in {file}", key, known)
    changes = values | ({"algorithm": algorithm} if algorithm else {})
    chosen = task or changes.get("task", "navigation")
    changes.pop("task", None)
    try:
        if task is None:
            check_known(str(chosen))
        return _known(preset(name, chosen, **changes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"with the settings of {file}: {error}") from None


def _known(config: Config) -> Config:
    """Settings whose desired diversities name no function of a stranger's, in whatever form the file had them."""
    check_known_schedules(config.snd)
    return config


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} cannot be used: it is no TOML ({error})") from None
