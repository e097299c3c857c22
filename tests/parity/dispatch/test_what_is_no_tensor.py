"""Every public function, given something else where PyTorch says "must be Tensor"."""

import inspect
import re
import warnings

import pytest

import torchlike

torch = pytest.importorskip("torch")

NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")
#: What stands in a tensor's place.
BAD = {"text": "abc", "list": [1.0, 2.0], "None": None, "int": 3, "dict": {}}
#: Settings, files and what else takes no tensor first.
OTHERS = (
    "set_",
    "get_",
    "is_autocast",
    "clear_",
    "autocast_",
    "init",
    "import_",
    "parse_",
    "merge_type",
    "unify_",
    "read_vitals",
    "vitals_",
    "compile",
    "save",
    "load",
    "seed",
    "manual_seed",
    "fork",
    "wait",
    "use_deterministic",
    "export",
    "prepare_",
    "cond",
    "while_loop",
    "vmap",
    "from_file",
    "typename",
    "classproperty",
    "eval",
)
#: Where PyTorch refuses a class and torchlike the whole function, which it lacks.
REFUSED = NotImplementedError


def _inside(module, dotted):
    for part in filter(None, dotted.split(".")):
        module = getattr(module, part)
    return module


def _functions():
    """The functions that both have, by their dotted names."""
    for space in NAMESPACES:
        theirs, ours = _inside(torch, space), _inside(torchlike, space)
        for name in sorted(vars(theirs)):
            function = getattr(theirs, name)
            if name.startswith(("_", *OTHERS)) or name[0].isupper() or isinstance(function, type):
                continue
            if callable(function) and not inspect.ismodule(function) and hasattr(ours, name):
                yield f"{space}.{name}".strip("."), function, getattr(ours, name)


def _error(function, arguments):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*arguments)
    except Exception as error:
        return error
    return None


def _asks_for_a_tensor(error):
    said = str(error)
    whole = "must be Tensor" in said or "expected Tensor as element 0 in argument 0" in said
    return isinstance(error, TypeError) and whole


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_tensor(bad, place):
    """TypeError, as there; and in its words, where one argument is named by them."""
    tried, wrong = 0, []
    for name, theirs, ours in _functions():
        for further in range(4):
            before, after = [[t.ones(3, 3)] * place for t in (torch, torchlike)], further
            their = _error(theirs, [*before[0], BAD[bad], *[torch.ones(3, 3)] * after])
            if not (isinstance(their, TypeError) and "missing" in str(their)):
                break
        if not _asks_for_a_tensor(their):
            continue
        tried += 1
        our = _error(ours, [*before[1], BAD[bad], *[torchlike.ones(3, 3)] * after])
        if not isinstance(our, (TypeError, REFUSED)):
            wrong.append((name, str(their), repr(our)))
    assert wrong == []
    assert tried > (300 if place == 0 else 50)


@pytest.mark.parametrize("name", ["diff", "std", "ravel", "bernoulli", "rot90", "rand_like"])
def test_the_words(name):
    said = f"{name}(): argument 'input' (position 1) must be Tensor, not str"
    with pytest.raises(TypeError, match=re.escape(said)):
        getattr(torchlike, name)("abc")
    their = str(_error(getattr(torch, name), ["abc"]))
    assert said in their or "invalid combination of arguments" in their


def test_values_that_are_searched_for():
    """A number or a tensor, and no word of what computes them."""
    said = "searchsorted(): argument 'input' (position 2) must be Tensor, not NoneType"
    with pytest.raises(TypeError, match=re.escape(said)):
        torchlike.searchsorted(torchlike.ones(3), None)
    for bad in ("a", [1.0], {}, 1j):
        ours = _error(torchlike.searchsorted, [torchlike.ones(3), bad])
        assert type(ours) is type(_error(torch.searchsorted, [torch.ones(3), bad])), bad
        assert "jnp" not in str(ours)
    assert torchlike.searchsorted(torchlike.arange(3), 2).item() == 2
