"""``torch._check`` and its kin against PyTorch's: types and words of the errors."""

import re

import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

CALLS = {
    "holds": lambda t: t._check(True, lambda: 1 / 0),
    "runtime": lambda t: t._check(False, lambda: "said"),
    "unsaid": lambda t: t._check(False),
    "index": lambda t: t._check_index(False, lambda: "said"),
    "value": lambda t: t._check_value(False, lambda: 3),
    "type": lambda t: t._check_type(False),
    "not-implemented": lambda t: t._check_not_implemented(False),
    "with": lambda t: t._check_with(KeyError, False, lambda: "said"),
    "with-warning": lambda t: t._check_with(UserWarning, False, lambda: "said"),
    "no-bool": lambda t: t._check(1),
    "tensor": lambda t: t._check(t.tensor(True)),
    "no-callable": lambda t: t._check(False, "said"),
    "all": lambda t: t._check_tensor_all(t.tensor([True, True])),
    "not-all": lambda t: t._check_tensor_all(t.tensor([True, False]), lambda: "said"),
    "not-all-with": lambda t: t._check_tensor_all_with(KeyError, t.tensor([False]), lambda: "a"),
    "all-no-tensor": lambda t: t._check_tensor_all(True),
    "all-no-bools": lambda t: t._check_tensor_all(t.tensor([1])),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_checks(call):
    try:
        expected = call(torch)
    except Exception as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            call(torchlike)
    else:
        assert call(torchlike) is expected is None


def test_sizes():
    torchlike._check_is_size(2, max=2)
    for size, most in ((-1, None), (3, 2)):
        with pytest.raises(RuntimeError):
            torchlike._check_is_size(size, max=most)


def test_compiled_functions_do_not_look_at_values():
    @torchlike.jit
    def f(x):
        torchlike._check_tensor_all(x > 0)
        return x + 1

    assert f(torchlike.ones(1)).item() == 2
