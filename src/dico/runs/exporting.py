"""Policies of a run as files that act without dico (:mod:`dico.exporting`)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dico._files import plain, write_json
from dico.exporting import ENDINGS, check_onnx, export
from dico.policy import DiCo
from dico.runs.schema import RunError


def export_groups(
    to: Path, groups: Sequence[str], policy_of: Callable[[str], DiCo], about: Mapping[str, Any]
) -> list[Path]:
    """Write the policies of one group into a file, or of all into a folder; what was written.

    A folder gets each group's policies in both formats, and ``policy.json``, which tells whose they are.
    """
    told = {name: plain({**about, "group": name}) for name in groups}
    if to.suffix in ENDINGS:
        if len(groups) > 1:
            raise RunError(f"there are the groups {', '.join(groups)}: choose one of them, or give a folder for all")
        return [export(_finite(policy_of(groups[0]), about), to, about=told[groups[0]])]
    if to.suffix or to.is_file():
        raise RunError(f"policies are exported to a file {' or '.join(ENDINGS)}, or to a folder, got {to}")
    if strange := [name for name in groups if Path(name).name != name]:
        raise RunError(f"a group must have a name that a file can have, got {strange[0]!r}")
    check_onnx()  # this, and the policies, before anything is written
    policies = {name: _finite(policy_of(name), about) for name in groups}
    files = [export(policies[name], to / (name + ending), about=told[name]) for name in groups for ending in ENDINGS]
    write_json(to / "policy.json", told)
    return [*files, to / "policy.json"]


def _finite(policy: DiCo, about: Mapping[str, Any]) -> DiCo:
    """The policy, if its networks have numbers."""
    if not all(bool(weights.isfinite().all()) for weights in policy.parameters()):
        raise RunError(
            f"the member of {about['run']} with snd={about['constraint']} and seed={about['seed']} has diverged, its "
            "networks are not finite: choose another"
        )
    return policy
