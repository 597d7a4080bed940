"""What a CUDA graph asks of a procedure, tried where there is no CUDA."""

from collections.abc import Iterable

from torch import Tensor

from dico.training.staging import Stage


class Rehearsal(Stage):
    """The eager stage, but for what goes before a capture: procedures warm up first, and what they changed is put back.

    A tensor that a procedure writes and reads again, and that it does not name as changed, is left as the warm-ups
    left it; one that it puts in the place of another is not the one that a graph would write.
    """

    WARM_UPS = 3

    def __init__(self, forgotten: Iterable[Tensor] = ()):
        super().__init__("eager", "cpu", "float32")
        self.forget(forgotten)
        self.rehearsed = 0
        """Procedures that have warmed up."""

    def forget(self, tensors: Iterable[Tensor]) -> None:
        """Leave these out of what is put back, as if they had not been named."""
        self.forgotten = {tensor.data_ptr() for tensor in tensors}

    def procedure(self, procedure, changed):
        warm = False

        def run():
            nonlocal warm
            if not warm:
                self._rehearse(procedure, changed)
                warm = True
            return procedure()

        return run

    def _rehearse(self, procedure, changed):
        self.rehearsed += 1
        places = [tensor.data_ptr() for tensor in changed()]
        tensors = [tensor.detach() for tensor in changed() if tensor.data_ptr() not in self.forgotten]
        before = [tensor.clone() for tensor in tensors]
        for _ in range(self.WARM_UPS):
            procedure()
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)
        assert places == [tensor.data_ptr() for tensor in changed()], "a changed tensor was replaced, not written"
