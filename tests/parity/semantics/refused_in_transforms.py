"""What ``vmap`` and the transforms of ``torch.func`` refuse, and in which words."""

from __future__ import annotations

from typing import Any


def _x(t: Any) -> Any:
    return t.ones(3, 2)


def _mapped(function: Any, *args: Any, **how: Any) -> Any:
    """A behaviour that maps ``function(t, example)`` over a tensor, or over ``args(t)``."""

    def behaviour(t: Any) -> Any:
        given = [a(t) if callable(a) else a for a in args] if args else [_x(t)]
        return t.func.vmap(lambda *a: function(t, *a), **how)(*given)

    behaviour.__module__ = __name__
    return behaviour


def _transformed(call: Any) -> Any:
    """A behaviour that calls ``call(t, t.func, x)``."""

    def behaviour(t: Any) -> Any:
        return call(t, t.func, t.ones(3))

    behaviour.__module__ = __name__
    return behaviour


def _with_hooks(t: Any, x: Any) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: a):
        return (x * x).sum()


def _first(t: Any) -> Any:
    return _x(t)[:, 0]


_TABLE = {
    "a_tensor_without_dimensions": _mapped(lambda t, a: a.sum(), lambda t: t.tensor(1.0)),
    "a_dimension_that_is_not_there": _mapped(lambda t, a: a, in_dims=2),
    "more_dimensions_than_arguments": _mapped(lambda t, a: a, in_dims=(0, 0)),
    "a_result_that_is_a_number": _mapped(lambda t, a: 1),
    "a_value_asked_for": _mapped(lambda t, a: a.item(), _first),
    "a_branch_on_a_value": _mapped(lambda t, a: a if a.sum() > 0 else -a),
    "a_dimension_of_results_out_of_range": _mapped(lambda t, a: a, out_dims=3),
    "too_few_dimensions_of_results": _mapped(lambda t, a: (a, a), out_dims=(0,)),
    "sizes_that_differ": _mapped(lambda t, a, b: a, _x, lambda t: t.ones(4)),
    "nothing_mapped": _mapped(lambda t, a: a, in_dims=None),
    "a_dictionary_of_dimensions": _mapped(lambda t, a: a, in_dims={}),
    "an_argument_that_is_text": _mapped(lambda t, a: a, "a"),
    "draws": _mapped(lambda t, a: t.randn(2)),
    "a_randomness_nobody_knows": _mapped(lambda t, a: t.randn(2), randomness="foo"),
    "places_that_are_not_zero": _mapped(lambda t, a: a.nonzero()),
    "chosen_by_a_mask": _mapped(lambda t, a: a[a > 0]),
    "chunks_of_nothing": _mapped(lambda t, a: a, chunk_size=0),
    "half_a_dimension": _mapped(lambda t, a: a, in_dims=0.5),
    "gradients_begun_inside": _mapped(lambda t, a: a.requires_grad_()),
    "an_array": _mapped(lambda t, a: a.numpy()),
    "a_list": _mapped(lambda t, a: a.tolist()),
    "a_dictionary_of_results": _mapped(lambda t, a: {"a": a}),
    "none_among_the_results": _mapped(lambda t, a: [a, None]),
    "no_dimension_of_what_is_mapped": _mapped(lambda t, a: a, out_dims=None),
    "no_dimension_of_what_is_not": _mapped(lambda t, a: t.ones(2), out_dims=None),
    "an_address": _mapped(lambda t, a: a.data_ptr()),
    "resized": _mapped(lambda t, a: a.resize_(1)),
    "unique_values": _mapped(lambda t, a: a.unique()),
    "compared_as_a_whole": _mapped(lambda t, a: t.equal(a, a)),
    "asked_whether_zero": _mapped(lambda t, a: a.is_nonzero(), _first),
    "the_gradient_of_many": _transformed(lambda t, f, x: f.grad(lambda a: a)(x)),
    "the_gradient_of_integers": _transformed(lambda t, f, x: f.grad(lambda a: a.sum().long())(x)),
    "the_gradient_of_a_number": _transformed(lambda t, f, x: f.grad(lambda a: 1.0)(x)),
    "an_argument_that_is_not_there": _transformed(
        lambda t, f, x: f.grad(lambda a: a.sum(), argnums=1)(x)
    ),
    "no_argument": _transformed(lambda t, f, x: f.grad(lambda a: a.sum(), argnums=())(x)),
    "an_argument_by_name": _transformed(lambda t, f, x: f.grad(lambda a: a.sum(), argnums="a")(x)),
    "hooks_on_what_is_saved": _transformed(lambda t, f, x: f.grad(lambda a: _with_hooks(t, a))(x)),
    "written_into_what_is_captured": _transformed(
        lambda t, f, x: f.grad(lambda a: x.copy_(a).sum())(t.zeros(3))
    ),
    "aux_that_is_no_tensor": _transformed(
        lambda t, f, x: f.grad(lambda a: (a.sum(), 1), has_aux=True)(x)
    ),
    "aux_that_is_missing": _transformed(lambda t, f, x: f.grad(lambda a: a.sum(), has_aux=True)(x)),
    "a_cotangent_of_another_size": _transformed(
        lambda t, f, x: f.vjp(lambda a: a, x)[1](t.ones(2))
    ),
    "one_cotangent_of_two": _transformed(lambda t, f, x: f.vjp(lambda a: (a, a), x)[1](x)),
    "vjp_of_a_number": _transformed(lambda t, f, x: f.vjp(lambda a: 1, x)),
    "a_tangent_of_another_size": _transformed(
        lambda t, f, x: f.jvp(lambda a: a, (x,), (t.ones(2),))
    ),
    "primals_that_are_no_tuple": _transformed(lambda t, f, x: f.jvp(lambda a: a, x, x)),
    "more_tangents_than_primals": _transformed(lambda t, f, x: f.jvp(lambda a: a, (x,), (x, x))),
    "jvp_of_a_number": _transformed(lambda t, f, x: f.jvp(lambda a: 1, (x,), (x,))),
    "primals_that_are_numbers": _transformed(lambda t, f, x: f.jvp(lambda a: a, (1.0,), (1.0,))),
    "jacrev_of_a_number": _transformed(lambda t, f, x: f.jacrev(lambda a: 1)(x)),
    "jacrev_of_an_argument_not_there": _transformed(
        lambda t, f, x: f.jacrev(lambda a: a, argnums=3)(x)
    ),
    "jacfwd_of_a_number": _transformed(lambda t, f, x: f.jacfwd(lambda a: 1)(x)),
    "jacrev_in_negative_chunks": _transformed(
        lambda t, f, x: f.jacrev(lambda a: a, chunk_size=-1)(x)
    ),
    "hessian_of_text": _transformed(lambda t, f, x: f.hessian(lambda a: a.sum())("a")),
    "gradients_begun_in_grad": _transformed(
        lambda t, f, x: f.grad(lambda a: a.requires_grad_().sum())(x)
    ),
    "a_call_with_a_name_that_is_not_there": _transformed(
        lambda t, f, x: f.functional_call(t.nn.Linear(1, 1), {"x": x}, (x,))
    ),
    "linearized_along_another_size": _transformed(
        lambda t, f, x: f.linearize(lambda a: a * 2, x)[1](t.ones(2))
    ),
    "no_modules_stacked": _transformed(lambda t, f, x: f.stack_module_state([])),
    "other_modules_stacked": _transformed(
        lambda t, f, x: f.stack_module_state([t.nn.Linear(1, 1), t.nn.ReLU()])
    ),
    "backward_inside": _transformed(lambda t, f, x: f.grad(lambda a: a.backward())(x.sum())),
    "the_value_of_many": _transformed(lambda t, f, x: f.grad_and_value(lambda a: a)(x)),
    "the_gradient_for_integers": _transformed(
        lambda t, f, x: f.grad(lambda a: a.sum())(t.ones(2, dtype=t.long))
    ),
}
globals().update(_TABLE)
