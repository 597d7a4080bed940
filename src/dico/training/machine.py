"""What a training runs on, for its run folder."""

import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

import dico


def machine(device: torch.device) -> dict[str, Any]:
    """What a training runs on."""
    return {
        "dico": dico.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "threads": torch.get_num_threads(),
        "system": platform.system(),
    }


def _commit() -> str | None:
    """The commit of dico's own checkout, if it runs from one."""
    here = Path(__file__).parent
    try:
        answer = subprocess.run(
            ["git", "ls-files", "--error-unmatch", Path(__file__).name], cwd=here, capture_output=True, check=False
        )
        if answer.returncode:
            return None
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
        return head.stdout.strip() or None
    except OSError:
        return None
