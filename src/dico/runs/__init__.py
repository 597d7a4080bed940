"""The run folder: its schema, reading it (ours and BenchMARL's), playing and evaluating what was trained.

>>> from dico import load
>>> run = load("runs/navigation")
>>> [member.constraint for member in run.members if member.seed == 0]
['0', '0.3', '1', 'free']
>>> run.metric("snd").shape, run.policy(snd=0.3, seed=0).n_agents
(torch.Size([8, 2]), 2)
"""

from dico.members import Member
from dico.runs.episodes import Episodes, Recording, play, record
from dico.runs.evaluation import evaluate
from dico.runs.loading import load
from dico.runs.run import Run
from dico.runs.schema import Checkpoint, RunError
from dico.runs.summary import Summary, write_summary

__all__ = [
    "Checkpoint", "Episodes", "Member", "Recording", "Run", "RunError", "Summary", "evaluate", "load", "play", "record",
    "write_summary",
]  # fmt: skip
