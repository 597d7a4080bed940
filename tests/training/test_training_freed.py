"""Freed memory stays with a process that trains on a CPU, unless its user has decided otherwise."""

import os
import subprocess
import sys

import pytest

FREED = """
import resource, sys, torch
from dico.training.staging import Stage
if "stage" in sys.argv:
    with Stage("eager", "cpu").entered():
        pass
def update():
    parts = [torch.ones(2**20) for _ in range(40)]
for _ in range(5):
    update()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    update()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(*arguments: str, **environment: str) -> int:
    """Pages that a process was given anew by the system, in work that frees what it takes."""
    passed_on = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    kept = {"OMP_NUM_THREADS": "1", **passed_on, **environment}
    done = subprocess.run(
        [sys.executable, "-c", FREED, *arguments], env=kept, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="it is GNU's C library that gives memory back")
@pytest.mark.parametrize("other", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_memory_that_was_freed_is_there_again_unless_the_user_has_decided_otherwise(other):
    given_back = faults("stage", MALLOC_TRIM_THRESHOLD_="131072")
    assert given_back > 1_000
    unconcerned = {"MALLOC_ARENA_MAX": "2", "GLIBC_TUNABLES": "glibc.rtld.nns=4"}[other]
    assert faults("stage", **{other: unconcerned}) < given_back / 10
