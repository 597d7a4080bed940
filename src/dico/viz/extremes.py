"""Where agents stand in the action box when they are as different as they can be (app:max_snd)."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dico.bounds import MaxSND
from dico.viz.colours import mix
from dico.viz.style import FAINT, INK, new_figure, use_style

FEW = 12
"""Up to so many agents are named; of more, how many stand at each vertex."""


def plot_extremal_actions(axes: Axes, best: MaxSND, low: Sequence[float], high: Sequence[float]) -> Axes:
    """The action box of two components, and at its vertices the agents whose SND is the largest; lines join pairs.

    Args:
        axes: to draw into.
        best: what ``dico.max_snd`` found.
        low: the action box, the least of each component.
        high: the greatest of each.

    Returns:
        The axes.
    """
    if len(low) != 2:
        raise ValueError(f"the figure is of actions with 2 components, got {len(low)}")
    width, height = high[0] - low[0], high[1] - low[1]
    axes.add_patch(Rectangle((low[0], low[1]), width, height, facecolor="none", edgecolor=INK, linewidth=1.2))
    standing: dict[tuple[float, float], list[int]] = {}
    for agent, (x, y) in enumerate(best.actions.tolist()):
        standing.setdefault((x, y), []).append(agent)
    places = list(standing)
    for k, a in enumerate(places):
        for b in places[k + 1 :]:
            axes.plot([a[0], b[0]], [a[1], b[1]], color=FAINT, linewidth=1, zorder=1.5)
    n_agents = len(best.actions)
    for (x, y), agents in standing.items():
        axes.plot(x, y, marker="o", markersize=7 + 3 * (len(agents) > 1), color=mix(0.5), gid="vertex", zorder=3)
        above = y > low[1]
        axes.annotate(_named(agents, n_agents), (x, y), (0, 9 if above else -9), textcoords="offset points",
                      ha="center", va="bottom" if above else "top")  # fmt: skip
    axes.set_xlim(low[0] - 0.25 * width, high[0] + 0.25 * width)
    axes.set_ylim(low[1] - 0.25 * height, high[1] + 0.25 * height)
    axes.set_aspect("equal")
    axes.set_xlabel("first action component")
    axes.set_ylabel("second action component")
    return axes


def draw_bound(named: Mapping[str, MaxSND], low: Sequence[float], high: Sequence[float]) -> Figure:
    """A panel for each group of agents, by name, with the largest SND above it.

    Args:
        named: what ``dico.max_snd`` found for each group.
        low: the action box, the least of each component.
        high: the greatest of each.

    Returns:
        The figure, with a caption.
    """
    if not named:
        raise ValueError("the figure is of two agents or more, got a lone one")
    with use_style():
        figure = new_figure(max(3.2 * len(named), 3.6), 3.4)
        for axes, (name, best) in zip(figure.subplots(1, len(named), squeeze=False).flat, named.items(), strict=True):
            plot_extremal_actions(axes, best, low, high)
            sign = "=" if best.exact else "≥"
            axes.set_title(f"{name}: maximum SND {sign} {best.value:.4g}")
    return figure


def _named(agents: Sequence[int], n_agents: int) -> str:
    """Who stands at a vertex.

    >>> _named([0], 4), _named([1, 2], 4), _named(list(range(20)), 80)
    ('agent 0', 'agents 1, 2', '20 agents')
    """
    if n_agents > FEW:
        return f"{len(agents)} agents" if len(agents) > 1 else "1 agent"
    return f"agent{'s' if len(agents) > 1 else ''} {', '.join(map(str, agents))}"
