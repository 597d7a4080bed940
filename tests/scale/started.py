"""Commands in processes of their own, and what is left of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pieced import SMALL

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORDS = ["--algorithm", "ippo", "--checkpoint-every", "1"]
for name, value in SMALL.items():
    WORDS += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,))]
"""The sweep of ``pieced.small``, as options."""


def environment():
    """In which workers find the faulty task, which a resume may run, and train on one core each."""
    paths = [str(ROOT / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    known = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "DICO_TRUST": "faulty"}
    return {**os.environ, **known, "OMP_NUM_THREADS": "1"}


def dico(*words, **options):
    """`dico` with these words, started."""
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from dico.commands import main; "
    return subprocess.Popen(
        [sys.executable, "-c", f"{start}raise SystemExit(main())", *map(str, words)], env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )  # fmt: skip


def finish(process, seconds=150):
    """Its exit status and all it said, in a line."""
    out, _ = process.communicate(timeout=seconds)
    return process.returncode, " ".join(out.split())


def train_faulty(faults, folder, *words):
    return dico(
        "train", "faulty:Faulty", "--task-options", f"faults={faults}", *WORDS, "--run", folder, *words, cwd=HERE
    )


def wait_until(is_so, seconds=90):
    """Until something is so; an error if that takes too long."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.1)


def has_rows(folder):
    """Whether two pieces have trained for an iteration and saved it."""
    return len(list(folder.glob("pieces/*/checkpoint-*"))) >= 2


def workers_of(folder):
    """Processes whose command line or open files are about a folder's pieces."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            opened = [str(path.readlink()) for path in (process / "fd").iterdir()]
        except OSError:
            continue
        about = f"{folder}/pieces"
        if int(process.name) != os.getpid() and (
            ("dico.scale.worker" in words and str(folder) in words) or any(path.startswith(about) for path in opened)
        ):
            found.append(int(process.name))
    return found


def kill_group(process):
    """End a process that was started in a session of its own, and all in it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
