"""``vmap``: random numbers in its three modes, writes, levels, and what it says of refusals."""

from __future__ import annotations

from typing import Any


def _random(t: Any, function: Any, randomness: str, *, mapped: bool = True) -> Any:
    """What each example's random numbers are: equal over examples or not, and their shape."""
    x = t.zeros(3, 4)
    found = t.vmap(function, in_dims=0 if mapped else (None, 0), randomness=randomness)(
        *((x,) if mapped else (t.zeros(4), t.zeros(3)))
    )
    rows = [found[i] for i in range(3)]
    return found.shape, [bool((r == rows[0]).all()) for r in rows], found.dtype


def _values(t: Any, function: Any, randomness: str) -> Any:
    return t.vmap(function, randomness=randomness)(t.zeros(3, 4))


def in_place_different(t: Any) -> Any:
    return _random(t, lambda x: x.normal_(), "different")


def in_place_same_on_what_is_mapped(t: Any) -> Any:
    return _random(t, lambda x: x.normal_(), "same")


def in_place_error(t: Any) -> Any:
    return _random(t, lambda x: x.normal_(), "error")


def in_place_different_on_what_is_not_mapped(t: Any) -> Any:
    return _random(t, lambda x, _: x.normal_(), "different", mapped=False)


def in_place_same_on_what_is_not_mapped(t: Any) -> Any:
    return _random(t, lambda x, _: x.normal_(), "same", mapped=False)


def in_place_error_on_what_is_not_mapped(t: Any) -> Any:
    return _random(t, lambda x, _: x.normal_(), "error", mapped=False)


def uniform_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.uniform_(), "different")


def uniform_in_place_same(t: Any) -> Any:
    return _values(t, lambda x: x.uniform_(), "same")


def uniform_in_place_error(t: Any) -> Any:
    return _values(t, lambda x: x.uniform_(), "error")


def random_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.random_(10), "different")


def random_in_place_same(t: Any) -> Any:
    return _values(t, lambda x: x.random_(10), "same")


def exponential_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.exponential_(), "different")


def exponential_in_place_same(t: Any) -> Any:
    return _values(t, lambda x: x.exponential_(), "same")


def geometric_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.geometric_(0.4), "different")


def cauchy_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.cauchy_(), "different")


def log_normal_in_place_same(t: Any) -> Any:
    return _values(t, lambda x: x.log_normal_(), "same")


def bernoulli_in_place_different(t: Any) -> Any:
    return _values(t, lambda x: x.bernoulli_(0.5), "different")


def bernoulli_in_place_same(t: Any) -> Any:
    return _values(t, lambda x: x.bernoulli_(0.5), "same")


def bernoulli_in_place_with_mapped_probabilities_different(t: Any) -> Any:
    return _values(t, lambda x: x.bernoulli_(x + 0.5), "different")


def bernoulli_in_place_with_mapped_probabilities_same(t: Any) -> Any:
    return _values(t, lambda x: x.bernoulli_(x + 0.5), "same")


def bernoulli_in_place_with_probabilities_that_are_not_mapped_same(t: Any) -> Any:
    p = t.full((4,), 0.5)
    return _values(t, lambda x: x.bernoulli_(p), "same")


def a_new_tensor_written_to_same(t: Any) -> Any:
    return _values(t, lambda x: t.zeros(4).normal_() + x, "same")


def a_new_tensor_written_to_different(t: Any) -> Any:
    return _values(t, lambda x: t.zeros(4).normal_() + x, "different")


def a_copy_written_to_same(t: Any) -> Any:
    return _values(t, lambda x: x.clone().normal_(), "same")


def randn_different(t: Any) -> Any:
    return _values(t, lambda x: x + t.randn(4), "different")


def randn_same(t: Any) -> Any:
    return _values(t, lambda x: x + t.randn(4), "same")


def randn_error(t: Any) -> Any:
    return _values(t, lambda x: x + t.randn(4), "error")


def rand_different(t: Any) -> Any:
    return _values(t, lambda x: x + t.rand(4), "different")


def rand_same(t: Any) -> Any:
    return _values(t, lambda x: x + t.rand(4), "same")


def randint_different(t: Any) -> Any:
    return _values(t, lambda x: x + t.randint(10, (4,)), "different")


def randint_same(t: Any) -> Any:
    return _values(t, lambda x: x + t.randint(10, (4,)), "same")


def randperm_different(t: Any) -> Any:
    return _values(t, lambda x: x + t.randperm(4), "different")


def randperm_same(t: Any) -> Any:
    return _values(t, lambda x: x + t.randperm(4), "same")


def rand_like_different(t: Any) -> Any:
    return _values(t, lambda x: t.rand_like(x), "different")


def rand_like_same(t: Any) -> Any:
    return _values(t, lambda x: t.rand_like(x), "same")


def randn_like_error(t: Any) -> Any:
    return _values(t, lambda x: t.randn_like(x), "error")


def bernoulli_same_of_mapped_probabilities(t: Any) -> Any:
    return _values(t, lambda x: t.bernoulli(x + 0.5), "same")


def bernoulli_different_of_mapped_probabilities(t: Any) -> Any:
    return _values(t, lambda x: t.bernoulli(x + 0.5), "different")


def bernoulli_error(t: Any) -> Any:
    return _values(t, lambda x: t.bernoulli(x + 0.5), "error")


def normal_of_mapped_means_different(t: Any) -> Any:
    return _values(t, lambda x: t.normal(x, 1.0), "different")


def normal_of_mapped_means_same(t: Any) -> Any:
    return _values(t, lambda x: t.normal(x, 1.0), "same")


def multinomial_different(t: Any) -> Any:
    return _values(t, lambda x: t.multinomial(x + 1, 2), "different")


def multinomial_same(t: Any) -> Any:
    return _values(t, lambda x: t.multinomial(x + 1, 2), "same")


def dropout_different(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.dropout(x + 1, 0.5), "different")


def dropout_same(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.dropout(x + 1, 0.5), "same")


def dropout_error(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.dropout(x + 1, 0.5), "error")


def dropout_in_evaluation(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.dropout(x + 1, 0.5, False), "error")


def alpha_dropout_error(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.alpha_dropout(x + 1, 0.5, True), "error")


def feature_dropout_same(t: Any) -> Any:
    def f(x: Any) -> Any:
        return t.nn.functional.feature_dropout(x.view(1, 2, 2) + 1, 0.5, True)

    return _values(t, f, "same")


def rrelu_error(t: Any) -> Any:
    return _values(t, lambda x: t.nn.functional.rrelu(x, training=True), "error")


def an_unknown_mode(t: Any) -> Any:
    return _values(t, lambda x: x, "some")


def a_generator(t: Any) -> Any:
    g = t.Generator().manual_seed(3)
    return _values(t, lambda x: x + t.randn(4, generator=g), "same")


def nested_same_in_different(t: Any) -> Any:
    def inner(x: Any) -> Any:
        return x + t.randn(())

    def outer(x: Any) -> Any:
        return t.vmap(inner, randomness="same")(x)

    found = _values(t, outer, "different")
    return bool((found[:, :1] == found).all()), bool((found[:1] == found).all())


def nested_different_in_same(t: Any) -> Any:
    def inner(x: Any) -> Any:
        return x + t.randn(())

    def outer(x: Any) -> Any:
        return t.vmap(inner, randomness="different")(x)

    found = _values(t, outer, "same")
    return bool((found[:, :1] == found).all()), bool((found[:1] == found).all())


def nested_error_in_different(t: Any) -> Any:
    return _values(t, lambda x: t.vmap(lambda y: y + t.randn(()))(x), "different")


def chunks_different(t: Any) -> Any:
    return t.vmap(lambda x: x + t.randn(4), randomness="different", chunk_size=2)(t.zeros(3, 4))


def chunks_same(t: Any) -> Any:
    return t.vmap(lambda x: x + t.randn(4), randomness="same", chunk_size=2)(t.zeros(3, 4))


def no_arguments(t: Any) -> Any:
    return t.vmap(lambda: t.ones(2))()


def an_argument_that_is_no_tensor(t: Any) -> Any:
    return t.vmap(lambda x: x)(3)


def a_scalar(t: Any) -> Any:
    return t.vmap(lambda x: x)(t.tensor(1.0))


def sizes_that_differ(t: Any) -> Any:
    return t.vmap(lambda x, y: x + y)(t.ones(2), t.ones(3))


def no_argument_mapped(t: Any) -> Any:
    return t.vmap(lambda x: x, in_dims=(None,))(t.ones(2))


def in_dims_of_another_structure(t: Any) -> Any:
    return t.vmap(lambda x, y: x, in_dims=(0,))(t.ones(2), t.ones(2))


def in_dims_out_of_range(t: Any) -> Any:
    return t.vmap(lambda x: x, in_dims=3)(t.ones(2))


def in_dims_of_a_list(t: Any) -> Any:
    return t.vmap(lambda x: x, in_dims=[0])(t.ones(2))


def out_dims_out_of_range(t: Any) -> Any:
    return t.vmap(lambda x: x, out_dims=3)(t.ones(2, 2))


def out_dims_of_another_structure(t: Any) -> Any:
    return t.vmap(lambda x: (x, x), out_dims=(0, 0, 0))(t.ones(2, 2))


def out_dims_of_a_string(t: Any) -> Any:
    return t.vmap(lambda x: x, out_dims="0")(t.ones(2, 2))


def out_dims_none_of_a_mapped_result(t: Any) -> Any:
    return t.vmap(lambda x: x * 2, out_dims=None)(t.ones(2, 2))


def a_result_that_is_no_tensor(t: Any) -> Any:
    return t.vmap(lambda x: 3)(t.ones(2))


def a_result_that_is_none(t: Any) -> Any:
    return t.vmap(lambda x: None)(t.ones(2))


def item(t: Any) -> Any:
    return t.vmap(lambda x: x.item())(t.ones(2))


def a_condition(t: Any) -> Any:
    return t.vmap(lambda x: x if x > 0 else -x)(t.ones(2))


def a_shape_that_depends_on_values(t: Any) -> Any:
    return t.vmap(lambda x: x.nonzero())(t.ones(2, 3))


def a_mask_as_an_index(t: Any) -> Any:
    return t.vmap(lambda x: x[x > 0])(t.ones(2, 3))


def written_into_what_is_not_mapped(t: Any) -> Any:
    out = t.zeros(3)
    return t.vmap(lambda x: out.add_(x))(t.ones(2, 3))


def written_into_a_new_tensor(t: Any) -> Any:
    return t.vmap(lambda x: t.zeros(3).add_(x))(t.ones(2, 3))


def out_in_vmap(t: Any) -> Any:
    return t.vmap(lambda x: t.add(x, 1, out=t.empty(3)))(t.ones(2, 3))


def backward_in_vmap(t: Any) -> Any:
    x = t.ones(2, 3, requires_grad=True)
    return t.vmap(lambda a: (a * 2).sum().backward())(x)


def to_numpy(t: Any) -> Any:
    return t.vmap(lambda x: x.numpy())(t.ones(2, 3))


def to_a_list(t: Any) -> Any:
    return t.vmap(lambda x: x.tolist())(t.ones(2, 3))


def a_chunk_size_of_zero(t: Any) -> Any:
    return t.vmap(lambda x: x, chunk_size=0)(t.ones(2))


def printed(t: Any) -> Any:
    said: list[str] = []
    t.vmap(lambda x: said.append(repr(x)) or x)(t.ones(2, 3))
    return said


def multiplied_into_what_is_not_mapped(t: Any) -> Any:
    out = t.zeros(3)
    return t.vmap(lambda x: out.mul_(x))(t.ones(2, 3))


def copied_into_what_is_not_mapped(t: Any) -> Any:
    out = t.zeros(3)
    return t.vmap(lambda x: out.copy_(x))(t.ones(2, 3))


def assigned_to_a_part_of_what_is_not_mapped(t: Any) -> Any:
    out = t.zeros(3)

    def f(x: Any) -> Any:
        out[0] = x[0]
        return x

    return t.vmap(f)(t.ones(2, 3))


def masked_by_what_is_mapped(t: Any) -> Any:
    return t.vmap(lambda x: t.zeros(3).masked_fill_(x > 0, 1.0))(t.ones(2, 3))


def multiplied_into_a_new_tensor(t: Any) -> Any:
    return t.vmap(lambda x: t.ones(3).mul_(x))(t.ones(2, 3))


def written_into_new_zeros(t: Any) -> Any:
    return t.vmap(lambda x: x.new_zeros(3).add_(x))(t.arange(6.0).view(2, 3))


def written_into_zeros_like(t: Any) -> Any:
    return t.vmap(lambda x: t.zeros_like(x).copy_(x))(t.arange(6.0).view(2, 3))


def a_write_is_seen_outside(t: Any) -> Any:
    x = t.arange(6.0).view(2, 3)
    t.vmap(lambda a: a.mul_(2))(x)
    return x


def a_write_to_a_view_is_seen_outside(t: Any) -> Any:
    x = t.arange(6.0).view(2, 3)
    t.vmap(lambda a: a[1:].zero_())(x)
    return x


def what_is_not_mapped_written_into_what_is(t: Any) -> Any:
    x = t.arange(6.0).view(2, 3)
    t.vmap(lambda a: a.add_(t.ones(3)))(x)
    return x


def out_of_a_product_in_vmap(t: Any) -> Any:
    return t.vmap(lambda x: t.mm(x, x, out=t.empty(2, 2)))(t.ones(2, 2, 2))


def out_of_what_is_not_mapped_in_vmap(t: Any) -> Any:
    y = t.ones(3)
    return t.vmap(lambda x: t.exp(y, out=t.empty(3)) + x)(t.ones(2, 3))


def a_dictionary_of_results(t: Any) -> Any:
    return t.vmap(lambda x: {"a": x * 2, "b": (x.sum(),)})(t.arange(6.0).view(2, 3))


def a_dictionary_of_arguments(t: Any) -> Any:
    x = {"a": t.arange(6.0).view(2, 3), "b": t.ones(3)}
    return t.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))(x)


def negative_dimensions(t: Any) -> Any:
    return t.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(t.arange(6.0).view(2, 3))


def a_keyword_argument_is_not_mapped(t: Any) -> Any:
    return t.vmap(lambda x, y: x.sum() + y, in_dims=0)(t.ones(2, 3), y=t.arange(2.0))


def gradients_of_each(t: Any) -> Any:
    return t.vmap(t.func.grad(lambda x: (x**2).sum()))(t.arange(6.0).view(2, 3))


def a_dropout_module_in_each_mode(t: Any) -> Any:
    found = []
    for mode in ("different", "same"):
        y = t.vmap(t.nn.Dropout(0.5), randomness=mode)(t.ones(3, 8))
        found.append(bool((y == y[:1]).all()))
    return found


def the_same_numbers_after_it(t: Any) -> Any:
    t.vmap(lambda x: x + t.randn(2), randomness="same")(t.zeros(3, 2))
    return t.randn(2)


def different_numbers_are_those_of_one_call(t: Any) -> Any:
    found = t.vmap(lambda x: x + t.randn(4), randomness="different")(t.zeros(3, 4))
    t.manual_seed(0)
    return bool((found == t.randn(3, 4)).all()), t.randn(1)


def in_dims_none_of_a_number(t: Any) -> Any:
    return t.vmap(lambda x, k: x * k, in_dims=(0, None))(t.ones(2), 3)


def two_levels_written_to(t: Any) -> Any:
    x = t.zeros(2, 3)
    t.vmap(t.vmap(lambda a: a.add_(1)))(x)
    return x


def a_stride_of_an_example(t: Any) -> Any:
    said: list[Any] = []
    t.vmap(lambda x: said.append((x.shape, x.dim(), x.numel())) or x)(t.ones(2, 3, 4))
    return said
