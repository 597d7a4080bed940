"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

log = logging.getLogger(__name__)


OTHERWISE = {r"\big(": "(", r"\big)": ")", r"\dots": r"\ldots", r"\textstyle": ""}
"""Commands that docutils does not know, and what says the same."""


def render(translator, node, *, block):
    text = node.astext()
    for command, other in OTHERWISE.items():
        text = text.replace(command, other)
    try:
        translator.body.append(tex2mathml(text, as_block=block))
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
