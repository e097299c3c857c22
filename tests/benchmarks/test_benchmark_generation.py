"""benchmarks.generation: its rows, and, where transformers is installed, that it runs."""

import pytest

from benchmarks import generation


def found(seconds, ids, **more):
    return {
        "seconds": seconds,
        "processor": [2 * s for s in seconds],
        "ids": ids,
        "told": [],
    } | more


def test_a_row_has_the_latter_half_and_says_whether_the_tokens_are_the_same():
    seconds = [9.0, 1.0, 1.0, 0.5, 0.25, 0.5]
    row = generation._row([found(seconds, [[1]], programs=2, guard=99.6)], [[1]], 10)
    assert row == ["20", "10", "9.00 (18.00)", "2", "100", "yes", ""]
    assert generation._row([found(seconds, [[2]])], [[1]], 10)[5] == "no"


def test_what_fails_says_why():
    row = generation._row([{"error": "no transformers"}], [], 10)
    assert row[0] == "no transformers"
    assert len(row) == 7


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["eager", "growing", "static"])
def test_each_way_gives_the_tokens_of_eager_calls(way):
    pytest.importorskip("transformers")
    words = ["--layers=1", "--width=12", "--tokens=4"]
    eager, other = (generation.in_process("torchlike", w, words) for w in ("eager", way))
    assert other["ids"] == eager["ids"]
    assert other.get("programs", 0) == {"eager": 0, "growing": 1, "static": 2}[way]
