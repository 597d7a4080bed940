"""How the site is built: `make docs` writes it into build/site."""

import sys
from pathlib import Path

import dico

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "dico"
author = "The dico developers"
copyright = author
release = version = dico.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "gallery",
    "generated_pages",
    "native_math",
    "repository_links",
]
exclude_patterns = ["_extensions", "results/index.html"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_render_markdown_format = "myst"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
smartquotes = False  # two dashes begin an option
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "dico"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_math_renderer = "native"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#5b2a86", "color-brand-content": "#2a5db0"},
    "dark_css_variables": {"color-brand-primary": "#c9a6f5", "color-brand-content": "#8ab4f8"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
