"""Counts the memory of all tensors made within, whoever holds them: a judge of memory plans."""

import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class HeldMemory(TorchDispatchMode):
    """``now`` and ``peak``: bytes of the storages made since, and not yet let go."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.known = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return made

    def _count(self, storage):
        place, size = storage._cdata, storage.nbytes()
        if place in self.known:
            return
        self.known.add(place)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._let_go, place, size)

    def _let_go(self, place, size):
        self.known.discard(place)
        self.now -= size
