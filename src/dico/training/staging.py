"""The same functions at three speeds: as they are, compiled, and replayed as CUDA graphs."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from dico._checks import check_choice
from dico.runs import RunError
from dico.training.freed import keep_freed_memory
from dico.training.products import quick_float32

STAGES = ("eager", "compiled", "graphs")
PRECISIONS = ("tf32", "bf16", "float32")
Function = TypeVar("Function", bound=Callable[..., Any])


class Stage:
    """Where and how fast the functions of a training run.

    ``name`` says how far to go: ``eager``; ``compiled``, which fuses operations; ``graphs``, which replays them
    without Python too; ``auto`` is ``graphs`` on a CUDA device and ``eager`` elsewhere. ``precision`` is of matrix
    products: ``tf32`` (on CUDA devices) and ``bf16`` round their inputs, ``float32`` does not.

    >>> count = torch.zeros(())
    >>> advance = Stage("eager").procedure(lambda: count.add_(1), lambda: [count])
    >>> for _ in range(2):
    ...     _ = advance()
    >>> count
    tensor(2.)
    """

    def __init__(self, name: str = "auto", device: torch.device | str = "cpu", precision: str = "tf32"):
        self.precision = check_choice("precision", precision, PRECISIONS)
        self.device = torch.device(device)
        self.name = stage_on(self.device, name)
        if self.device.type == "cuda" and self.compiles:
            start_compilers()

    @property
    def compiles(self) -> bool:
        """Whether the first iteration takes its time."""
        return self.name != "eager"

    @property
    def eager(self) -> "Stage":
        """The same place and precision, for what cannot be compiled."""
        return Stage("eager", self.device, self.precision)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Within, a CUDA device is the current one, and rounds matrix products to TF32 or not, as the precision says.

        Streams and graphs are those of the current device, whatever device their tensors are on. On a CPU,
        products may be made by oneDNN, and, from then on, freed memory is kept.
        """
        if self.device.type != "cuda":
            keep_freed_memory()
            with quick_float32():
                yield
            return
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = self.precision != "float32"
        try:
            with torch.cuda.device(self.device):
                yield
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    def function(self, function: Function) -> Function:
        """A pure function of tensors, with the precision, and compiled if so wished."""
        staged = self._round(function) if self.precision == "bf16" else function
        return torch.compile(staged, dynamic=False) if self.compiles else staged  # pyright: ignore

    def procedure(self, procedure: Callable[[], Any], changed: Callable[[], Iterable[Tensor]]) -> Callable[[], Any]:
        """Something that works in place on tensors that stay; ``changed`` are those it writes and reads again."""
        return Captured(procedure, changed) if self.name == "graphs" else procedure

    def branch(self) -> "Branch":
        """A place for work beside what the caller goes on with, inside a captured procedure."""
        return Branch(torch.cuda.Stream(self.device) if self.name == "graphs" else None)

    def _round(self, function: Function) -> Function:
        @wraps(function)
        def rounded(*arguments: Any, **options: Any) -> Any:
            with torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False):
                return function(*arguments, **options)

        return rounded  # pyright: ignore


def stage_on(device: torch.device, name: str) -> str:
    """The stage that a name means on a device, if it can be had there.

    >>> stage_on(torch.device("cpu"), "auto")
    'eager'
    """
    check_choice("stage", name, ("auto", *STAGES))
    on_cuda = device.type == "cuda"
    if name == "graphs" and not on_cuda:
        raise ValueError(f"stage must be auto, eager or compiled on {device.type}, got 'graphs': it needs CUDA")
    return ("graphs" if on_cuda else "eager") if name == "auto" else name


def start_compilers() -> None:
    """Call up the processes that PyTorch compiles kernels in: until they are there, it compiles one at a time."""
    with suppress(ImportError, AttributeError, OSError):  # a private interface, and a matter of seconds only
        from torch._inductor.async_compile import AsyncCompile

        AsyncCompile.use_process_pool()


@contextmanager
def working_compiler() -> Iterator[None]:
    """Say what to do if PyTorch's compiler fails, which depends on its release and on the device."""
    try:
        yield
    except RuntimeError as error:
        inner = getattr(error, "inner_exception", None)  # of what PyTorch raises where its compiler fails
        if inner is None:
            raise
        if isinstance(inner, torch.OutOfMemoryError):
            raise inner from error
        reason = f"{type(inner).__name__}: {inner}".strip().partition("\n")[0]
        raise RunError(
            f"the compiler of PyTorch {torch.__version__} failed ({reason}): start a new run with --stage eager, or "
            "with another release of PyTorch"
        ) from error


@contextmanager
def first_error() -> Iterator[None]:
    """Raise what went wrong first: a capture that ends early, with work on a branch, fails once more for that."""
    try:
        yield
    except RuntimeError as error:
        first: BaseException = error
        while first.__context__ is not None and first.__cause__ is None:
            first = first.__context__
        raise first from None


class Branch:
    """Work that a CUDA graph does beside other work; at other stages, without a stream, in its turn.

    What is done ``with`` it begins when all that stands before it is done, and after what was done with it earlier;
    what stands behind it does not wait, until :meth:`join`. The two must not write what the other reads, and tensors
    that pass between them must be held on to until they are joined: memory that one frees, it may use again at once.

    >>> total, branch = torch.zeros(()), Stage("eager").branch()
    >>> with branch:
    ...     part = torch.ones(())
    >>> branch.join()
    >>> total + part
    tensor(1.)
    """

    def __init__(self, stream: torch.cuda.Stream | None):
        self.stream = stream
        self.inside: list[Any] = []

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.wait_stream(torch.cuda.current_stream())
            self.inside.append(torch.cuda.stream(self.stream))
            self.inside[-1].__enter__()

    def __exit__(self, *error: object) -> None:
        if self.stream is not None:
            self.inside.pop().__exit__(*error)

    def join(self) -> None:
        """Go on when all that was done with it is done."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)


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
        with first_error(), torch.cuda.graph(graph):
            self.procedure()
        return graph
