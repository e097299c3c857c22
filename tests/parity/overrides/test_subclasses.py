"""What a Tensor subclass is asked, with which arguments, and what comes back, as in PyTorch."""

import warnings

import pytest

import torchlike
import torchlike.overrides
from torchlike._core import overrides

torch = pytest.importorskip("torch")

from protocol_cases import cases, resolved, shown  # noqa: E402

CASES = dict(cases())
#: Calls whose inner calls PyTorch makes in Python, and this library in another way.
INNER = {"1.0 in x", "reversed(x)", "torch autograd.grad"}


def logging_class(t):
    log = []

    class Logging(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with t._C.DisableTorchFunctionSubclass():
                log.append(
                    (
                        resolved(t, func),
                        [k.__name__ for k in types],
                        shown(t, args),
                        shown(t, kwargs or {}),
                    )
                )
            return super().__torch_function__(func, types, args, kwargs)

    return Logging, log


def observed(t, call):
    cls, log = logging_class(t)
    x = t.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(cls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = call(t, x)
    return log, shown(t, result)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", CASES)
def test_the_same_is_asked_and_given(name):
    call = CASES[name]
    theirs, given = observed(torch, call)
    overrides.enable()
    ours, made = observed(torchlike, call)
    assert made == given
    if name in INNER:
        theirs, ours = theirs[:1], ours[:1]
    assert ours == theirs


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("x.__set")])
def test_a_class_without_a_word_of_its_own_is_kept(name):
    def result(t):
        class Kept(t.Tensor):
            pass

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return shown(t, CASES[name](t, t.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(Kept)))

    assert result(torchlike) == result(torch)
