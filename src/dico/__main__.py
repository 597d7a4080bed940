"""``python -m dico`` is ``dico``."""

import sys

from dico.cli import main

sys.exit(main())
