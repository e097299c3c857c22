"""Curves as SVG: where ticks stand, and what is drawn."""

import pytest

from torchlike.porting.charts import Axis, figure, ticks


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (0.3, 12.7, False, [2, 4, 6, 8, 10, 12]),
        (1, 20, False, [5, 10, 15, 20]),
        (-1, 1, False, [-1, -0.5, 0, 0.5, 1]),
        (3, 3, False, [3]),
        (2, 3000, True, [10, 100, 1000]),
        (3, 40, True, [3, 10, 30]),
        (1.1, 1.9, True, [1.2, 1.4, 1.6, 1.8]),
        (1e-3, 1e9, True, [1e-3, 0.1, 10, 1e3, 1e5, 1e7, 1e9]),
    ],
)
def test_ticks_are_round(low, high, log, expected):
    assert ticks(low, high, log=log) == pytest.approx(expected)


def test_a_figure_names_its_axes_and_marks_medians():
    drawn = figure(
        "times",
        [[(1, 2.0), (2, float("nan")), (3, 40.0)], []],
        Axis("step"),
        Axis("milliseconds", log=True),
        medians=[10.0, None],
    )
    for text in (">step</text>", ">milliseconds</text>", ">10</text>", 'class="median"'):
        assert text in drawn
    assert drawn.count("polyline") == 2
    assert drawn.count('class="median"') == 1
    assert figure("", [[(1, -1.0)]], Axis("x"), Axis("y", log=True)) == ""
