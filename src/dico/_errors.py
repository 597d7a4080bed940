"""What went wrong, told without torch, which need not be there."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, or the host, has none left.

    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"))
    True
    """
    kinds = isinstance(error, MemoryError) or any(each.__name__ == "OutOfMemoryError" for each in type(error).__mro__)
    known = kinds or "can't allocate memory" in str(error)
    return known or (error.__cause__ is not None and is_out_of_memory(error.__cause__))
