"""Forward-mode differentiation: dual tensors, their parts, their levels, and what runs on them."""

from __future__ import annotations

from typing import Any


def _dual(t: Any, function: Any, *values: Any) -> Any:
    """Primal and tangent of what the function gives for duals of the values, tangents 1, 2, …"""
    fw = t.autograd.forward_ad
    with fw.dual_level():
        duals = [
            fw.make_dual(t.tensor(v), t.full_like(t.tensor(v), i + 1.0))
            for i, v in enumerate(values)
        ]
        return tuple(fw.unpack_dual(function(*duals)))


def the_primal_is_a_view(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(3))
        return d is x, d.data_ptr() == x.data_ptr(), d._is_view()


def the_tangent_is_the_object_given(t: Any) -> Any:
    fw = t.autograd.forward_ad
    tangent = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(t.ones(3), tangent)
        return fw.unpack_dual(d).tangent is tangent


def the_tangent_keeps_its_memory(t: Any) -> Any:
    fw = t.autograd.forward_ad
    tangent = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(t.ones(3), tangent)
        return fw.unpack_dual(d).tangent.data_ptr() == tangent.data_ptr()


def a_write_to_the_tangent_is_seen(t: Any) -> Any:
    fw = t.autograd.forward_ad
    tangent = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(t.ones(3), tangent)
        tangent.mul_(5)
        return fw.unpack_dual(d * 2)


def a_write_to_the_primal_is_seen(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(3))
        x.mul_(5)
        return fw.unpack_dual(d * d)


def a_write_to_a_dual_is_seen_in_the_primal(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(3))
        d.mul_(5)
        return x, *fw.unpack_dual(d)


def a_write_to_a_dual_is_seen_in_the_tangent(t: Any) -> Any:
    fw = t.autograd.forward_ad
    tangent = t.ones(3)
    with fw.dual_level():
        d = fw.make_dual(t.ones(3), tangent)
        d.mul_(5)
        return tangent, fw.unpack_dual(d).tangent


def a_tangent_of_other_strides(t: Any) -> Any:
    fw = t.autograd.forward_ad
    tangent = t.arange(6.0).reshape(3, 2).t()
    with fw.dual_level():
        d = fw.make_dual(t.ones(2, 3), tangent)
        found = fw.unpack_dual(d).tangent
        return found, found is tangent, found.stride()


def an_expanded_tangent(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.ones(2, 3), t.ones(3).expand(2, 3))
        return fw.unpack_dual(d * 2).tangent


def a_tangent_of_another_size(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), t.ones(3))


def a_tangent_of_another_dtype(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), t.ones(2, dtype=t.float64))


def a_complex_tangent_of_a_real_primal(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), t.ones(2, dtype=t.complex64))


def a_primal_of_integers(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2, dtype=t.int64), t.ones(2))


def a_tangent_of_integers(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), t.ones(2, dtype=t.int64))


def a_dual_of_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(fw.make_dual(t.ones(2), t.ones(2)), t.ones(2))


def a_tangent_that_is_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), fw.make_dual(t.ones(2), t.ones(2)))


def a_dual_without_a_level(t: Any) -> Any:
    return t.autograd.forward_ad.make_dual(t.ones(2), t.ones(2))


def unpacked_without_a_level(t: Any) -> Any:
    return t.autograd.forward_ad.unpack_dual(t.ones(2))


def unpacked_after_the_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.ones(2), t.ones(2))
    return fw.unpack_dual(d)


def used_after_the_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.ones(2), t.ones(2))
    return d * 2


def of_an_earlier_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.ones(2), t.ones(2))
    with fw.dual_level():
        return fw.unpack_dual(d * 2).tangent


def unpacked_of_a_plain_tensor(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2)
    with fw.dual_level():
        primal, tangent = fw.unpack_dual(x)
        return primal is x, tangent


def the_level_entered_is_zero(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level() as level:
        return level


def a_level_in_a_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level(), fw.dual_level():
        pass


def leaving_without_a_level(t: Any) -> Any:
    t.autograd.forward_ad.exit_dual_level()


def leaving_another_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        fw.exit_dual_level(level=1)


def a_named_tuple(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        found = fw.unpack_dual(fw.make_dual(t.ones(2), t.ones(2)))
        return type(found).__name__, found._fields


def make_dual_of_no_tensor(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(1.0, t.ones(2))


def a_dual_of_a_leaf_requires_grad(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2, requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        return d.requires_grad, (d * 2).requires_grad


def backward_through_the_primal(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        primal, _ = fw.unpack_dual(d**3)
        return t.autograd.grad(primal.sum(), x)


def backward_through_the_tangent(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        _, tangent = fw.unpack_dual(d**3)
        return t.autograd.grad(tangent.sum(), x)


def backward_to_the_given_tangent(t: Any) -> Any:
    fw = t.autograd.forward_ad
    v = t.tensor([2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(t.ones(2) * 2, v)
        return t.autograd.grad(fw.unpack_dual(d**3).tangent.sum(), v)


def a_gradient_inside(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        (g,) = t.autograd.grad((d**3).sum(), d, create_graph=True)
        return tuple(fw.unpack_dual(g))


def detach_drops_the_tangent(t: Any) -> Any:
    return _dual(t, lambda x: x.detach(), [1.0, 2.0])


def no_grad_keeps_tangents(t: Any) -> Any:
    def f(x: Any) -> Any:
        with t.no_grad():
            return x * x

    return _dual(t, f, [1.0, 2.0])


def inference_mode_drops_tangents(t: Any) -> Any:
    def f(x: Any) -> Any:
        with t.inference_mode():
            return x * x

    return _dual(t, f, [1.0, 2.0])


def forward_gradients_switched_off(t: Any) -> Any:
    fw = t.autograd.forward_ad

    def f(x: Any) -> Any:
        with fw._set_fwd_grad_enabled(False):
            return x * x

    return _dual(t, f, [1.0, 2.0])


def a_view_of_a_dual(t: Any) -> Any:
    return _dual(t, lambda x: x.view(2, 1), [1.0, 2.0])


def a_write_to_a_view_of_a_dual(t: Any) -> Any:
    def f(x: Any) -> Any:
        x[0].mul_(3)
        return x

    return _dual(t, f, [1.0, 2.0])


def a_dual_written_into_a_plain_tensor(t: Any) -> Any:
    return _dual(t, lambda x: t.zeros(2).copy_(x), [1.0, 2.0])


def a_dual_written_into_a_view_of_a_plain_tensor(t: Any) -> Any:
    def f(x: Any) -> Any:
        base = t.zeros(2, 2)
        base[0].copy_(x)
        return base

    return _dual(t, f, [1.0, 2.0])


def the_view_after_its_base_was_written_to(t: Any) -> Any:
    def f(x: Any) -> Any:
        base = t.zeros(2, 2)
        row = base[0]
        base.copy_(x)
        return row

    return _dual(t, f, [1.0, 2.0])


def a_plain_tensor_added_in_place(t: Any) -> Any:
    return _dual(t, lambda x: t.ones(2).add_(x), [1.0, 2.0])


def zeroed_in_place(t: Any) -> Any:
    return _dual(t, lambda x: x.zero_(), [1.0, 2.0])


def filled_in_place(t: Any) -> Any:
    return _dual(t, lambda x: x.fill_(3.0), [1.0, 2.0])


def detached_in_place(t: Any) -> Any:
    return _dual(t, lambda x: x.clone().detach_(), [1.0, 2.0])


def out_given(t: Any) -> Any:
    return _dual(t, lambda x: t.mul(x, 2, out=t.empty(2)), [1.0, 2.0])


def out_is_a_dual(t: Any) -> Any:
    return _dual(t, lambda x: t.mul(t.ones(2), 2, out=x), [1.0, 2.0])


def a_dual_that_is_compared(t: Any) -> Any:
    return _dual(t, lambda x: x > 1.5, [1.0, 2.0])


def a_sum_of_two(t: Any) -> Any:
    return _dual(t, lambda x, y: x * y + x, [1.0, 2.0], [3.0, 4.0])


def several_results(t: Any) -> Any:
    return _dual(t, lambda x: x.sort(descending=True).values, [1.0, 2.0])


def an_index_has_no_tangent(t: Any) -> Any:
    return _dual(t, lambda x: x.sort(descending=True).indices, [1.0, 2.0])


def a_conversion(t: Any) -> Any:
    return _dual(t, lambda x: x.to(t.float64), [1.0, 2.0])


def a_conversion_to_integers(t: Any) -> Any:
    return _dual(t, lambda x: x.to(t.int64), [1.0, 2.0])


def real_to_complex(t: Any) -> Any:
    return _dual(t, lambda x: t.complex(x, x * 2).abs(), [1.0, 2.0])


def a_module(t: Any) -> Any:
    layer = t.nn.Linear(2, 1).requires_grad_(False)
    layer.weight.fill_(0.5)
    layer.bias.fill_(1.0)
    return _dual(t, layer, [1.0, 2.0])


def a_parameter_swapped_for_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    layer = t.nn.Linear(2, 1, bias=False)
    weight = layer.weight.detach().fill_(2.0)
    del layer.weight
    with fw.dual_level():
        layer.weight = fw.make_dual(weight, t.ones(1, 2))
        return fw.unpack_dual(layer(t.ones(3, 2))).tangent


def printed(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return repr(fw.make_dual(t.ones(2), t.full((2,), 3.0)))


def as_numpy(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.ones(2), t.ones(2)).numpy()


def item_of_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return fw.make_dual(t.tensor(2.0), t.tensor(1.0)).item()


def _scaled(t: Any, setup: bool, with_jvp: bool = True) -> Any:
    class Scaled(t.autograd.Function):
        if setup:

            @staticmethod
            def forward(x: Any, k: Any) -> Any:
                return x * k

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.k = inputs[1]
                ctx.save_for_forward(inputs[0])

        else:

            @staticmethod
            def forward(ctx: Any, x: Any, k: Any) -> Any:
                ctx.k = k
                ctx.save_for_forward(x)
                return x * k

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.k, None

    if with_jvp:
        Scaled.jvp = staticmethod(lambda ctx, g, _: g * ctx.k)
    return Scaled


def a_function_without_setup_context(t: Any) -> Any:
    return _dual(t, lambda x: _scaled(t, False).apply(x, 3.0), [1.0, 2.0])


def a_function_with_setup_context(t: Any) -> Any:
    return _dual(t, lambda x: _scaled(t, True).apply(x, 3.0), [1.0, 2.0])


def a_function_without_jvp(t: Any) -> Any:
    return _dual(t, lambda x: _scaled(t, False, False).apply(x, 3.0), [1.0, 2.0])


def a_function_without_jvp_with_setup_context(t: Any) -> Any:
    return _dual(t, lambda x: _scaled(t, True, False).apply(x, 3.0), [1.0, 2.0])


def _with_jvp(t: Any, jvp: Any, forward: Any = None) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(x)
            return x.clone() if forward is None else forward(ctx, x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    F.jvp = staticmethod(jvp)
    return F


def a_jvp_that_reads_saved_tensors(t: Any) -> Any:
    f = _with_jvp(t, lambda ctx, g: g * ctx.saved_tensors[0])
    return _dual(t, f.apply, [1.0, 2.0])


def a_jvp_that_gives_none(t: Any) -> Any:
    return _dual(t, _with_jvp(t, lambda ctx, g: None).apply, [1.0, 2.0])


def a_jvp_that_gives_too_many(t: Any) -> Any:
    return _dual(t, _with_jvp(t, lambda ctx, g: (g, g)).apply, [1.0, 2.0])


def a_jvp_that_gives_another_shape(t: Any) -> Any:
    return _dual(t, _with_jvp(t, lambda ctx, g: g.sum()).apply, [1.0, 2.0])


def a_jvp_that_gives_no_tensor(t: Any) -> Any:
    return _dual(t, _with_jvp(t, lambda ctx, g: 1.0).apply, [1.0, 2.0])


def a_jvp_of_two_inputs_of_which_one_is_a_dual(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def jvp(ctx: Any, gx: Any, gy: Any) -> Any:
            assert gy is None or not gy.any()
            return gx * 7

    return _dual(t, lambda x: F.apply(x, t.ones(2)), [1.0, 2.0])


def a_jvp_without_materialized_gradients(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * y

        @staticmethod
        def jvp(ctx: Any, gx: Any, gy: Any) -> Any:
            return gx * (2 if gy is None else 3)

    return _dual(t, lambda x: F.apply(x, t.ones(2)), [1.0, 2.0])


def a_function_that_writes_in_place(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return g.mul_(2)

    return _dual(t, lambda x: F.apply(x.clone()), [1.0, 2.0])


def a_jvp_in_place_that_does_not_write(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return g * 2

    return _dual(t, lambda x: F.apply(x.clone()), [1.0, 2.0])


def a_function_that_gives_its_input(t: Any) -> Any:
    f = _with_jvp(t, lambda ctx, g: g * 2, lambda ctx, x: x)
    return _dual(t, f.apply, [1.0, 2.0])


def a_result_that_is_not_differentiable(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    return _dual(t, _with_jvp(t, lambda ctx, g: None, forward).apply, [1.0, 2.0])


def functional_jvp_forward_over_reverse(t: Any) -> Any:
    x = t.tensor([1.0, 2.0])
    return t.func.jvp(t.func.grad(lambda a: (a**3).sum()), (x,), (t.ones(2),))


def jacobian_in_forward_mode(t: Any) -> Any:
    return t.autograd.functional.jacobian(
        lambda a: a**2, t.tensor([1.0, 2.0]), strategy="forward-mode", vectorize=True
    )


def jacobian_in_forward_mode_unvectorized(t: Any) -> Any:
    return t.autograd.functional.jacobian(
        lambda a: a**2, t.tensor([1.0, 2.0]), strategy="forward-mode"
    )


def func_jvp_in_a_dual_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        return t.func.jvp(lambda a: a**2, (t.ones(2),), (t.ones(2),))


def a_copy_of_a_dual(t: Any) -> Any:
    return _dual(t, lambda x: x.clone(), [1.0, 2.0])


def requires_grad_of_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.ones(2), t.ones(2)).requires_grad_()
        (d**2).sum().backward()
        return d.grad


def parameters_under_a_dual_input(t: Any) -> Any:
    fw = t.autograd.forward_ad
    layer = t.nn.Linear(2, 1)
    with t.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    with fw.dual_level():
        y = layer(fw.make_dual(t.ones(3, 2), t.full((3, 2), 2.0)))
        (y**2).sum().backward()
        primal, tangent = fw.unpack_dual(layer.weight.grad)
    return y.requires_grad, primal, tangent, layer.bias.grad


def a_hessian_times_a_vector(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.tensor([1.0, -1.0]))
        (g,) = t.autograd.grad((d**3).prod(), d, create_graph=True)
        return fw.unpack_dual(g).tangent


def a_leaf_used_beside_its_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        (d * x).sum().backward()
        return tuple(fw.unpack_dual(x.grad))


def a_gradient_after_the_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        (fw.make_dual(x, t.ones(2)) ** 2).sum().backward()
    optimizer = t.optim.SGD([x], lr=0.1)
    optimizer.step()
    return x.grad, x


def backward_after_the_level(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(x, t.ones(2)) ** 2
    y.sum().backward()
    return x.grad


def a_dual_of_a_result(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x * 3, t.ones(2))
        (d**2).sum().backward()
        return d.requires_grad, d.is_leaf, tuple(fw.unpack_dual(x.grad))


def a_tangent_that_requires_grad(t: Any) -> Any:
    fw = t.autograd.forward_ad
    v = t.tensor([2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(t.ones(2), v)
        y = d**3
        return d.requires_grad, y.requires_grad, fw.unpack_dual(y).tangent.requires_grad


def both_parts_backward(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        primal, tangent = fw.unpack_dual(fw.make_dual(x, t.ones(2)) ** 3)
        (primal.sum() + tangent.sum()).backward()
        return x.grad


def a_detached_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2, requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2)).detach()
        return d.requires_grad, fw.unpack_dual(d).tangent


def a_dual_of_a_leaf_written_to(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2, requires_grad=True)
    with fw.dual_level():
        fw.make_dual(x, t.ones(2)).mul_(2)


def a_dual_of_a_result_written_to(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2, requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x * 2, t.ones(2))
        d.mul_(3)
        d.sum().backward()
        return x.grad


def a_gradient_that_is_a_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.ones(2, requires_grad=True)
    y = x * 3
    with fw.dual_level():
        g = fw.make_dual(t.ones(2), t.full((2,), 5.0))
        y.backward(g)
        return tuple(fw.unpack_dual(x.grad))


def levels_by_hand(t: Any) -> Any:
    fw = t.autograd.forward_ad
    level = fw.enter_dual_level()
    d = fw.make_dual(t.ones(2), t.ones(2), level=level)
    found = fw.unpack_dual(d * 2, level=level).tangent
    fw.exit_dual_level(level=level)
    return level, found, fw.unpack_dual(d).tangent


def a_level_after_an_error(t: Any) -> Any:
    fw = t.autograd.forward_ad
    try:
        with fw.dual_level():
            raise KeyError
    except KeyError:
        with fw.dual_level() as level:
            return level


def out_is_a_view_of_a_plain_tensor(t: Any) -> Any:
    def f(x: Any) -> Any:
        base = t.zeros(2, 2)
        t.mul(x, 2, out=base[0])
        return base

    return _dual(t, f, [1.0, 2.0])


def out_is_a_dual_of_duals(t: Any) -> Any:
    return _dual(t, lambda x, y: t.mul(x, y, out=y), [1.0, 2.0], [3.0, 4.0])


def out_of_two_results(t: Any) -> Any:
    def f(x: Any) -> Any:
        return t.sort(x, descending=True, out=(t.empty(2), t.empty(2, dtype=t.int64)))[0]

    return _dual(t, f, [1.0, 2.0])


def out_of_another_size(t: Any) -> Any:
    return _dual(t, lambda x: t.mul(x, 2, out=t.empty(0)), [1.0, 2.0])


def out_of_another_dtype(t: Any) -> Any:
    return _dual(t, lambda x: t.mul(x, 2, out=t.empty(2, dtype=t.float64)), [1.0, 2.0])


def out_that_requires_grad(t: Any) -> Any:
    return _dual(t, lambda x: t.mul(x, 2, out=t.empty(2, requires_grad=True)), [1.0, 2.0])


def a_jvp_for_two_outputs(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return g * 2, g * 3

    return _dual(t, lambda x: sum(F.apply(x)), [1.0, 2.0])


def a_jvp_given_to_a_view(t: Any) -> Any:
    f = _with_jvp(t, lambda ctx, g: g.view(2, 1), lambda ctx, x: x.view(2, 1))
    return _dual(t, f.apply, [1.0, 2.0])


def a_jvp_of_no_dual(t: Any) -> Any:
    called: list[int] = []
    f = _with_jvp(t, lambda ctx, g: called.append(1))
    with t.autograd.forward_ad.dual_level():
        f.apply(t.ones(2))
    return called


def a_jvp_that_raises(t: Any) -> Any:
    def jvp(ctx: Any, g: Any) -> Any:
        raise ValueError("no jvp")

    return _dual(t, _with_jvp(t, jvp).apply, [1.0, 2.0])


def a_function_with_jvp_and_backward(t: Any) -> Any:
    fw = t.autograd.forward_ad
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level():
        d = fw.make_dual(x, t.ones(2))
        y = _scaled(t, False).apply(d, 3.0)
        tangent = fw.unpack_dual(y).tangent
        y.sum().backward()
        return tangent, tuple(fw.unpack_dual(x.grad))


def _normed(t: Any, training: bool, **tangents: Any) -> Any:
    """A batch norm of duals: the parts of its output and of both running statistics."""
    fw = t.autograd.forward_ad
    given = {
        "input": t.tensor([[1.0, 5.0], [2.0, 4.0], [4.0, 9.0]]),
        "running_mean": t.tensor([1.0, 2.0]),
        "running_var": t.tensor([3.0, 2.0]),
    }
    with fw.dual_level():
        for name, tangent in tangents.items():
            given[name] = fw.make_dual(given[name], t.tensor(tangent))
        out = t.nn.functional.batch_norm(**given, training=training)
        parts = out, given["running_mean"], given["running_var"]
        return [tuple(fw.unpack_dual(part)) for part in parts]


_ROWS = [[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]]


def running_statistics_get_no_tangent(t: Any) -> Any:
    return _normed(t, True, input=_ROWS)


def running_statistics_keep_a_tangent(t: Any) -> Any:
    return _normed(t, True, input=_ROWS, running_mean=[1.0, 1.0])


def running_statistics_alone_give_no_tangent(t: Any) -> Any:
    return [
        _normed(t, training, running_mean=[1.0, 1.0], running_var=[2.0, 1.0])
        for training in (True, False)
    ]


def running_statistics_have_no_derivative(t: Any) -> Any:
    return _normed(t, False, input=_ROWS, running_var=[1.0, 1.0])


def running_statistics_captured_by_jvp(t: Any) -> Any:
    mean, var = t.zeros(2), t.ones(2)

    def f(x: Any) -> Any:
        return t.nn.functional.batch_norm(x, mean, var, training=True)

    x = t.tensor([[1.0, 5.0], [2.0, 4.0], [4.0, 9.0]])
    return t.func.jvp(f, (x,), (t.tensor(_ROWS),)), t.func.jacfwd(f)(x.sin()), mean, var


def a_dual_written_into_what_was_detached(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.tensor([1.0, 2.0]), t.ones(2))
        x = t.tensor([3.0, 4.0])
        part = x.detach()
        part.mul_(d)
        element = x.data
        element[0] = d[1]
        return [tuple(fw.unpack_dual(each)) for each in (x, part, element, part * d)]


def a_result_written_through_detach(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        d = fw.make_dual(t.tensor([1.0, 2.0]), t.ones(2))
        y = d * 2
        part = y.detach()
        part.mul_(d)
        seen = [fw.unpack_dual(each * 1) for each in (y, part)]
        y.add_(d)
        part.view(2, 1).mul_(2)
        return [tuple(pair) for pair in (*seen, *map(fw.unpack_dual, (y, part)))]


def jvp_through_what_was_detached(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        part = y.detach()
        part.mul_(x)
        made = t.zeros(2)
        made.detach().add_(x)
        return y, part, made, part * x

    return t.func.jvp(f, (t.tensor([1.0, 2.0]),), (t.ones(2),))


def a_branch_on_a_value_in_jacfwd(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x.sin()
        return y * 2 if y.sum() > 0 else y * 3

    return t.func.jacfwd(f)(t.tensor([1.0, 2.0])), t.func.hessian(lambda x: f(x).sum())(t.ones(2))
