"""Saved programs check values as eager code does: the same error, out of a file."""

import io
import json
import zipfile

import jax
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from tests.export.archives import changed
from tests.export.test_stablehlo import signature
from torchlike import nn
from torchlike._runtime import late_checks

T = torch.tensor
X = torch.arange(12.0).reshape(3, 4)


class Of(nn.Module):
    """Is a module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *given):
        return self.function(*given)


#: A function, arguments that it takes, and those that it refuses.
CASES = {
    "gather": (lambda x, i: torch.gather(x, 1, i), (X, T([[3]])), (X, T([[9]]))),
    "embedding": (lambda i, w: F.embedding(i, w), (T([0, 2]), X), (T([0, 3]), X)),
    "nll_loss": (lambda x, y: F.nll_loss(x, y), (X, T([0, 1, 3])), (X, T([0, 1, 4]))),
    "cholesky": (torch.linalg.cholesky, (torch.eye(3),), (-torch.eye(3),)),
    "quantile": (lambda x, q: x.quantile(q), (X, T(0.5)), (X, T(1.5))),
}


def error_of(function, *given):
    with pytest.raises(Exception) as raised:
        function(*given).tolist()
    return raised.type, str(raised.value).partition("\n  Found by")[0]


def file_of(program, **options):
    file = io.BytesIO()
    torch.jit.save(program, file, **options)
    file.seek(0)
    return file


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("case", CASES)
def test_a_loaded_module_raises_what_eager_code_raises(case):
    function, good, bad = CASES[case]
    loaded = torch.jit.load(file_of(torch.jit.trace(function, good)))
    for _ in range(2):
        assert error_of(loaded, *bad) == error_of(function, *bad)
        torch.testing.assert_close(loaded(*good), function(*good))
    assert not late_checks.queue


@pytest.mark.parametrize("case", ["gather", "nll_loss"])
def test_exported_programs_raise_it(case):
    function, good, bad = CASES[case]
    program = torch.export.export(Of(function), good)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for each in (program, torch.export.load(file)):
        assert error_of(each.module(), *bad) == error_of(function, *bad)
        assert error_of(torch.compile(each.module()), *bad) == error_of(function, *bad)


def test_it_names_the_line_of_the_operation():
    loaded = torch.jit.load(file_of(torch.jit.trace(*CASES["gather"][:2])))
    with pytest.raises(RuntimeError, match=r"inside <lambda> \(test_checks_of_values.py:\d+\)"):
        loaded(*CASES["gather"][2]).tolist()


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(4, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, i):
        self.seen += 1
        return self.words(i)


def test_state_stays_and_gradients_are_computed():
    model = Counting()
    loaded = torch.jit.load(file_of(torch.jit.trace(model, (T([1, 3]),), check_trace=False)))
    before = loaded.seen.item()
    loaded(T([1, 3])).sum().backward()
    assert loaded.words.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    assert loaded.seen.item() == before + 1
    with pytest.raises(IndexError, match="index out of range in self"):
        loaded(T([1, 4])).tolist()
    assert loaded.seen.item() == before + 1


def test_without_checks_a_file_has_none_and_is_one_that_older_readers_take():
    program = torch.jit.trace(*CASES["gather"][:2])
    file = file_of(program, checks=False)
    assert torch.jit.load(file)(*CASES["gather"][2]).isnan().all()
    assert version_of(file) == 1
    assert version_of(file_of(program)) == 3
    assert version_of(file_of(torch.jit.trace(torch.relu, (X,)))) == 1


def version_of(file):
    with zipfile.ZipFile(file) as z:
        return json.loads(z.read("format.json"))["version"]


def test_the_environment_is_heeded(monkeypatch):
    monkeypatch.setenv("TORCHLIKE_CHECKS", "off")
    assert version_of(file_of(torch.jit.trace(*CASES["gather"][:2]))) == 1


def test_what_is_loaded_keeps_its_checks():
    function, good, bad = CASES["gather"]
    loaded = torch.jit.load(file_of(torch.jit.trace(function, good)))
    again = torch.jit.load(file_of(loaded))
    assert error_of(again, *bad) == error_of(function, *bad)
    with pytest.raises(ValueError, match="keeps the checks"):
        file_of(loaded, checks=False)


def test_inside_a_compiled_function_they_are_the_functions():
    function, good, bad = CASES["gather"]
    loaded = torch.jit.load(file_of(torch.jit.trace(function, good)))
    total = torch.zeros(())

    @torch.jit
    def step(*given):
        total.add_(loaded(*given).sum())
        return total * 1

    assert step(*good).item() == 3
    assert error_of(step, *bad) == error_of(function, *bad)
    assert total.item() == 3


def test_stablehlo_gives_a_word():
    function, good, _ = CASES["gather"]
    file = io.BytesIO()
    checks = torch.export.save_stablehlo(torch.jit.trace(function, good), file, checks=True)
    assert signature(file.getvalue())[1] == ["1x1xf32", "4xi64"]
    (said,) = checks.described()
    assert said["error"] == "RuntimeError"
    assert said["words"] == "index {0} is out of bounds for dimension 1 with size 4"
    checks.raise_for(np.zeros(4, np.int64))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        checks.raise_for(np.array([1, 9, 0, 0]))
    assert torch.export.save_stablehlo(torch.jit.trace(function, good), io.BytesIO()) is None
    loaded = torch.jit.load(file_of(torch.jit.trace(function, good), checks=False))
    with pytest.raises(ValueError, match="saved without checks"):
        torch.export.save_stablehlo(loaded, io.BytesIO(), checks=True)


def test_a_function_of_jax_gives_a_word():
    function, good, bad = CASES["embedding"]
    program = torch.export.to_jax(Of(function), good, checks=True)
    call = jax.jit(program.exported.call)
    result, word = call({}, {}, *[x.jax() for x in good])
    program.checks.raise_for(word)
    np.testing.assert_array_equal(result, function(*good).numpy())
    _, word = call({}, {}, *[x.jax() for x in bad])
    with pytest.raises(IndexError, match="index out of range in self"):
        program.checks.raise_for(word)
    assert torch.export.to_jax(nn.ReLU(), (X,), checks=True).checks is None


ROWS, PLACES = torch.export.Dim("rows"), torch.export.Dim("places")
#: A function; what it takes and what it refuses, of so many rows; which sizes may be any.
DYNAMIC = {
    "gather": (
        lambda x, i: x.gather(0, i),
        lambda n: (torch.ones(n), T([0, n - 1, 0])),
        lambda n: (torch.ones(n), T([0, n, 0, 0])),
        ({0: ROWS}, {0: PLACES}),
    ),
    "take": (
        lambda x, i: x.take(i),
        lambda n: (torch.ones(n, 2), T([0, -2 * n, n])),
        lambda n: (torch.ones(n, 2), T([0, 2 * n])),
        ({0: ROWS}, {0: PLACES}),
    ),
    "nll_loss": (
        F.nll_loss,
        lambda n: (torch.ones(n, 3), torch.ones(n, dtype=torch.int64)),
        lambda n: (torch.ones(n, 3), torch.arange(n) + 4 - n),
        ({0: ROWS}, {0: ROWS}),
    ),
    "cholesky": (
        torch.linalg.cholesky,
        lambda n: (torch.eye(3).repeat(n, 1, 1),),
        lambda n: (torch.eye(3).repeat(n, 1, 1) * (n - 1.5 - torch.arange(n))[:, None, None],),
        ({0: ROWS},),
    ),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("case", DYNAMIC)
def test_a_function_of_jax_whose_sizes_are_its_callers_gives_a_word(case):
    function, right, wrong, shapes = DYNAMIC[case]
    program = torch.export.to_jax(Of(function), right(3), checks=True, dynamic_shapes=(shapes,))

    def call(given):
        return program.exported.call({}, {}, *[x.jax() for x in given])

    for n in (1, 2, 5):
        result, word = call(right(n))
        program.checks.raise_for(word)
        np.testing.assert_allclose(result, function(*right(n)).numpy())
        _, word = call(wrong(n))
        with pytest.raises(Exception) as raised:
            program.checks.raise_for(word)
        found = raised.type, str(raised.value).partition("\n  Found by")[0]
        assert found == error_of(function, *wrong(n))


ATTACKS = {
    "an attribute": {"words": "{0.__class__}"},
    "an item": {"words": "{0[0]}"},
    "a width": {"words": "{0:>999999999}"},
    "a conversion": {"words": "{0!r}"},
    "a number that is not there": {"words": "{2}"},
    "no number": {"words": "{}"},
    "half a place": {"words": "{0"},
    "another class": {"error": "SystemExit"},
    "no text": {"words": 3},
    "many numbers": {"floats": [False] * 9},
    "no bool": {"floats": [7]},
    "no list": {"floats": 1},
    "no line": {"line": None},
    "one entry too many": {"run": "1"},
}


def scripted_with(change):
    def edit(text):
        said = json.loads(text)
        change(said[0])
        return json.dumps(said).encode()

    whole = file_of(torch.jit.trace(*CASES["gather"][:2])).getvalue()
    return io.BytesIO(changed(whole, "programs.json", edit))


@pytest.mark.parametrize("attack", ATTACKS)
def test_texts_of_files_are_texts(attack):
    file = scripted_with(lambda about: about["checks"][0].update(ATTACKS[attack]))
    with pytest.raises(RuntimeError, match="damaged"):
        torch.jit.load(file)


def test_words_of_files_are_explained_or_refused():
    bad = CASES["gather"][2]
    loaded = torch.jit.load(scripted_with(lambda about: about["checks"].clear()))
    with pytest.raises(RuntimeError, match="does not explain"):
        loaded(*bad).tolist()
    for words in ([False, True], [True, True]):
        with pytest.raises(RuntimeError, match="damaged"):
            torch.jit.load(scripted_with(lambda about, words=words: about.update(words=words)))
    with pytest.raises(RuntimeError, match="damaged"):
        torch.jit.load(scripted_with(lambda about: about.update(made=0)))
