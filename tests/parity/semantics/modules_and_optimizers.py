"""Modules and optimizers at the edges of their arguments: BatchNorm, losses, bags, LBFGS, Muon."""

from __future__ import annotations

from typing import Any


def batch_norm_with_an_eps_of_zero(t: Any) -> Any:
    return t.nn.BatchNorm1d(2, eps=0.0)(t.tensor([[1.0, 2.0], [3.0, 2.0]]))


def batch_norm_with_a_negative_eps(t: Any) -> Any:
    return t.nn.BatchNorm1d(2, eps=-1.0)(t.tensor([[1.0, 2.0], [3.0, 2.0]]))


def functional_batch_norm_with_an_eps_of_zero(t: Any) -> Any:
    x = t.tensor([[1.0, 2.0], [3.0, 4.0]])
    return t.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)


def functional_batch_norm_with_a_negative_eps(t: Any) -> Any:
    x = t.tensor([[1.0, 2.0], [3.0, 4.0]])
    return t.nn.functional.batch_norm(x, t.zeros(2), t.ones(2), eps=-1e-5)


def batch_norm_of_one_value(t: Any) -> Any:
    return t.nn.BatchNorm1d(2)(t.ones(1, 2))


def batch_norm_of_one_value_in_evaluation(t: Any) -> Any:
    return t.nn.BatchNorm1d(2).eval()(t.ones(1, 2))


def batch_norm_of_nothing(t: Any) -> Any:
    return t.nn.BatchNorm1d(2)(t.ones(0, 2))


def batch_norm_of_other_channels(t: Any) -> Any:
    return t.nn.BatchNorm1d(2)(t.ones(3, 4))


def batch_norm_of_too_many_dimensions(t: Any) -> Any:
    return t.nn.BatchNorm1d(2)(t.ones(3, 2, 2, 2))


def batch_norm_without_momentum(t: Any) -> Any:
    norm = t.nn.BatchNorm1d(2, momentum=None)
    norm(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
    norm(t.tensor([[5.0, 2.0], [3.0, 4.0]]))
    return norm.running_mean, norm.running_var, norm.num_batches_tracked


def batch_norm_without_statistics_to_evaluate(t: Any) -> Any:
    x = t.ones(2, 2)
    return t.nn.functional.batch_norm(x, None, None, training=False)


def instance_norm_of_one_value(t: Any) -> Any:
    return t.nn.InstanceNorm1d(2)(t.ones(1, 2, 1))


def group_norm_of_one_value(t: Any) -> Any:
    return t.nn.functional.group_norm(t.ones(1, 2), 2)


def layer_norm_of_another_shape(t: Any) -> Any:
    return t.nn.LayerNorm(3)(t.ones(2, 4))


def huber_loss_with_a_delta_of_zero(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.ones(2), t.zeros(2), delta=0.0)


def huber_loss_module_with_a_negative_delta(t: Any) -> Any:
    return t.nn.HuberLoss(delta=-1.0)(t.ones(2), t.zeros(2))


def huber_loss_of_other_sizes(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.ones(2, 1), t.zeros(2))


def huber_loss_with_an_unknown_reduction(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.ones(2), t.zeros(2), reduction="some")


def huber_loss_with_weights(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.ones(2) * 3, t.zeros(2), weight=t.tensor([1.0, 2.0]))


def smooth_l1_with_a_negative_beta(t: Any) -> Any:
    return t.nn.functional.smooth_l1_loss(t.ones(2), t.zeros(2), beta=-1.0)


def smooth_l1_with_a_beta_of_zero(t: Any) -> Any:
    return t.nn.functional.smooth_l1_loss(t.ones(2), t.zeros(2), beta=0.0)


def gaussian_nll_with_one_variance(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), t.tensor(2.0))


def gaussian_nll_with_a_number_as_variance(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), 2.0)


def gaussian_nll_with_a_negative_number_as_variance(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), -2.0)


def gaussian_nll_with_one_variance_a_row(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), t.ones(2))


def gaussian_nll_with_one_variance_a_kept_row(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), t.ones(2, 1))


def gaussian_nll_with_variances_of_another_size(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), t.ones(4))


def gaussian_nll_with_a_negative_variance(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2), t.zeros(2), -t.ones(2))


def gaussian_nll_with_a_small_variance(t: Any) -> Any:
    v = t.full((2,), 1e-9, requires_grad=True)
    loss = t.nn.functional.gaussian_nll_loss(t.ones(2), t.zeros(2), v)
    return loss, t.autograd.grad(loss, v)


def gaussian_nll_in_full(t: Any) -> Any:
    return t.nn.GaussianNLLLoss(full=True)(t.ones(2), t.zeros(2), t.ones(2))


def gaussian_nll_with_an_unknown_reduction(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2), t.zeros(2), t.ones(2), reduction="some")


def _bag(t: Any, indices: Any, offsets: Any = None, **how: Any) -> Any:
    weight = t.arange(6.0).reshape(3, 2)
    return t.nn.functional.embedding_bag(indices, weight, offsets, **how)


def a_bag_with_an_index_too_large(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 5]]))


def a_bag_with_a_negative_index(t: Any) -> Any:
    return _bag(t, t.tensor([[0, -1]]))


def a_bag_of_floats(t: Any) -> Any:
    return _bag(t, t.tensor([[0.0, 1.0]]))


def a_bag_of_rows_with_offsets(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 1]]), t.tensor([0]))


def a_bag_of_a_vector_without_offsets(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]))


def a_bag_of_three_dimensions(t: Any) -> Any:
    return _bag(t, t.zeros(1, 1, 1, dtype=t.int64))


def a_bag_whose_offsets_do_not_begin_at_zero(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([1]))


def a_bag_whose_offsets_are_too_large(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([0, 7]))


def a_bag_whose_offsets_are_of_another_dtype(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([0], dtype=t.int32))


def a_bag_with_offsets_of_two_dimensions(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([[0]]))


def a_bag_with_weights_of_another_shape(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 1]]), per_sample_weights=t.ones(3), mode="sum")


def a_bag_with_weights_and_the_mean(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 1]]), per_sample_weights=t.ones(1, 2), mode="mean")


def a_bag_of_an_unknown_mode(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 1]]), mode="some")


def an_empty_bag(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([0, 0, 2]), mode="max")


def an_embedding_with_an_index_too_large(t: Any) -> Any:
    return t.nn.functional.embedding(t.tensor([5]), t.ones(3, 2))


def an_embedding_with_a_padding_index_too_large(t: Any) -> Any:
    return t.nn.Embedding(3, 2, padding_idx=4)


def a_convolution_of_no_examples(t: Any) -> Any:
    conv = t.nn.Conv2d(2, 3, 2)
    y = conv(t.ones(0, 2, 4, 4))
    y.sum().backward()
    return y.shape, conv.weight.grad, conv.bias.grad


def a_convolution_of_no_channels(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(1, 0, 4, 4), t.ones(3, 0, 2, 2))


def a_convolution_of_no_pixels(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(1, 2, 0, 4), t.ones(3, 2, 1, 1))


def a_convolution_that_is_larger_than_its_input(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(1, 2, 1, 1), t.ones(3, 2, 2, 2))


def a_convolution_without_outputs(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(1, 2, 4, 4), t.ones(0, 2, 2, 2))


def a_transposed_convolution_of_no_examples(t: Any) -> Any:
    return t.nn.functional.conv_transpose2d(t.ones(0, 2, 4, 4), t.ones(2, 3, 2, 2)).shape


def a_linear_layer_of_no_features(t: Any) -> Any:
    return t.nn.Linear(0, 2)(t.ones(3, 0)).shape


def a_pool_of_no_examples(t: Any) -> Any:
    return t.nn.functional.max_pool2d(t.ones(0, 2, 4, 4), 2).shape


def _minimised(t: Any, make: Any, steps: int = 4, closure: bool = False) -> Any:
    x = t.tensor([-1.2, 1.0], dtype=t.float64, requires_grad=True)
    optimizer = make([x])

    def loss() -> Any:
        optimizer.zero_grad()
        y = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        y.backward()
        return y

    losses = []
    for _ in range(steps):
        losses.append(optimizer.step(loss) if closure else loss())
        if not closure:
            optimizer.step()
    return x, losses, optimizer


def _lbfgs(t: Any, **how: Any) -> Any:
    x, losses, optimizer = _minimised(t, lambda p: t.optim.LBFGS(p, **how), closure=True)
    state = next(iter(optimizer.state.values()))
    return x, losses, sorted(state), state["func_evals"], state["n_iter"]


def lbfgs(t: Any) -> Any:
    return _lbfgs(t, lr=0.1)


def lbfgs_with_a_line_search(t: Any) -> Any:
    return _lbfgs(t, line_search_fn="strong_wolfe")


def lbfgs_of_few_evaluations(t: Any) -> Any:
    return _lbfgs(t, lr=0.1, max_eval=3)


def lbfgs_of_a_short_history(t: Any) -> Any:
    return _lbfgs(t, lr=0.1, history_size=2, max_iter=6)


def lbfgs_with_an_unknown_line_search(t: Any) -> Any:
    return _lbfgs(t, line_search_fn="some")


def lbfgs_without_a_closure(t: Any) -> Any:
    t.optim.LBFGS([t.ones(1, requires_grad=True)]).step()


def lbfgs_of_two_groups(t: Any) -> Any:
    p, q = t.ones(1, requires_grad=True), t.ones(1, requires_grad=True)
    return t.optim.LBFGS([{"params": [p]}, {"params": [q]}])


def lbfgs_state_dict(t: Any) -> Any:
    _, _, optimizer = _minimised(t, lambda p: t.optim.LBFGS(p, lr=0.1), closure=True)
    said = optimizer.state_dict()
    return said["param_groups"], sorted(said["state"][0]), len(said["state"][0]["old_dirs"])


def _muon(t: Any, steps: int = 3, **how: Any) -> Any:
    w = t.arange(6.0).reshape(2, 3).div(6).requires_grad_()
    optimizer = t.optim.Muon([w], **how)
    for i in range(steps):
        optimizer.zero_grad()
        ((w * (i + 1)).sin() ** 2).sum().backward()
        optimizer.step()
    return w, dict(next(iter(optimizer.state.values())))


def _near(t: Any, found: Any) -> Any:
    """Muon iterates in bfloat16: what is left of its numbers is two digits."""
    w, state = found
    return (w * 50).round() / 50, sorted(state), (state["momentum_buffer"] * 50).round() / 50


def muon(t: Any) -> Any:
    return _near(t, _muon(t, lr=0.02))


def muon_without_nesterov(t: Any) -> Any:
    return _near(t, _muon(t, lr=0.02, nesterov=False))


def muon_with_weight_decay(t: Any) -> Any:
    return _near(t, _muon(t, lr=0.02, weight_decay=0.5))


def muon_that_matches_adam(t: Any) -> Any:
    return _near(t, _muon(t, lr=0.02, adjust_lr_fn="match_rms_adamw"))


def muon_of_a_vector(t: Any) -> Any:
    return t.optim.Muon([t.ones(3, requires_grad=True)])


def muon_with_a_negative_momentum(t: Any) -> Any:
    return t.optim.Muon([t.ones(2, 2, requires_grad=True)], momentum=-1.0)


def muon_with_a_negative_learning_rate(t: Any) -> Any:
    return t.optim.Muon([t.ones(2, 2, requires_grad=True)], lr=-1.0)


def muon_with_an_unknown_adjustment(t: Any) -> Any:
    return t.optim.Muon([t.ones(2, 2, requires_grad=True)], adjust_lr_fn="some")


def muon_with_too_many_steps(t: Any) -> Any:
    return _muon(t, ns_steps=100)


def muon_of_complex_numbers(t: Any) -> Any:
    w = t.ones(2, 2, dtype=t.complex64, requires_grad=True)
    optimizer = t.optim.Muon([w])
    w.abs().sum().backward()
    optimizer.step()


def muon_state_dict(t: Any) -> Any:
    w = t.ones(2, 2, requires_grad=True)
    return t.optim.Muon([w]).state_dict()


def an_optimizer_of_nothing(t: Any) -> Any:
    return t.optim.SGD([])


def an_optimizer_of_a_result(t: Any) -> Any:
    return t.optim.SGD([t.ones(1, requires_grad=True) * 2])


def an_optimizer_of_one_tensor(t: Any) -> Any:
    return t.optim.SGD(t.ones(1, requires_grad=True))


def an_optimizer_with_a_tensor_twice(t: Any) -> Any:
    p = t.ones(1, requires_grad=True)
    return len(t.optim.SGD([p, p]).param_groups)


def huber_loss_with_a_negative_delta(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.ones(2), t.zeros(2), delta=-1.0)


def huber_loss_with_a_small_delta(t: Any) -> Any:
    x = t.tensor([0.2, 3.0], requires_grad=True)
    loss = t.nn.functional.huber_loss(x, t.zeros(2), delta=0.5, reduction="none")
    return loss, t.autograd.grad(loss.sum(), x)


def huber_loss_with_an_infinite_delta(t: Any) -> Any:
    return t.nn.HuberLoss(delta=float("inf"))(t.ones(2) * 3, t.zeros(2))


def huber_loss_at_its_corner(t: Any) -> Any:
    x = t.tensor([1.0, -1.0], requires_grad=True)
    loss = t.nn.functional.huber_loss(x, t.zeros(2), delta=1.0, reduction="sum")
    return loss, t.autograd.grad(loss, x)


def huber_loss_of_integers(t: Any) -> Any:
    return t.nn.functional.huber_loss(t.tensor([1, 3]), t.tensor([0, 0]))


def gaussian_nll_with_one_variance_of_its_own_dimension(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(2, 3), t.zeros(2, 3), t.ones(1))


def gaussian_nll_with_one_variance_of_one_example(t: Any) -> Any:
    return t.nn.functional.gaussian_nll_loss(t.ones(3), t.zeros(3), t.full((1,), 2.0))


def a_bag_module_with_an_index_too_large(t: Any) -> Any:
    return t.nn.EmbeddingBag(3, 2)(t.tensor([[0, 3]]))


def a_bag_with_the_last_offset_missing(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.tensor([0, 1]), include_last_offset=True)


def a_bag_with_the_last_offset_and_no_bags(t: Any) -> Any:
    return _bag(t, t.tensor([0, 1]), t.zeros(0, dtype=t.int64), include_last_offset=True)


def a_bag_with_a_padding_index_too_large(t: Any) -> Any:
    return _bag(t, t.tensor([[0, 1]]), padding_idx=3)


def a_convolution_of_no_channels_backward(t: Any) -> Any:
    x = t.ones(1, 0, 4, 4, requires_grad=True)
    w = t.ones(3, 0, 2, 2, requires_grad=True)
    t.nn.functional.conv2d(x, w).sum().backward()
    return x.grad.shape, w.grad.shape


def a_convolution_of_no_channels_with_a_bias(t: Any) -> Any:
    return t.nn.functional.conv1d(t.ones(2, 0, 4), t.ones(3, 0, 2), t.ones(3))


def a_convolution_of_no_channels_as_a_module(t: Any) -> Any:
    return t.nn.Conv2d(0, 3, 2)(t.ones(1, 0, 4, 4)).shape


def a_volume_convolution_of_no_examples(t: Any) -> Any:
    return t.nn.functional.conv3d(t.ones(0, 1, 3, 3, 3), t.ones(2, 1, 2, 2, 2)).shape


def a_transposed_convolution_of_no_channels(t: Any) -> Any:
    return t.nn.functional.conv_transpose2d(t.ones(1, 0, 4, 4), t.ones(0, 3, 2, 2))


def a_convolution_with_an_empty_kernel(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(1, 2, 4, 4), t.ones(3, 2, 0, 2))


def a_grouped_convolution_of_no_examples(t: Any) -> Any:
    return t.nn.functional.conv2d(t.ones(0, 4, 4, 4), t.ones(4, 2, 2, 2), groups=2).shape


def lbfgs_with_tolerances(t: Any) -> Any:
    return _lbfgs(t, lr=0.5, tolerance_grad=10.0, tolerance_change=1e-2)  # it ends early by both


def lbfgs_after_its_state_was_loaded(t: Any) -> Any:
    x, _, first = _minimised(t, lambda p: t.optim.LBFGS(p, lr=0.1), steps=2, closure=True)
    second = t.optim.LBFGS([x], lr=0.1)
    second.load_state_dict(first.state_dict())

    def loss() -> Any:
        second.zero_grad()
        y = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        y.backward()
        return y

    return second.step(loss), x


def muon_after_its_state_was_loaded(t: Any) -> Any:
    w = t.arange(6.0).reshape(2, 3).div(6).requires_grad_()
    first = t.optim.Muon([w], lr=0.05)
    (w.sin() ** 2).sum().backward()
    first.step()
    second = t.optim.Muon([w], lr=0.05)
    second.load_state_dict(first.state_dict())
    second.step()
    return _near(t, (w, dict(second.state[w])))


def muon_with_a_high_matrix(t: Any) -> Any:
    w = t.arange(8.0).reshape(4, 2).div(6).requires_grad_()
    optimizer = t.optim.Muon([w], lr=0.02, ns_steps=3)
    (w.sin() ** 2).sum().backward()
    optimizer.step()
    return _near(t, (w, dict(optimizer.state[w])))


def muon_without_gradients(t: Any) -> Any:
    w = t.ones(2, 2, requires_grad=True)
    optimizer = t.optim.Muon([w])
    optimizer.step()
    return w, len(optimizer.state)
