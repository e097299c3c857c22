"""The operators that aten's public functions are made of, as in PyTorch."""

import importlib

import pytest

from tests.parity.oracle import compare, source

LINES = """
t.ops.aten._conj(t.tensor([1 + 2j, 3 - 1j]))
t.ops.aten._conj_physical(t.tensor([1 + 2j, 3 - 1j]))
t.ops.aten._fft_c2c(t.tensor([1 + 2j, 3 - 1j, 2j]), [0], 0, True)
t.ops.aten._fft_c2c(t.tensor([[1 + 2j, 3 - 1j], [2j, 4]]), [0, 1], 1, False)
t.ops.aten._fft_c2c(t.tensor([1 + 2j, 3 - 1j, 2j]), [0], 2, False)
t.ops.aten._fft_r2c(t.arange(6.0).view(2, 3), [1], 0, True)
t.ops.aten._fft_r2c(t.arange(6.0).view(2, 3), [0, 1], 2, False)
t.ops.aten._fft_c2r(t.tensor([[1 + 0j, 3 - 1j], [2, 4 + 1j]]), [1], 2, 3)
t.ops.aten._fft_c2r(t.tensor([[1 + 0j, 3 - 1j], [2, 4 + 1j]]), [0, 1], 0, 2)
t.ops.aten._fused_rms_norm(t.arange(6.0).view(2, 3), [3], t.tensor([1.0, 2, 3]), 1e-5)
t.ops.aten._fused_rms_norm(t.arange(6.0).view(2, 3), [2, 3], None, None)
t.ops.aten._linalg_slogdet(t.tensor([[2.0, 1], [1, 3]]))
t.ops.aten._linalg_svd(t.tensor([[2.0, 1], [1, 3]]), False, False)[1]
t.ops.aten._linalg_svd(t.tensor([[2.0, 1], [1, 3]]))[1]
t.ops.aten._logcumsumexp(t.arange(4.0), 0)
v = t.empty(4); i = t.empty(4, dtype=t.int64); t.ops.aten._cummax_helper(t.tensor([1.0, 3, 2, 3]), v, i, 0); (v, i)
t.ops.aten._masked_softmax(t.arange(6.0).view(2, 3), t.tensor([[True, False, False], [True, True, True]]), 1, 2)
t.ops.aten._masked_softmax(t.ones(2, 1, 3, 3), t.tensor([[True, False, False], [False, False, True]]), 3, 1)
t.ops.aten._trilinear(t.arange(6.0).view(2, 3), t.arange(12.0).view(4, 3), t.ones(2, 4), [1], [0], [2], [2])
t.ops.aten._unique2(t.tensor([3, 1, 3, 2]), True, True, True)
t.ops.aten._unique2(t.tensor([3, 1, 3, 2]))
t.ops.aten.unique_dim(t.tensor([[3, 1], [3, 1], [2, 2]]), 0, True, True, True)
t.ops.aten._scaled_dot_product_attention_math(t.arange(8.0).view(1, 4, 2) / 8, t.ones(1, 4, 2), t.arange(8.0).view(1, 4, 2), is_causal=True)
t.ops.aten._scaled_dot_product_attention_math(t.arange(8.0).view(1, 4, 2) / 8, t.arange(8.0).view(1, 4, 2), t.arange(8.0).view(1, 4, 2), t.eye(4), scale=0.3)
t.ops.aten.linear.default.decompose(t.ones(2, 3), t.ones(4, 3))
t.ops.aten.add.Tensor.decompose(t.ones(2), t.ones(2)) is NotImplemented
"""  # noqa: E501


def dispatch_mode(t):
    return importlib.import_module(f"{t.__name__}.utils._python_dispatch").TorchDispatchMode


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_helpers(line):
    compare(source(line))


def test_an_overload_refuses_other_keywords():
    compare(lambda t: t.ops.aten.add.Tensor(t.ones(2), t.ones(2), foo=1), words=60)


def test_a_handler_that_hands_on_to_its_base():
    def run(t):
        seen = []

        class Handing(t.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return super().__torch_dispatch__(func, types, args, kwargs)

        x = t.ones(3).as_subclass(Handing)
        y = t.ones(3, requires_grad=True)
        z = ((y * 3).as_subclass(Handing) * 2).sum()
        z.backward()
        return (
            seen[:2],
            type(x + 1) is t.Tensor,
            x + 1,
            y.grad,
            [p.shape for p in x.split(2)],
            t.nn.functional.linear(x, t.ones(2, 3)),
        )

    compare(run)


@pytest.mark.parametrize("name", ["neg", "detach", "split", "topk"])
def test_a_handler_that_gives_no_tensor(name):
    def run(t):
        class Wrong(t.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return "no tensor"

        x = t.ones(3).as_subclass(Wrong)
        given = {"split": (1,), "topk": (1,)}.get(name, ())
        return getattr(x, name)(*given)

    compare(run, words=14)


def test_modes_that_are_class_methods_and_modes_that_do_not_count():
    def run(t):
        class Wrong(dispatch_mode(t)):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return func(*args)

        with Wrong():
            return t.ones(2) + 1

    compare(run, words=60)


def test_numbers_of_a_subclass_are_not_given_away():
    def run(t, name):
        class Held(t.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                return super().__torch_dispatch__(func, types, args, kwargs)

        return getattr(t.ones(2).as_subclass(Held), name)()

    for name in ("tolist", "numpy"):
        compare(lambda t, name=name: run(t, name), words=60)


def test_a_custom_operator_reaches_a_mode():
    def run(t):
        @t.library.custom_op("seen_by_modes::twice", mutates_args=())
        def twice(x: t.Tensor) -> t.Tensor:
            return x * 2

        class Mode(dispatch_mode(t)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))

        seen = []
        x = t.ones(2)
        with Mode():
            y = twice(x)
        return seen, y

    assert compare(run)[0] == ["seen_by_modes.twice.default"]
