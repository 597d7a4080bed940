"""``python -m dico.adapters.benchmarl``."""

from dico.adapters.benchmarl.command import command

if __name__ == "__main__":
    command()
