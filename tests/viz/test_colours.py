"""Colours of levels: more diversity is visibly more, on paper and on a dark screen."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from dico.viz.colours import FREE, level_colours, level_patterns, rgb, run_colour

NO_RED = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
NO_GREEN = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
"""What protanopes and deuteranopes see of red, green and blue light (Machado, Oliveira and Fernandes)."""
CONES = np.array([[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]])
OPPONENTS = np.array([[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]])
LEVELS = ["0", "0.1", "0.3", "0.4", "0.5", "1", "free"]


def luminance(colour):
    """As WCAG 2.2 defines it."""
    channels = np.array(rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def oklab(colour, eye=((1, 0, 0), (0, 1, 0), (0, 0, 1))):
    """Lightness and two opponent hues, even to the eye (Ottosson's OKLab), in hundredths."""
    channels = np.array(rgb(colour)) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(CONES @ np.clip(np.array(eye) @ linear, 0, 1))
    return 100 * (OPPONENTS @ cones)


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


def test_a_value_of_another_field_has_one_colour_in_every_report():
    taus = ("0.0001", "0.001", "0.01", "0.1")
    among = level_colours([f"tau={tau}" for tau in taus])
    assert (
        level_colours(["tau=0.01"])["tau=0.01"]
        == among["tau=0.01"]
        == level_colours(["tau=0.01", "tau=0.5"])["tau=0.01"]
    )
    colours = [oklab(colour) for colour in among.values()]
    assert min(np.linalg.norm(one - other) for one, other in pairwise(colours)) > 10
    assert len(set(level_colours(["gamma=0.9", "gamma=0.99", "gamma=0.999"]).values())) == 3  # too near: by rank


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
    assert level_colours(["0.8"]) == {"0.8": "#cb3a78"}


def test_neighbouring_levels_differ_to_the_eye():
    """Two colours 4 apart in OKLab (of 100 from black to white) are told apart side by side."""
    nine = ["0", "0.1", "0.3", "0.5", "0.7", "1", "1.5", "2", "free"]
    colours = [oklab(colour) for colour in level_colours(nine).values()]
    assert min(np.linalg.norm(one - other) for one, other in pairwise(colours)) > 4
    patterns = list(level_patterns(nine).values())
    assert all(one != other for one, other in pairwise(patterns))
    assert set(level_patterns(nine[:3]).values()) == {()}
    far, near = (level_colours(["0", *pair]) for pair in (("6", "40"), ("4", "5")))
    assert np.linalg.norm(oklab(far["6"]) - oklab(far["40"])) > 4 > np.linalg.norm(oklab(near["4"]) - oklab(near["5"]))
    assert level_patterns(["0", "4", "5"])["4"] != level_patterns(["0", "4", "5"])["5"]


def test_eleven_runs_are_told_apart_by_any_eye_and_on_paper():
    colours = [run_colour(number) for number in range(11)]
    assert min(contrast(colour, "#ffffff") for colour in colours) > 2.2
    for eye in (np.eye(3), NO_RED, NO_GREEN):
        seen = [oklab(colour, eye) for colour in colours]
        assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 7
