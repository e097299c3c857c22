"""``gradcheck`` and ``gradgradcheck``: what they find, what they say, and what they refuse."""

from __future__ import annotations

from typing import Any


def _x(t: Any, *, dtype: str = "float64", requires_grad: bool = True) -> Any:
    return t.tensor([1.0, 2.0], dtype=getattr(t, dtype), requires_grad=requires_grad)


def _check(t: Any, function: Any, *inputs: Any, **how: Any) -> Any:
    return t.autograd.gradcheck(function, inputs or (_x(t),), **how)


def _function(t: Any, backward: Any, forward: Any = None, jvp: Any = None) -> Any:
    class F(t.autograd.Function):
        pass

    F.forward = staticmethod(forward or (lambda ctx, x: x * 2))
    F.backward = staticmethod(backward)
    if jvp is not None:
        F.jvp = staticmethod(jvp)
    return F.apply


def _wrong(t: Any) -> Any:
    return _function(t, lambda ctx, g: g * 3)


def a_right_gradient(t: Any) -> Any:
    return _check(t, lambda x: x * x)


def a_wrong_gradient(t: Any) -> Any:
    return _check(t, _wrong(t))


def fast_mode_of_several_inputs_and_outputs(t: Any) -> Any:
    x, y = (t.linspace(0.5, 2, n, dtype=t.float64, requires_grad=True) for n in (3, 1))
    return t.autograd.gradcheck(lambda x, y: (x * y, y.exp()), (x, y), fast_mode=True)


def fast_mode_of_no_elements(t: Any) -> Any:
    x, y = (t.ones(*shape, dtype=t.float64, requires_grad=True) for shape in ((0, 2), (2,)))
    return t.autograd.gradcheck(lambda x, y: (x * y, (x.sum() * y).sum()), (x, y), fast_mode=True)


def a_wrong_gradient_of_the_second_input_in_fast_mode(t: Any) -> Any:
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y, g * x * 3

    x, y = (t.linspace(0.5, 2, 3, dtype=t.float64, requires_grad=True) for _ in range(2))
    return t.autograd.gradcheck(Wrong.apply, (x, y), fast_mode=True)


def a_wrong_gradient_in_fast_mode(t: Any) -> Any:
    return _check(t, _wrong(t), fast_mode=True)


def a_wrong_gradient_asked_for_false(t: Any) -> Any:
    return _check(t, _wrong(t), raise_exception=False)


def no_input_that_requires_grad(t: Any) -> Any:
    return _check(t, lambda x: x * x, _x(t, requires_grad=False))


def an_input_of_single_precision(t: Any) -> Any:
    # What differences of single precision can tell.
    return _check(t, lambda x: x * 2, _x(t, dtype="float32"), eps=1e-2, atol=1e-2, rtol=1e-2)


def an_output_of_single_precision(t: Any) -> Any:
    # What differences of single precision can tell.
    return _check(t, lambda x: x.to(t.float32).to(t.float64), eps=1e-2, atol=1e-2)


def an_input_with_overlapping_memory(t: Any) -> Any:
    return _check(t, lambda x: x * 2, t.ones(1, dtype=t.float64).expand(2).requires_grad_())


def an_output_that_is_no_tensor(t: Any) -> Any:
    return _check(t, lambda x: 3.0)


def an_output_of_integers(t: Any) -> Any:
    return _check(t, lambda x: x.to(t.int64))


def an_output_of_integers_beside(t: Any) -> Any:
    return _check(t, lambda x: (x * 2, x.to(t.int64)))


def an_output_that_does_not_require_grad(t: Any) -> Any:
    return _check(t, lambda x: x.detach() * 2)


def an_output_that_does_not_depend(t: Any) -> Any:
    return _check(t, lambda x: t.ones(2, dtype=t.float64))


def an_input_that_is_not_used(t: Any) -> Any:
    return _check(t, lambda x, y: x * 2, _x(t), _x(t))


def an_output_that_is_the_input(t: Any) -> Any:
    return _check(t, lambda x: x)


def an_output_that_is_a_view(t: Any) -> Any:
    return _check(t, lambda x: x.view(2, 1))


def a_complex_output(t: Any) -> Any:
    return _check(t, lambda x: t.complex(x, x * x))


def a_complex_input(t: Any) -> Any:
    x = t.tensor([1 + 2j, 3.0], dtype=t.complex128, requires_grad=True)
    return _check(t, lambda z: z * z.conj() + z, x)


def a_wrong_gradient_of_a_complex_input(t: Any) -> Any:
    x = t.tensor([1 + 2j], dtype=t.complex128, requires_grad=True)
    return _check(t, _function(t, lambda ctx, g: g * 3), x)


def a_wrong_imaginary_part_only(t: Any) -> Any:
    x = t.tensor([1 + 2j], dtype=t.complex128, requires_grad=True)
    f = _function(t, lambda ctx, g: t.complex(g.real, g.imag * 0) * 2)
    return _check(t, f, x)


def a_backward_that_differs_from_call_to_call(t: Any) -> Any:
    state = [0]

    def backward(ctx: Any, g: Any) -> Any:
        state[0] += 1
        return g * (2 + 1e-7 * state[0])

    return _check(t, _function(t, backward))


def a_backward_that_differs_within_the_tolerance(t: Any) -> Any:
    state = [0]

    def backward(ctx: Any, g: Any) -> Any:
        state[0] += 1
        return g * (2 + 1e-9 * state[0])

    return _check(t, _function(t, backward), nondet_tol=1e-5)


def a_backward_of_another_dtype(t: Any) -> Any:
    return _check(t, _function(t, lambda ctx, g: g.float() * 2))


def a_backward_of_another_shape(t: Any) -> Any:
    return _check(t, _function(t, lambda ctx, g: t.ones(3, dtype=t.float64)))


def a_backward_that_gives_none(t: Any) -> Any:
    return _check(t, _function(t, lambda ctx, g: None))


def a_backward_that_raises(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        raise RuntimeError("not this one")

    return _check(t, _function(t, backward))


def undefined_gradients_that_are_not_handled(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    return _check(t, _function(t, lambda ctx, g: g * 2, forward))


def undefined_gradients_that_are_handled(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    return _check(t, _function(t, lambda ctx, g: None if g is None else g * 2, forward))


def undefined_gradients_turned_into_ones(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        return t.ones(2, dtype=t.float64) if g is None else g * 2

    return _check(t, _function(t, backward, forward))


def undefined_gradients_not_looked_at(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    f = _function(t, lambda ctx, g: g * 2, forward)
    return _check(t, f, check_undefined_grad=False)


def undefined_gradients_of_two_outputs(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            if a is None and b is None:
                return None
            if a is None:
                return b * 4  # wrong, and seen with a zero for ``a`` only
            return a * 2 if b is None else a * 2 + b * 3

    return _check(t, F.apply)


def batched_gradients(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_batched_grad=True)


def batched_gradients_that_cannot_be(t: Any) -> Any:
    f = _function(t, lambda ctx, g: g * 2 if g.sum().item() > -1e9 else g)
    return _check(t, f, check_batched_grad=True)


def batched_gradients_without_undefined(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_batched_grad=True, check_undefined_grad=False)


def forward_mode(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_forward_ad=True)


def forward_mode_alone(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_forward_ad=True, check_backward_ad=False)


def forward_mode_that_is_wrong(t: Any) -> Any:
    f = _function(t, lambda ctx, g: g * 2, jvp=lambda ctx, g: g * 3)
    return _check(t, f, check_forward_ad=True)


def forward_mode_that_is_wrong_alone(t: Any) -> Any:
    f = _function(t, lambda ctx, g: g * 2, jvp=lambda ctx, g: g * 3)
    return _check(t, f, check_forward_ad=True, check_backward_ad=False)


def forward_mode_without_a_jvp(t: Any) -> Any:
    return _check(t, _function(t, lambda ctx, g: g * 2), check_forward_ad=True)


def batched_forward_mode(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_forward_ad=True, check_batched_forward_grad=True)


def batched_forward_mode_without_forward_mode(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_batched_forward_grad=True)


def nothing_to_check(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_backward_ad=False)


def gradients_dtypes(t: Any) -> Any:
    return _check(t, lambda x: x * x, check_grad_dtypes=True)


def masked_and_sparse_in_disagreement(t: Any) -> Any:
    return _check(t, lambda x: x * x, masked=True)


def a_list_of_inputs(t: Any) -> Any:
    return t.autograd.gradcheck(lambda x, y: x * y, [_x(t), _x(t)])


def one_tensor_as_inputs(t: Any) -> Any:
    return t.autograd.gradcheck(lambda x: x * x, _x(t))


def a_dictionary_of_outputs(t: Any) -> Any:
    return _check(t, lambda x: {"y": x * 2})


def several_outputs(t: Any) -> Any:
    return _check(t, lambda x: (x * 2, x * x))


def several_outputs_of_which_one_is_wrong(t: Any) -> Any:
    wrong = _wrong(t)
    return _check(t, lambda x: (x * 2, wrong(x)))


def the_second_input_is_wrong(t: Any) -> Any:
    wrong = _wrong(t)
    return _check(t, lambda x, y: x + wrong(y), _x(t), _x(t))


def an_empty_input(t: Any) -> Any:
    return _check(t, lambda x: x * 2, t.ones(0, dtype=t.float64, requires_grad=True))


def a_large_tolerance(t: Any) -> Any:
    return _check(t, _wrong(t), atol=10.0)  # wide enough for a wrong gradient


def a_function_that_raises(t: Any) -> Any:
    def f(x: Any) -> Any:
        raise ValueError("no")

    return _check(t, f)


def second_derivatives(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x**3, (_x(t),))


def second_derivatives_that_are_wrong(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].detach() * 2

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return t.autograd.gradgradcheck(_function(t, backward, forward), (_x(t),))


def second_derivatives_forward_over_reverse(t: Any) -> Any:
    return t.autograd.gradgradcheck(
        lambda x: x**3, (_x(t),), check_fwd_over_rev=True, check_rev_over_rev=False
    )


def second_derivatives_in_both_ways(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x**3, (_x(t),), check_fwd_over_rev=True)


def second_derivatives_forward_over_reverse_that_are_wrong(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].detach() * 2

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return t.autograd.gradgradcheck(
        _function(t, backward, forward),
        (_x(t),),
        check_fwd_over_rev=True,
        check_rev_over_rev=False,
    )


def second_derivatives_in_no_way(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x**3, (_x(t),), check_rev_over_rev=False)


def second_derivatives_of_given_cotangents(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x**3, (_x(t),), (_x(t),))


def second_derivatives_of_cotangents_without_gradient(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x**3, (_x(t),), (_x(t, requires_grad=False),))


def second_derivatives_of_a_linear_function(t: Any) -> Any:
    return t.autograd.gradgradcheck(lambda x: x * 3, (_x(t),))


def second_derivatives_asked_for_false(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].detach() * 2

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return t.autograd.gradgradcheck(
        _function(t, backward, forward), (_x(t),), raise_exception=False
    )
