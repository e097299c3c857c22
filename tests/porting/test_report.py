import io
import json
import math
import re

import pytest
from rich.console import Console

from torchlike.porting import page, plot, report
from torchlike.porting.report import RecordedRun, agreement


def make_run(label="eager", **changes):
    entries = {
        "label": label,
        "framework": "torchlike",
        "version": "1.2",
        "device": "cpu",
        "first_step": 0.5,
        "steps": [0.010, 0.012, 0.200],
        "losses": [3.0, 2.0, 1.0],
        "seconds": 1.0,
        "last_line": "accuracy 98% [best]",
    }
    return RecordedRun(**{**entries, **changes})


def render(*runs):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report.table("digits", list(runs)))
    return console.export_text()


def test_steady_step_is_the_median_after_the_first():
    assert make_run().steady_step == 0.012
    assert make_run(steps=[]).steady_step is None


@pytest.mark.parametrize(
    ("a", "b", "first", "all_"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.2, 0.2),
        ([2.5, 1000.0], [2.0, 1000.0], 0.2, 0.2),
        ([65536.0], [65537.0], 1 / 65537, 1 / 65537),
        ([-4.0], [-3.0], 0.25, 0.25),
        ([1.0] * 60, [1.0] * 50 + [2.0] * 10, 0.0, 0.5),
        ([1.0] * 60, [1.0] * 49 + [4.0] + [2.0] * 10, 0.75, 0.75),
        # Below a thousandth of the largest, rounding is all there is.
        ([1.0, 1e-9], [1.0, 2e-9], 1e-6, 1e-6),
        ([0.0], [0.0], 0.0, 0.0),
        ([0.0], [1.0], 1.0, 1.0),
        ([math.nan], [math.nan], 0.0, 0.0),
        ([math.nan], [1.0], math.inf, math.inf),
        ([math.inf], [math.inf], 0.0, 0.0),
        ([math.inf], [1.0], math.inf, math.inf),
        ([], [], 0.0, 0.0),
    ],
)
def test_agreement_is_the_largest_difference_relative_to_the_loss(a, b, first, all_):
    agree = agreement(a, b)
    assert (agree.first, agree.all) == (pytest.approx(first), pytest.approx(all_))


def test_agreement_in_words():
    assert str(agreement([1.0], [1.25])) == "2.0e-01 all 1"
    assert str(agreement([0.0] * 60, [0.0] * 60)) == "0.0e+00 first 50\n0.0e+00 all 60"
    assert str(agreement([1.0, 2.0], [1.0])) == "0.0e+00 all 1\n2 and 1 losses"
    assert str(agreement([1.0], [])) == "no losses to compare\n1 and 0 losses"


def test_table_has_times_ratio_and_agreement_():
    compiled = make_run(
        "step compiled", first_step=2.5, steps=[0.003, 0.003], losses=[3.0, 2.0, 1.0 + 2**-10]
    )
    text = render(make_run(), compiled)
    eager_row = next(line for line in text.splitlines() if line.startswith("│ eager"))
    compiled_row = next(line for line in text.splitlines() if line.startswith("│ step compiled"))
    assert [cell.strip() for cell in eager_row.split("│")[1:7]] == [
        "eager",
        "500 ms",
        "12 ms ±17%",
        "1.00",
        "1 s",
        "",
    ]
    assert [cell.strip() for cell in compiled_row.split("│")[1:7]] == [
        "step compiled",
        "2.5 s",
        "3 ms ±0%",
        "0.25",
        "1 s",
        "9.8e-04 all 3",
    ]


def test_table_and_notes_of_runs_without_steps():
    run = make_run(first_step=None, steps=[], losses=[])
    text = render(run, make_run("compiled", first_step=None, steps=[], losses=[]))
    assert "no losses to compare" in text
    assert report.notes([run]) == [
        "eager: torchlike 1.2 on cpu; last line: accuracy 98% [best]",
        "eager: neither optimizer.step() nor backward() ran: no step to time.",
    ]


def test_notes_say_what_autocast_does_to_programs():
    work = {"program": "step", "flops": {"f32": 8.0}, "bytes": 4.0, "peak": {}}
    plain = make_run("compiled", work=work)
    lowered = make_run("compiled", work=work, autocast=["bfloat16"])
    said = [line for line in report.notes([make_run(), lowered]) if "autocast" in line]
    assert len(said) == 1
    assert "keeps more bits than bfloat16 has" in said[0]
    assert not any("autocast" in line for line in report.notes([make_run(), plain]))


def test_notes_name_what_was_left_eager():
    run = make_run("compiled", fell_back={"Net": "needs a value"}, last_line="")
    assert report.notes([make_run(last_line=""), run]) == [
        "eager: torchlike 1.2 on cpu",
        "compiled: torchlike 1.2 on cpu",
        "compiled: Net was left eager. needs a value",
    ]


@pytest.mark.parametrize(
    ("entries", "note"),
    [
        ({"marked": ["Net"]}, "compiled: what the script marks, Net."),
        (
            {"marked": ["f", "step"], "whole_steps": ["step"]},
            "compiled: step: forward, backward and update are one program.",
        ),
        ({"marked": ["f"], "fell_back": {"f": "why"}}, "compiled: f was left eager. why"),
        (
            {"programs": {"asked": 5, "found": 2}},
            "Programs that the compile cache had (warm), of those compiled: compiled: 2 of 5. "
            "An empty TORCHLIKE_CACHE_DIR= turns it off (cold).",
        ),
        (
            {"loaded": 0.25},
            "compiled: DataLoaders took 250 ms of 1 s in all; the steps' times leave that out.",
        ),
    ],
)
def test_notes_say_what_is_compiled(entries, note):
    assert note in report.notes([make_run(), make_run("compiled", **entries)])


def test_no_program_is_told_of_a_run_that_compiles_nothing():
    run = make_run("as it is", marked=["f"], whole_steps=["f"], compiles=False)
    assert not any("one program" in line for line in report.notes([make_run(), run]))


def test_pytorchs_run_compiles_nothing():
    theirs = make_run("PyTorch, eager", framework="torch", whole_steps=["step"])
    assert not any("one program" in note for note in report.notes([make_run(), theirs]))


def test_numbers_can_be_written_and_read():
    compiled = make_run("compiled", losses=[3.0, 2.0, 1.5])
    entries = json.loads(json.dumps(report.as_json("digits", [make_run(), compiled])))
    assert entries["script"] == "digits"
    assert entries["runs"][1]["losses_agree"] == {"with": "eager", "first_50": 1 / 3, "all": 1 / 3}
    assert entries["runs"][1]["steady_step"] == 0.012
    assert entries["runs"][0]["losses"] == [3.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (12.34, "12.3 s"), (1.0, "1 s"), (0.01234, "12.3 ms"), (0.0000456, "45.6 µs")],
)
def test_durations(seconds, text):
    assert report.duration(seconds) == text


def test_page_has_the_table_and_a_curve_for_each_run():
    runs = [
        make_run(peak_memory=3 * 2**20, by_numpy=1234, compiled=5),
        make_run("<compiled>", losses=[3.0, math.nan, 1.5]),
        make_run("none", first_step=None, steps=[], losses=[]),
    ]
    text = page.html("digits & more", runs, ["a <note>"])
    for part in ("digits &amp; more", "&lt;compiled&gt;", "3 MiB", "1,234", "a &lt;note&gt;"):
        assert part in text
    curves = re.findall(r'<polyline points="([^"]*)"', text)
    # Losses: three, two that are finite, none. Times: the first step and the later ones.
    assert [len(curve.split()) for curve in curves] == [3, 2, 0, 4, 4, 0]
    first, *_, last = curves[0].split()
    assert float(first.split(",")[1]) < float(last.split(",")[1])  # the loss falls
    assert "http" not in text


def test_page_of_runs_without_steps_has_no_curves():
    run = make_run(first_step=None, steps=[], losses=[])
    assert "<svg" not in page.html("digits", [run], [])


def test_plot_is_a_png_with_the_curves(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "digits.png"
    plot.write(path, "digits", [make_run(), make_run("compiled")])
    assert path.read_bytes().startswith(b"\x89PNG")
    empty = tmp_path / "empty.png"
    plot.write(empty, "digits", [make_run(first_step=None, steps=[], losses=[])])
    assert empty.stat().st_size < path.stat().st_size


def test_plot_without_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(plot, "available", lambda: False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'torchlike\[demo\]'"):
        plot.write(tmp_path / "digits.png", "digits", [make_run()])


def test_notes_say_that_no_seed_is_set():
    first, other = make_run(seed=3), make_run("compiled", seed=4, losses=[2.0, 2.0, 1.0])
    assert "sets no seed" in report.notes([first, other])[-1]
    for alike in (make_run("compiled", seed=3, losses=[2.0, 2.0, 1.0]), make_run("b", seed=4)):
        assert not any("seed" in note for note in report.notes([first, alike]))
