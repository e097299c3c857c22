"""Inference mode: which tensors are inference tensors, and what may be done with them where."""

from __future__ import annotations

from typing import Any


def _made_inside(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(2, 3)


def a_tensor_made_inside(t: Any) -> Any:
    x = _made_inside(t)
    return x.is_inference(), x.requires_grad, x.is_leaf


def a_tensor_that_asks_for_gradients_inside(t: Any) -> Any:
    with t.inference_mode():
        x = t.ones(2, requires_grad=True)
        y = x * 2
    return x.requires_grad, y.requires_grad, x.is_inference(), y.is_inference()


def modes_inside(t: Any) -> Any:
    with t.inference_mode():
        return t.is_inference_mode_enabled(), t.is_grad_enabled()


def modes_after(t: Any) -> Any:
    with t.inference_mode():
        pass
    return t.is_inference_mode_enabled(), t.is_grad_enabled()


def modes_after_an_error(t: Any) -> Any:
    try:
        with t.inference_mode():
            raise KeyError
    except KeyError:
        return t.is_inference_mode_enabled(), t.is_grad_enabled()


def a_normal_region_inside(t: Any) -> Any:
    with t.inference_mode(), t.inference_mode(False):
        x = t.ones(2, requires_grad=True)
        y = x * 2
        return t.is_grad_enabled(), y.requires_grad, y.is_inference()


def grad_mode_inside(t: Any) -> Any:
    with t.inference_mode(), t.enable_grad():
        y = t.ones(2, requires_grad=True) * 2
        return t.is_grad_enabled(), y.requires_grad, y.is_inference()


def as_a_decorator(t: Any) -> Any:
    return t.inference_mode()(lambda: t.ones(2).is_inference())()


def as_a_decorator_without_a_call(t: Any) -> Any:
    return t.inference_mode(lambda: t.ones(2).is_inference())()


def as_a_decorator_switched_off(t: Any) -> Any:
    return t.inference_mode(mode=False)(lambda: t.ones(2).is_inference())()


def a_result_of_a_normal_tensor_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    with t.inference_mode():
        y = x * 2
    return y.is_inference(), y.requires_grad, y.grad_fn


def a_view_of_a_normal_tensor_inside(t: Any) -> Any:
    x = t.ones(2, 3)
    with t.inference_mode():
        y = x.view(6)
    return y.is_inference(), y.requires_grad, y._is_view()


def a_view_of_a_leaf_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    with t.inference_mode():
        y = x.view(6)
    return y.is_inference(), y.requires_grad, y.is_leaf, y._is_view()


def a_view_of_a_result_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True) * 1
    with t.inference_mode():
        y = x.view(6)
    return y.is_inference(), y.requires_grad, y.is_leaf


def a_detached_normal_tensor_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    with t.inference_mode():
        y = x.detach()
    return y.is_inference(), y.requires_grad


def a_view_of_a_view_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True).view(6)
    with t.inference_mode():
        y = x[:2]
    return y.is_inference(), y.requires_grad


def a_view_of_an_inference_tensor_outside(t: Any) -> Any:
    y = _made_inside(t).view(6)
    return y.is_inference(), y.requires_grad, y._is_view()


def a_view_of_an_inference_tensor_inside(t: Any) -> Any:
    with t.inference_mode():
        y = t.ones(2, 3).view(6)
    return y.is_inference(), y._is_view()


def a_result_of_an_inference_tensor_outside(t: Any) -> Any:
    y = _made_inside(t) * 2
    return y.is_inference(), y.requires_grad


def a_result_of_both_outside(t: Any) -> Any:
    y = _made_inside(t) + t.ones(2, 3, requires_grad=True)
    return y.is_inference(), y.requires_grad, y


def a_clone_outside(t: Any) -> Any:
    y = _made_inside(t).clone()
    return y.is_inference(), y.requires_grad_().requires_grad


def a_detached_inference_tensor_outside(t: Any) -> Any:
    return _made_inside(t).detach().is_inference()


def contiguous_outside(t: Any) -> Any:
    x = _made_inside(t)
    return x.contiguous().is_inference(), x.t().contiguous().is_inference()


def the_same_dtype_outside(t: Any) -> Any:
    x = _made_inside(t)
    return x.to(t.float32).is_inference(), x.to(t.float64).is_inference()


def requires_grad_of_an_inference_tensor_outside(t: Any) -> Any:
    return _made_inside(t).requires_grad_()


def requires_grad_set_outside(t: Any) -> Any:
    _made_inside(t).requires_grad = True


def requires_grad_false_outside(t: Any) -> Any:
    return _made_inside(t).requires_grad_(False).requires_grad


def requires_grad_inside(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(2).requires_grad_().requires_grad


def in_place_outside(t: Any) -> Any:
    return _made_inside(t).add_(1)


def in_place_outside_without_gradients(t: Any) -> Any:
    with t.no_grad():
        return _made_inside(t).add_(1)


def in_place_on_a_view_outside(t: Any) -> Any:
    return _made_inside(t).view(6).mul_(2)


def item_assignment_outside(t: Any) -> Any:
    _made_inside(t)[0] = 3.0


def copy_into_it_outside(t: Any) -> Any:
    return _made_inside(t).copy_(t.ones(2, 3))


def copy_from_it_outside(t: Any) -> Any:
    return t.zeros(2, 3).copy_(_made_inside(t))


def filling_outside(t: Any) -> Any:
    return _made_inside(t).zero_()


def drawing_outside(t: Any) -> Any:
    return _made_inside(t).normal_()


def in_place_inside(t: Any) -> Any:
    x = _made_inside(t)
    with t.inference_mode():
        x.add_(1)
    return x


def in_place_on_a_normal_tensor_inside(t: Any) -> Any:
    x = t.ones(2)
    with t.inference_mode():
        x.add_(1)
    return x, x.is_inference(), x._version


def in_place_on_a_leaf_inside(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.inference_mode():
        x.add_(1)
    return x, x.requires_grad


def in_place_on_a_result_inside(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = x * 2
    with t.inference_mode():
        y.mul_(3)
    y.sum().backward()
    return y, x.grad


def in_place_on_a_view_made_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True) * 1
    with t.inference_mode():
        y = x.view(6)
    return y.mul_(2)


def in_place_on_a_view_made_inside_of_a_tensor_without_gradients(t: Any) -> Any:
    x = t.ones(2, 3)
    with t.inference_mode():
        y = x.view(6)
    y.mul_(2)
    return x, y


def in_place_on_a_view_made_inside_under_no_grad(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True) * 1
    with t.inference_mode():
        y = x.view(6)
    with t.no_grad():
        y.mul_(2)
    return x


def a_leaf_written_through_a_view_made_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    with t.inference_mode():
        y = x.view(6)
    return y.mul_(2)


def requires_grad_of_a_view_made_inside(t: Any) -> Any:
    x = t.ones(2, 3)
    with t.inference_mode():
        y = x.view(6)
    return y.requires_grad_().requires_grad


def out_is_an_inference_tensor_outside(t: Any) -> Any:
    out = _made_inside(t)
    return t.add(t.ones(2, 3), 1, out=out)


def out_is_an_inference_tensor_inside(t: Any) -> Any:
    out = _made_inside(t)
    with t.inference_mode():
        return t.add(t.ones(2, 3), 1, out=out).is_inference()


def out_is_normal_inside(t: Any) -> Any:
    out = t.zeros(2, 3)
    with t.inference_mode():
        t.add(t.ones(2, 3), 1, out=out)
    return out, out.is_inference()


def out_requires_grad_inside(t: Any) -> Any:
    out = t.zeros(2, 3, requires_grad=True)
    with t.inference_mode():
        return t.add(t.ones(2, 3), 1, out=out)


def a_version_of_an_inference_tensor(t: Any) -> Any:
    return _made_inside(t)._version


def a_version_inside(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(2)._version


def a_version_of_a_clone(t: Any) -> Any:
    return _made_inside(t).clone()._version


def saved_for_backward(t: Any) -> Any:
    return t.ones(2, 3, requires_grad=True) * _made_inside(t)


def saved_for_backward_by_a_function_that_keeps_nothing(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    (x + _made_inside(t)).sum().backward()
    return x.grad


def saved_by_a_linear_layer(t: Any) -> Any:
    return t.nn.Linear(3, 1)(_made_inside(t))


def saved_by_a_frozen_linear_layer(t: Any) -> Any:
    layer = t.nn.Linear(3, 1).requires_grad_(False)
    return layer(_made_inside(t)).shape


def backward_inside(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with t.inference_mode():
        y.backward()
    return x.grad, x.grad.is_inference()


def backward_of_what_was_computed_inside(t: Any) -> Any:
    with t.inference_mode():
        y = t.ones(2, requires_grad=True).sum()
    y.backward()


def an_inference_tensor_as_the_gradient(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    (x * 2).backward(_made_inside(t))
    return x.grad, x.grad.is_inference()


def an_inference_tensor_assigned_to_grad(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    x.grad = _made_inside(t)
    return x.grad.is_inference()


def a_parameter_made_inside(t: Any) -> Any:
    with t.inference_mode():
        p = t.nn.Parameter(t.ones(2))
    return p.is_inference(), p.requires_grad


def a_parameter_of_an_inference_tensor(t: Any) -> Any:
    p = t.nn.Parameter(_made_inside(t))
    return p.is_inference(), p.requires_grad


def a_parameter_of_an_inference_tensor_used_outside(t: Any) -> Any:
    p = t.nn.Parameter(_made_inside(t))
    return (p * p).sum()


def a_module_made_inside_and_trained_outside(t: Any) -> Any:
    with t.inference_mode():
        layer = t.nn.Linear(3, 1)
    return layer(t.ones(2, 3))


def a_buffer_updated_inside(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(3)
    with t.inference_mode():
        norm(t.ones(2, 3))
    return norm.running_mean.is_inference(), norm.num_batches_tracked


def set_data_to_an_inference_tensor(t: Any) -> Any:
    x = t.ones(2, 3)
    x.data = _made_inside(t)
    return x.is_inference()


def set_data_of_an_inference_tensor(t: Any) -> Any:
    x = _made_inside(t)
    x.data = t.zeros(2, 3)
    return x.is_inference(), x.tolist()


def data_of_an_inference_tensor(t: Any) -> Any:
    return _made_inside(t).data.is_inference()


def a_hook_on_an_inference_tensor(t: Any) -> Any:
    return _made_inside(t).register_hook(lambda g: g)


def numpy_and_back_inside(t: Any) -> Any:
    with t.inference_mode():
        return t.from_numpy(t.ones(2).numpy()).is_inference(), t.tensor([1.0]).is_inference()


def a_list_of_views_inside(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True) * 1
    with t.inference_mode():
        a, b = x.unbind(0)
    return a.is_inference(), a.requires_grad, b.add_(1)


def resized_outside(t: Any) -> Any:
    return _made_inside(t).resize_(3)


def unsqueezed_in_place_outside(t: Any) -> Any:
    return _made_inside(t).unsqueeze_(0)


def detached_in_place_outside(t: Any) -> Any:
    return _made_inside(t).detach_().is_inference()


def a_checkpointed_region_inside(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.inference_mode():
        y = t.utils.checkpoint.checkpoint(lambda a: a * 2, x, use_reentrant=False)
    return y.requires_grad, y.is_inference()


def a_deep_copy_outside(t: Any) -> Any:
    import copy

    return copy.deepcopy(_made_inside(t)).is_inference()


def the_private_guard_of_grad_mode_modules(t: Any) -> Any:
    guard = t.autograd.grad_mode.inference_mode(True)
    with guard:
        inside = t.ones(1).is_inference()
    return inside, guard.mode


def used_as_an_index(t: Any) -> Any:
    with t.inference_mode():
        i = t.tensor([1, 0])
    x = t.ones(2, requires_grad=True)
    return x[i]


def _beside(t: Any, function: Any) -> Any:
    """The gradient of a function of a leaf and an inference tensor, with respect to the leaf."""
    x = t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = function(x, _made_inside(t))
    return t.autograd.grad(y.sum(), x)


def _index(t: Any, values: Any = (1, 0)) -> Any:
    with t.inference_mode():
        return t.tensor(values)


def a_summand(t: Any) -> Any:
    return _beside(t, lambda x, i: x + i)


def a_subtrahend(t: Any) -> Any:
    return _beside(t, lambda x, i: x - i)


def a_summand_with_a_factor(t: Any) -> Any:
    return _beside(t, lambda x, i: t.add(x, i, alpha=2))


def a_divisor(t: Any) -> Any:
    return _beside(t, lambda x, i: x / i)


def a_dividend(t: Any) -> Any:
    return _beside(t, lambda x, i: i / x)


def a_maximum(t: Any) -> Any:
    return _beside(t, t.maximum)


def an_exponent(t: Any) -> Any:
    return _beside(t, t.pow)


def a_matrix_product(t: Any) -> Any:
    return _beside(t, lambda x, i: x @ i.t())


def the_other_summand_of_addmm(t: Any) -> Any:
    return _beside(t, lambda x, i: t.addmm(i[:, :2], x, t.ones(3, 2)))


def a_mask(t: Any) -> Any:
    m = _index(t, [True, False, True])
    return _beside(t, lambda x, _: x.masked_fill(m, 0.0))


def a_condition(t: Any) -> Any:
    c = _index(t, [True, False, True])
    return _beside(t, lambda x, _: t.where(c, x, 0.0))


def what_a_condition_chooses(t: Any) -> Any:
    c = t.tensor([True, False, True])
    return _beside(t, lambda x, i: t.where(c, x, i))


def the_indices_of_gather(t: Any) -> Any:
    index = _index(t, [[1, 0]])
    return _beside(t, lambda x, _: x.gather(1, index))


def the_indices_of_an_embedding(t: Any) -> Any:
    index = _index(t)
    return _beside(t, lambda x, _: t.nn.functional.embedding(index, x))


def the_target_of_a_loss(t: Any) -> Any:
    return _beside(t, t.nn.functional.mse_loss)


def the_classes_of_cross_entropy(t: Any) -> Any:
    classes = _index(t)
    return _beside(t, lambda x, _: t.nn.functional.cross_entropy(x, classes))


def joined(t: Any) -> Any:
    return _beside(t, lambda x, i: t.cat([x, i]))


def stacked(t: Any) -> Any:
    return _beside(t, lambda x, i: t.stack([x, i]))


def what_is_scattered(t: Any) -> Any:
    return _beside(t, lambda x, i: x.scatter_add(0, t.zeros(2, 3, dtype=t.int64), i))


def what_is_copied_from_it(t: Any) -> Any:
    return _beside(t, lambda x, i: (x * 1).copy_(i) + x)


def interpolated(t: Any) -> Any:
    return _beside(t, lambda x, i: t.lerp(x, i, 0.25))


def the_weights_of_an_interpolation(t: Any) -> Any:
    return _beside(t, lambda x, i: t.lerp(x, t.zeros(2, 3), i))


def the_input_of_a_layer_norm(t: Any) -> Any:
    return t.nn.LayerNorm(3)(_made_inside(t))


def the_input_of_a_convolution(t: Any) -> Any:
    return t.nn.Conv1d(2, 1, 1)(_made_inside(t))


def a_view_that_is_saved(t: Any) -> Any:
    return _beside(t, lambda x, i: x * i.view(2, 3))


def a_clone_that_is_saved(t: Any) -> Any:
    return _beside(t, lambda x, i: x * i.clone())


def saved_without_gradients(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    with t.no_grad():
        return x * _made_inside(t)


def saved_by_a_custom_function(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, i: Any) -> Any:
            ctx.save_for_backward(i)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0], None

    return _beside(t, F.apply)


def saved_in_place(t: Any) -> Any:
    return _beside(t, lambda x, i: (x * 1).mul_(i))


def saved_under_hooks(t: Any) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return _beside(t, lambda x, i: x * i)


def saved_after_the_mode_by_another(t: Any) -> Any:
    i = _made_inside(t)
    return _beside(t, lambda x, _: x * (i + 0))
