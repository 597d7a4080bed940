"""A population on several devices or machines: cut into pieces, each trained as a run of its own, joined in the end.

The run folder is the only truth. ``RUN/pieces/plan.json`` says which members a piece has, ``RUN/pieces/NNN`` is its run
folder; whatever trains it, a process, a Ray task or a Slurm job, reads and writes there and says nothing to the others.
"""
