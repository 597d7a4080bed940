"""``python -m dico.adapters.benchmarl``."""

from dico.adapters.benchmarl.main import main

if __name__ == "__main__":
    main()
