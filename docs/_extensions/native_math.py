"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


OTHERWISE = {r"\big(": "(", r"\big)": ")", r"\dots": r"\ldots", r"\textstyle": ""}
"""Commands that docutils does not know, and what says the same."""
BAR = re.compile(r"<mo[^>]*>([|‖∥])</mo>")
"""Of norms, which else grow to the height of the line."""


def render(translator, node, *, block):
    text = node.astext()
    for command, other in OTHERWISE.items():
        text = text.replace(command, other)
    try:
        drawn = tex2mathml(text, as_block=block)
        translator.body.append(BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', drawn))
    except MathError as error:
        log.warning("formula %r cannot be drawn: %s", text, error, location=node)
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "native",
        inline_renderers=(lambda self, node: render(self, node, block=False), None),
        block_renderers=(lambda self, node: render(self, node, block=True), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
