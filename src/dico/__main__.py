"""``python -m dico`` is ``dico``."""

import sys

from dico_command import main

sys.exit(main())
