"""The same functions at three speeds: as they are, compiled, and replayed as CUDA graphs."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor

from dico._checks import check_choice

STAGES = ("eager", "compiled", "graphs")
Function = TypeVar("Function", bound=Callable[..., Any])


class Stage:
    """How far to go: ``eager``; ``compiled``, which fuses operations; ``graphs``, which replays them without Python.

    >>> count = torch.zeros(())
    >>> advance = Stage("eager").procedure(lambda: count.add_(1), lambda: [count])
    >>> advance(); advance(); count
    tensor(2.)
    """

    def __init__(self, name: str, device: torch.device | str = "cpu"):
        self.name = check_choice("stage", name, STAGES)
        self.device = torch.device(device)
        if name == "graphs" and self.device.type != "cuda":
            raise ValueError(f"stage must be eager or compiled on {self.device.type}, got 'graphs': it needs CUDA")

    def function(self, function: Function) -> Function:
        """A pure function of tensors, compiled if so wished."""
        return function if self.name == "eager" else torch.compile(function, dynamic=False)  # pyright: ignore

    def procedure(self, procedure: Callable[[], Any], changed: Callable[[], Iterable[Tensor]]) -> Callable[[], Any]:
        """Something that works in place on tensors that stay; ``changed`` are those it writes and reads again."""
        return Captured(procedure, changed) if self.name == "graphs" else procedure


class Captured:
    """A procedure that becomes a CUDA graph when first called.

    Warming up, which compiles and chooses kernels, runs it for real; what it changed is put back before it counts.
    """

    WARM_UPS = 3

    def __init__(self, procedure: Callable[[], Any], changed: Callable[[], Iterable[Tensor]]):
        self.procedure, self.changed = procedure, changed
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self.graph is None:
            self.graph = self._capture()
        self.graph.replay()

    def _capture(self) -> torch.cuda.CUDAGraph:
        tensors = list(self.changed())
        before = [tensor.detach().clone() for tensor in tensors]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(self.WARM_UPS):
                self.procedure()
        torch.cuda.current_stream().wait_stream(aside)
        with torch.no_grad():
            for tensor, value in zip(tensors, before, strict=True):
                tensor.copy_(value)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.procedure()
        return graph
