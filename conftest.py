"""Every test runs with the shapes in the signatures checked."""

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

check_types = beartype(conf=BeartypeConf(is_pep484_tower=True))
install_import_hook("dico", "conftest.check_types")
