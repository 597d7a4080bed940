"""Colours of levels: more diversity is visibly more, on paper and on a dark screen."""

from itertools import pairwise

import numpy as np
import pytest

from dico.viz.colours import FREE, level_colours, rgb

LEVELS = ["0", "0.1", "0.3", "0.4", "0.5", "1", "free"]


def luminance(colour):
    """As WCAG 2.2 defines it."""
    channels = np.array(rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_more_diversity_is_lighter():
    controlled = list(level_colours(LEVELS).values())[:-1]
    lightness = [luminance(colour) for colour in controlled]
    assert lightness == sorted(lightness)
    assert all(later > 1.04 * earlier for earlier, later in pairwise(lightness))


def test_a_level_has_one_colour_in_every_report():
    alone, among = level_colours(["0.5", "free"]), level_colours([*LEVELS, "2"])
    assert alone["0.5"] == among["0.5"]
    nine = level_colours(["0", "0.1", "0.3", "0.4", "0.5", "0.7", "1", "1.5", "2"])
    assert len(set(nine.values())) == 9
    assert len(set(level_colours(["0.3, tau=0.1", "0.3, tau=0.01"]).values())) == 2


@pytest.mark.parametrize("background", ["#ffffff", "#14171c"])
def test_every_colour_stands_out_from_paper_and_screen(background):
    for colour in level_colours(LEVELS).values():
        assert contrast(colour, background) > 1.9


def test_free_is_grey_and_alone():
    colours = level_colours(LEVELS)
    assert colours["free"] == FREE[0]
    assert all(len(set(rgb(grey))) == 1 for grey in FREE)
    assert len(set(colours.values())) == len(LEVELS)
    assert level_colours(["free"]) == {"free": FREE[0]}
    assert level_colours(["0.45"]) == {"0.45": "#cc4778"}
