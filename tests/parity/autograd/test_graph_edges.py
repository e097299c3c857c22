"""Small things about the graph: what cannot be deleted, what is refused, what is warned of."""

from typing import Any

import pytest

from tests.parity.oracle import compare

#: Attributes that cannot be deleted.
KEPT = ("requires_grad", "_grad_fn", "_backward_hooks", "data")


@pytest.mark.parametrize("name", KEPT)
def test_deletion(name: str) -> None:
    compare(lambda t: delattr(t.ones(2, requires_grad=True), name))


def test_hooks_set_as_a_dictionary() -> None:
    def gradient(t: Any) -> Any:
        x, y = t.ones(2, requires_grad=True), t.ones(2)
        y._backward_hooks = {0: None}  # never called
        x._backward_hooks = None
        (x * y).sum().backward()
        return x.grad

    compare(gradient)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("of_view", [False, True])
def test_a_write_to_a_view_made_unrecorded(mode: str, of_view: bool) -> None:
    def write(t: Any) -> Any:
        x = t.ones(3, requires_grad=True).clone()
        with getattr(t, mode)():
            view = x[:2]
        (view.view(-1) if of_view else view).mul_(2)

    compare(write)


def test_marked_dirty_is_no_input() -> None:
    def apply(t: Any) -> Any:
        class Function(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                y = 3 * x
                ctx.mark_dirty(y)
                return y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return 3 * g

        return Function.apply(t.ones(2, requires_grad=True))

    compare(apply, warned=60)


def test_saved_tensors_are_made_by_nodes() -> None:
    compare(lambda t: t.autograd.SavedTensor())


# -- gradcheck -------------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_gradcheck_of_sparse_inputs(layout: str, masked: bool) -> None:
    def checked(t: Any) -> Any:
        dense = t.tensor([[1.0, 0.0], [2.0, 3.0]], dtype=t.float64)
        x = getattr(dense, layout)().requires_grad_()
        return t.autograd.gradcheck(lambda x: x.to_dense(masked_grad=masked) * 2, x, masked=masked)

    compare(checked)


def _of_the_value(t: Any, unlike: str) -> Any:
    def function(x: Any) -> Any:
        if not bool((x >= 1).all()):
            return x
        return t.cat([x, x]) if unlike == "shape" else x.float()

    return t.autograd.gradcheck(function, t.ones(1, dtype=t.float64, requires_grad=True))


@pytest.mark.parametrize("unlike", ["shape", "dtype"])
def test_gradcheck_of_outputs_that_change(unlike: str) -> None:
    compare(lambda t: _of_the_value(t, unlike), words=80)


def test_gradcheck_gives_each_input_a_tangent() -> None:
    def seen(t: Any) -> Any:
        found = []

        def function(x: Any, y: Any) -> Any:
            if t.autograd.forward_ad._current_level >= 0:
                found.append(
                    [t.autograd.forward_ad.unpack_dual(a).tangent.tolist() for a in (x, y)]
                )
            return x * y

        x, y = (t.ones(1, dtype=t.float64, requires_grad=True) for _ in range(2))
        passed = t.autograd.gradcheck(
            function,
            (x, y),
            check_forward_ad=True,
            check_backward_ad=False,
            check_undefined_grad=False,
        )
        return passed, sorted(found)

    compare(seen)


def test_lobpcg_has_a_gradient_by_both_halves() -> None:
    def gradient(t: Any) -> Any:
        a = t.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], dtype=t.float64)
        moved = a.clone()
        moved[0, 1] += 1e-3
        guess = t.eye(3, 1, dtype=t.float64)
        values = [t.lobpcg(m, k=1, X=guess, niter=100, tol=1e-12)[0] for m in (a, moved)]
        return t.round(1e6 * (values[1] - values[0]))

    compare(gradient)


def test_gradcheck_of_an_input_without_elements() -> None:
    def checked(t: Any) -> Any:
        x, y = (t.ones(n, dtype=t.float64, requires_grad=True) for n in (0, 2))
        return t.autograd.gradcheck(lambda x, y: x.sum() * y, (x, y), fast_mode=True)

    compare(checked)
