"""DiCo inside BenchMARL: ``model=dico``, ``model=dico_analytical``, the paper's tasks, and what is logged besides.

Importing this package registers the models and the tasks with BenchMARL. From the command line::

    python -m dico.adapters.benchmarl algorithm=ippo task=vmas/navigation model=dico model.desired_snd=0.3 seed=0

From Python, hand ``model_config=DicoConfig(desired_snd=0.3)`` and ``callbacks=[DicoCallback()]`` to BenchMARL's
``Experiment``.
"""

try:
    from dico.adapters.benchmarl.analytical import DicoAnalyticalConfig
    from dico.adapters.benchmarl.callback import DicoCallback
    from dico.adapters.benchmarl.model import Dico, DicoConfig
    from dico.adapters.benchmarl.register import register
    from dico.adapters.benchmarl.tasks import DicoTask
except ModuleNotFoundError as missing:
    package = (missing.name or "").partition(".")[0]
    if package in ("benchmarl", "hydra", "numpy", "tensordict", "torchrl", "vmas", "yaml"):
        raise ImportError(f'dico.adapters.benchmarl needs {package}: pip install "dico-marl[benchmarl]"') from missing
    raise

register()

__all__ = ["Dico", "DicoAnalyticalConfig", "DicoCallback", "DicoConfig", "DicoTask"]
