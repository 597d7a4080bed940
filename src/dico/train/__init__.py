"""Training a whole population at once: every desired diversity and seed in one batch.

The package can be called: ``dico.train(config)`` is :func:`dico.train.session.train`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """See :func:`dico.train.session.train`."""
        from dico.train.session import train

        return train(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
