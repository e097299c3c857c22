"""torch._assert and torch._check, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
t._assert(1 == 1, 'x')
t._assert(False, 'bad')
t._assert(t.tensor(False), 'bad')
t._assert(t.tensor(True), 'bad')
t._assert(t.ones(2) > 0, 'b')
t._assert_async(t.tensor(0.))
t._assert_async(t.tensor(0.), 'none')
t._assert_tensor_metadata(t.ones(2), [2], [1], t.float32, device="cpu", layout=t.strided)
t._assert_tensor_metadata(t.ones(2), [3])
t._assert_tensor_metadata(t.ones(2, 3), None, (1, 2))
t._assert_tensor_metadata(t.ones(2), dtype=t.int32)
t._assert_tensor_metadata(t.ones(2), device="meta")
t._assert_tensor_metadata(t.ones(2), layout=t.sparse_coo)
t._assert_tensor_metadata(t.ones(2), layout=t.sparse_csr)
t._is_all_true(t.tensor([True, False]))
t._is_any_true(t.tensor([True, False]))
t._is_zerotensor(t.zeros(2))
t._check(True)
t._check(False)
t._check(False, lambda: 'no')
t._check(False, 's')
t._check(True, 's')
t._check(t.tensor(True))
t._check(1)
t._check_index(False)
t._check_value(False, lambda: 'v')
t._check_type(False, lambda: 3)
t._check_not_implemented(False)
t._check_with(KeyError, False, lambda: 'k')
t._check_with(UserWarning, False, lambda: 'k')
t._check_is_size(3)
t._check_is_size(-1)
t._check_is_size(5, max=4)
t._check_tensor_all(t.ones(2) > 0)
t._check_tensor_all(t.ones(2) > 3, lambda: 'all')
t._check_tensor_all(t.ones(2))
t._check_tensor_all(True)
t._check_tensor_all(t.tensor([1]))
t._check_tensor_all_with(KeyError, t.ones(2) > 3)
t._shape_as_tensor(t.ones(2, 3))
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True)


def test_compiled_functions_look_at_values_too():
    def f(x):
        torchlike._check_tensor_all(x > 0)
        return x + 1

    def g(x):
        torchlike._assert_async(x)
        return x + 1

    zero = torchlike.zeros(1)
    for function, words in ((f, "Expected cond to be True"), (g, "single nonzero value")):
        with pytest.raises(RuntimeError, match=words):
            torchlike.jit(function)(zero)
        assert torchlike.jit(function, checks=False)(zero).item() == 1
