"""The run folder: its schema, reading it (ours and BenchMARL's), and playing and evaluating what was trained."""

from dico.runs.run import (
    FORMAT,
    Checkpoint,
    Member,
    Run,
    RunError,
    checkpoint_folders,
    has_diverged,
    load,
    plain,
    read_checkpoints,
    read_rows,
    write_json,
)

__all__ = [
    "FORMAT", "Checkpoint", "Member", "Run", "RunError", "checkpoint_folders", "has_diverged", "load", "plain",
    "read_checkpoints", "read_rows", "write_json",
]  # fmt: skip
