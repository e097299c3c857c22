"""The table of compiled functions: its data and its verdicts. Counts, no times."""

import json

import jax
import numpy as np
import pytest

import torchlike
from benchmarks import never_slower
from benchmarks.never_slower import Line
from benchmarks.workloads.compiled_functions import functions
from benchmarks.workloads.pieces import PIECES, Chain, in_jax, in_torch

FUNCTIONS = {f.name: f for f in functions()}


def test_there_are_as_many_as_the_table_promises():
    assert len(FUNCTIONS) >= 150
    assert len(FUNCTIONS) == len(list(functions()))
    of_models = [name for name in FUNCTIONS if ": " not in name]
    assert len(of_models) >= 2 * 20


def test_every_piece_is_in_a_chain():
    used = {
        n for f in FUNCTIONS for n in f.partition(": ")[2].removesuffix(", gradient").split(" · ")
    }
    assert used >= set(PIECES)


@pytest.mark.sampled(every=40)
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if not n.endswith("gradient")])
def test_compiled_code_gives_what_eager_code_and_jax_give(name):
    function = FUNCTIONS[name]
    arrays = function.arrays()
    eager = function.torch(torchlike)
    tensors = [torchlike.tensor(a) for a in arrays]
    expected = eager(*tensors).detach().numpy()
    found = torchlike.compile(eager)(*tensors).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
    if written := function.jax(jax):
        by_hand = np.asarray(jax.jit(written)(*arrays))
        np.testing.assert_allclose(by_hand, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parity
@pytest.mark.sampled(every=40)
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for name, piece in PIECES.items() for kind in piece.kinds]
)
def test_a_piece_is_what_it_is_in_pytorch(kind, name):
    torch = pytest.importorskip("torch")
    arrays = Chain(kind, (name,)).arrays(0)
    expected = in_torch(torch, PIECES[name], kind)(*map(torch.tensor, arrays)).numpy()
    found = in_torch(torchlike, PIECES[name], kind)(*map(torchlike.tensor, arrays)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    if written := in_jax(jax, PIECES[name]):
        np.testing.assert_allclose(written(*arrays_of(arrays)), expected, rtol=1e-3, atol=1e-4)


def arrays_of(arrays):
    return [jax.numpy.asarray(a) for a in arrays]


def line(name, **seconds):
    return Line(name, {k: list(v) if isinstance(v, tuple) else [v] * 3 for k, v in seconds.items()})


def test_lines_over_their_limits_are_told_with_their_reasons():
    lines = [
        line("slow", compiled=1.2, eager=1.0, jax=1.0),
        line("as by hand", compiled=1.1, eager=1.0, jax=1.05),
        line("noisy", compiled=(0.8, 1.2, 1.6), eager=1.0),
        line("rows small: exp · cumsum_down", compiled=2.0, eager=1.0),
        line("as the call takes", compiled=15e-6, eager=20e-6, jax=8e-6),
        line("not by hand", compiled=1.0, eager=2.0),
    ]
    without, known = never_slower.verdicts(lines)
    assert without == ["slow: 1.20 × eager, 1.20 × jax"]
    assert [text.partition(" (")[0] for text in known] == [
        "rows small: exp · cumsum_down: 2.00 × eager"
    ]


def test_every_reason_is_of_a_function():
    for pattern in never_slower.REASONS:
        assert never_slower.select([pattern])


def test_functions_are_chosen_by_patterns():
    assert [f.name for f in never_slower.select(["lenet.*"])] == ["lenet", "lenet, gradient"]
    with pytest.raises(ValueError, match="no function matches 'lent'"):
        never_slower.select(["lent"])


def test_command_writes_each_round(tmp_path, capsys):
    file = tmp_path / "out.json"
    words = ["--quick", "newton", "--frameworks", "eager", "compiled", "jax", "--json", str(file)]
    never_slower.main(words)
    (found,) = json.loads(file.read_text())
    assert found["name"] == "newton"
    assert {k: len(v) for k, v in found["rounds"].items()} == {"eager": 1, "compiled": 1}
    assert "compiled code beside eager code" in capsys.readouterr().out


def test_a_run_that_was_stopped_goes_on(tmp_path, capsys):
    file = tmp_path / "out.json"
    words = ["--quick", "--frameworks", "eager", "--json", str(file), "--resume", "--"]
    never_slower.main([*words, "newton"])
    first = json.loads(file.read_text())
    capsys.readouterr()
    never_slower.main([*words, "newton", "euler"])
    euler, newton = json.loads(file.read_text())
    assert (euler["name"], [newton]) == ("euler", first)
    printed = capsys.readouterr().out
    assert "1/2 euler: eager" in printed
    assert "2/2" not in printed


def test_work_is_counted_for_the_compiled_form(capsys):
    assert never_slower.main(["--work", "rows middle: exp · tanh"]) == 0
    count = int(capsys.readouterr().out.split()[0].replace(",", ""))
    assert 40 * 256 * 256 <= count <= 44 * 256 * 256
