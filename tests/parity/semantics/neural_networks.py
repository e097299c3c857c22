"""Lazy modules, bags, attention in halves, pools, losses, optimizers and modules of training with
quantization."""

from __future__ import annotations

import importlib
from typing import Any


def _lazy(make: Any, *shape: int, after: Any = None) -> Any:
    """A behaviour: what a lazy module draws, and what the generator draws after it."""

    def behaviour(t: Any) -> Any:
        t.manual_seed(5)
        module = make(t.nn)
        before = t.rand(1)
        if after is not None:
            after(t, module)
        module(t.ones(shape))
        return before, dict(module.named_parameters()), dict(module.named_buffers()), t.rand(1)

    behaviour.__module__ = __name__
    return behaviour


def _of(call: Any) -> Any:
    """A behaviour that calls ``call(t, t.nn, t.nn.functional)``."""

    def behaviour(t: Any) -> Any:
        return call(t, t.nn, t.nn.functional)

    behaviour.__module__ = __name__
    return behaviour


def _own_reset(t: Any, module: Any) -> None:
    module.reset_parameters()


def a_lazy_module_that_is_asked_for_its_shape(t: Any) -> Any:
    return t.nn.LazyLinear(2).weight.shape


def a_lazy_module_with_a_loaded_state(t: Any) -> Any:
    t.manual_seed(5)
    module = t.nn.LazyLinear(2)
    module.load_state_dict(t.nn.Linear(3, 2).state_dict())
    module(t.ones(1, 3))
    return module.weight, t.rand(1), type(module).__name__, module.in_features


def a_lazy_module_that_is_printed(t: Any) -> Any:
    module = t.nn.LazyConv2d(4, 3, groups=2)
    before = repr(module)
    module(t.ones(1, 4, 5, 5))
    return before, repr(module)


def a_lazy_module_of_ones_own(t: Any) -> Any:
    class Scale(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = t.nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            if self.has_uninitialized_params():
                with t.no_grad():
                    self.scale.materialize(x.shape[-1:])
                    self.scale.uniform_()

        def forward(self, x: Any) -> Any:
            return x * self.scale

    module = Scale()
    return module(t.ones(3)), t.rand(1), module(t.ones(3))


def _bag(t: Any, indices: Any, offsets: Any = None, **how: Any) -> Any:
    return t.nn.functional.embedding_bag(
        t.tensor(indices), t.ones(4, 2), offsets if offsets is None else t.tensor(offsets), **how
    )


def _attention(t: Any, dtype: str, training: bool = False, **how: Any) -> Any:
    t.manual_seed(0)
    made = t.nn.MultiheadAttention(4, 2, batch_first=True, dtype=getattr(t, dtype))
    made.train(training)
    return made, t.ones(1, 3, 4)


def attention_of_a_half_query_and_whole_weights(t: Any) -> Any:
    made, x = _attention(t, "float32")
    return made(x.half(), x.half(), x.half())


def attention_of_a_half_query_and_whole_weights_in_training(t: Any) -> Any:
    made, x = _attention(t, "float32", True)
    return made(x.half(), x.half(), x.half())


def attention_of_halves(t: Any) -> Any:
    made, x = _attention(t, "float16")
    out, weights = made(x.half(), x.half(), x.half())
    return out.dtype, out.shape, weights.dtype


def attention_of_a_whole_query_and_half_keys(t: Any) -> Any:
    made, x = _attention(t, "float32", True)
    return made(x, x.half(), x.half())


def attention_with_a_mask_of_integers(t: Any) -> Any:
    made, x = _attention(t, "float32")
    return made(x, x, x, attn_mask=t.ones(3, 3, dtype=t.long))


def attention_with_a_mask_of_bytes(t: Any) -> Any:
    made, x = _attention(t, "float32")
    return made(x, x, x, key_padding_mask=t.zeros(1, 3, dtype=t.uint8))


def attention_of_another_width(t: Any) -> Any:
    made, _ = _attention(t, "float32")
    x = t.ones(1, 3, 5)
    return made(x, x, x)


def _lbfgs(t: Any, start: Any, function: Any, **how: Any) -> Any:
    x = t.tensor(start, requires_grad=True)
    optimizer = t.optim.LBFGS([x], **how)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = function(x)
        loss.backward()
        return loss

    return [optimizer.step(closure).detach() for _ in range(3)], x.detach()


def lbfgs_whose_gradient_is_zero_at_the_start(t: Any) -> Any:
    return _lbfgs(t, [0.0, 0.0], lambda x: (x * x).sum())


def lbfgs_with_gradients_that_sum_to_nothing(t: Any) -> Any:
    return _lbfgs(t, [1.0, -1.0], lambda x: (x * 0).sum(), tolerance_grad=-1)


def lbfgs_of_a_line(t: Any) -> Any:
    return _lbfgs(t, [1.0], lambda x: x.sum(), max_iter=3)


def lbfgs_of_a_line_with_a_line_search(t: Any) -> Any:
    return _lbfgs(t, [1.0], lambda x: x.sum(), max_iter=2, line_search_fn="strong_wolfe")


def lbfgs_with_an_infinite_loss(t: Any) -> Any:
    return _lbfgs(t, [0.0], lambda x: (1 / x).sum(), max_iter=2)


def _optimizer(name: str, lr: Any = 0.1, **how: Any) -> Any:
    """A behaviour that makes an optimizer with a tensor for its rate, and takes two steps."""

    def behaviour(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], requires_grad=True)
        rate = t.tensor(lr) if not callable(lr) else lr(t)
        made = getattr(t.optim, name)([x], lr=rate, **how)
        for _ in range(2):
            made.zero_grad()
            (x * x).sum().backward()
            made.step()
        return x.detach(), made.param_groups[0]["lr"]

    behaviour.__module__ = __name__
    return behaviour


def a_rate_that_becomes_a_tensor(t: Any) -> Any:
    x = t.tensor([1.0], requires_grad=True)
    made = t.optim.Adam([x], lr=0.1, foreach=True)
    made.param_groups[0]["lr"] = t.tensor(0.1)
    x.sum().backward()
    made.step()
    return x.detach()


def _qat(t: Any, place: str = "nn.qat") -> Any:
    return importlib.import_module(f"{t.__name__}.ao.{place}")


def _config(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.ao.quantization").get_default_qat_qconfig(
        "fbgemm"
    )


def a_linear_layer_of_training_with_quantization(t: Any) -> Any:
    t.manual_seed(0)
    made = _qat(t).Linear(3, 2, qconfig=_config(t))
    out = made(t.ones(1, 3))
    out.sum().backward()
    return out, made.weight.grad, made.bias.grad


def a_convolution_of_training_with_quantization(t: Any) -> Any:
    t.manual_seed(0)
    made = _qat(t).Conv2d(1, 2, 2, qconfig=_config(t))
    out = made(t.arange(9.0).view(1, 1, 3, 3))
    out.sum().backward()
    return out, made.weight.grad


def an_embedding_of_training_with_quantization(t: Any) -> Any:
    t.manual_seed(0)
    config = importlib.import_module(f"{t.__name__}.ao.quantization").default_embedding_qat_qconfig
    return _qat(t).Embedding(4, 3, qconfig=config)(t.tensor([0, 2]))


def a_layer_of_training_without_a_configuration(t: Any) -> Any:
    return _qat(t).Linear(2, 2)


def a_layer_of_training_from_a_layer(t: Any) -> Any:
    t.manual_seed(0)
    layer = t.nn.Linear(3, 2)
    layer.qconfig = _config(t)
    made = _qat(t).Linear.from_float(layer)
    return made(t.ones(1, 3)), made.weight is layer.weight, type(made).__name__


def a_layer_of_training_from_another_kind(t: Any) -> Any:
    layer = t.nn.Conv1d(1, 1, 1)
    layer.qconfig = _config(t)
    return _qat(t).Linear.from_float(layer)


def a_layer_of_training_to_a_layer(t: Any) -> Any:
    t.manual_seed(0)
    made = _qat(t).Linear(3, 2, qconfig=_config(t)).to_float()
    return type(made).__name__, made.weight, made.bias


def the_state_of_a_layer_of_training(t: Any) -> Any:
    return list(_qat(t).Linear(3, 2, qconfig=_config(t)).state_dict())


def a_dynamic_layer_of_training(t: Any) -> Any:
    t.manual_seed(0)
    config = importlib.import_module(f"{t.__name__}.ao.quantization").default_dynamic_qat_qconfig
    return _qat(t, "nn.qat.dynamic").Linear(3, 2, qconfig=config)(t.ones(1, 3))


_TABLE = {
    "a_lazy_layer_draws": _lazy(lambda nn: nn.LazyLinear(3), 2, 4),
    "a_lazy_layer_without_a_bias_draws": _lazy(lambda nn: nn.LazyLinear(3, bias=False), 2, 4),
    "a_lazy_convolution_draws": _lazy(lambda nn: nn.LazyConv2d(2, 3), 1, 2, 4, 4),
    "a_lazy_convolution_of_groups_draws": _lazy(lambda nn: nn.LazyConv1d(4, 3, groups=2), 1, 4, 5),
    "a_lazy_transposed_convolution_draws": _lazy(
        lambda nn: nn.LazyConvTranspose2d(2, 3), 1, 2, 4, 4
    ),
    "a_lazy_norm_draws_nothing": _lazy(lambda nn: nn.LazyBatchNorm1d(), 2, 4),
    "a_lazy_norm_of_examples": _lazy(lambda nn: nn.LazyInstanceNorm1d(), 2, 4, 3),
    "lazy_modules_in_a_row_draw": _lazy(
        lambda nn: nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2)), 2, 4
    ),
    "a_lazy_module_that_is_reset_before": _lazy(
        lambda nn: nn.LazyLinear(3), 2, 4, after=_own_reset
    ),
    "a_bag_with_an_index_past_the_end": lambda t: _bag(t, [1, 4], [0]),
    "a_bag_with_an_index_before_the_start": lambda t: _bag(t, [1, -5], [0]),
    "a_bag_in_rows_with_an_index_past_the_end": lambda t: _bag(t, [[1, 4]]),
    "a_bag_of_maxima_with_an_index_past_the_end": lambda t: _bag(t, [1, 9], [0], mode="max"),
    "a_bag_of_sums_with_an_index_past_the_end": lambda t: _bag(t, [1, 9], [0], mode="sum"),
    "a_bag_with_an_offset_past_the_end": lambda t: _bag(t, [1, 2], [0, 3]),
    "a_bag_with_a_first_offset": lambda t: _bag(t, [1, 2], [1]),
    "a_bag_with_offsets_that_fall": lambda t: _bag(t, [1, 2, 3], [0, 2, 1]),
    "a_bag_with_a_negative_offset": lambda t: _bag(t, [1, 2, 3], [0, -1]),
    "a_pool_of_volumes_larger_than_its_input": _of(
        lambda t, nn, f: f.fractional_max_pool3d(t.ones(1, 1, 2, 2, 2), 3, output_size=1)
    ),
    "a_pool_of_volumes_with_too_many_outputs": _of(
        lambda t, nn, f: f.fractional_max_pool3d(t.ones(1, 1, 4, 4, 4), 2, output_size=4)
    ),
    "a_pool_of_volumes_without_a_size": _of(
        lambda t, nn, f: f.fractional_max_pool3d(t.ones(1, 1, 4, 4, 4), 2)
    ),
    "a_pool_of_volumes_with_both_sizes": _of(
        lambda t, nn, f: nn.FractionalMaxPool3d(2, output_size=2, output_ratio=0.5)
    ),
    "a_pool_of_volumes_with_a_ratio_of_two": _of(
        lambda t, nn, f: nn.FractionalMaxPool3d(2, output_ratio=2.0)
    ),
    "a_pool_of_volumes_of_two_dimensions": _of(
        lambda t, nn, f: f.fractional_max_pool3d(t.ones(4, 4), 2, output_size=2)
    ),
    "a_pool_of_volumes_of_no_channels": _of(
        lambda t, nn, f: f.fractional_max_pool3d(t.ones(1, 0, 4, 4, 4), 2, output_size=2)
    ),
    "a_pool_of_volumes_with_samples_of_another_shape": _of(
        lambda t, nn, f: f.fractional_max_pool3d(
            t.ones(1, 1, 4, 4, 4), 2, output_size=2, _random_samples=t.ones(1, 1, 2)
        )
    ),
    "a_pool_of_planes_larger_than_its_input": _of(
        lambda t, nn, f: f.fractional_max_pool2d(t.ones(1, 1, 2, 2), 3, output_size=1)
    ),
    "a_pool_of_volumes": _of(
        lambda t, nn, f: f.fractional_max_pool3d(
            t.arange(64.0).view(1, 1, 4, 4, 4), 2, output_size=2
        )
    ),
    "gaussian_nll_with_one_row_of_variances": _of(
        lambda t, nn, f: nn.GaussianNLLLoss()(t.ones(3, 2), t.zeros(3, 2), t.ones(1, 2))
    ),
    "gaussian_nll_with_variances_of_one_row_unreduced": _of(
        lambda t, nn, f: f.gaussian_nll_loss(
            t.ones(3, 2), t.zeros(3, 2), t.tensor([[1.0, 2.0]]), reduction="none"
        )
    ),
    "gaussian_nll_of_a_target_of_one_row": _of(
        lambda t, nn, f: f.gaussian_nll_loss(t.ones(3, 2), t.zeros(1, 2), t.ones(3, 2))
    ),
    "gaussian_nll_of_two_missing_dimensions": _of(
        lambda t, nn, f: f.gaussian_nll_loss(t.ones(3, 2, 4), t.zeros(3, 2, 4), t.ones(3))
    ),
    "a_tensor_rate_with_foreach": _optimizer("Adam", foreach=True),
    "a_tensor_rate_with_foreach_of_adamw": _optimizer("AdamW", foreach=True),
    "a_tensor_rate_with_foreach_of_sgd": _optimizer("SGD", foreach=True),
    "a_tensor_rate_with_foreach_of_rmsprop": _optimizer("RMSprop", foreach=True),
    "a_tensor_rate_with_foreach_of_adagrad": _optimizer("Adagrad", foreach=True),
    "a_tensor_rate_with_foreach_of_nadam": _optimizer("NAdam", foreach=True),
    "a_tensor_rate_with_foreach_of_radam": _optimizer("RAdam", foreach=True),
    "a_tensor_rate_with_foreach_of_adadelta": _optimizer("Adadelta", foreach=True),
    "a_tensor_rate_with_foreach_of_adamax": _optimizer("Adamax", foreach=True),
    "a_tensor_rate_with_foreach_of_asgd": _optimizer("ASGD", foreach=True),
    "a_tensor_rate_with_foreach_of_rprop": _optimizer("Rprop", foreach=True),
    "a_tensor_rate_with_foreach_that_is_capturable": _optimizer(
        "Adam", foreach=True, capturable=True
    ),
    "a_tensor_rate": _optimizer("Adam"),
    "a_tensor_rate_of_two_elements": _optimizer("SGD", lr=[0.1, 0.2]),
    "a_tensor_rate_of_one_element": _optimizer("Adam", lr=[0.1]),
    "a_negative_tensor_rate": _optimizer("Adam", lr=-0.1),
    "halves_times_complex_numbers": lambda t: (
        t.ones(2, dtype=t.half) * t.ones(2, dtype=t.complex64)
    ),
    "a_half_times_a_complex_number": lambda t: t.ones(2, dtype=t.half) * 1j,
    "halves_and_complex_numbers_together": lambda t: t.result_type(
        t.ones(2, dtype=t.half), t.ones(2, dtype=t.complex64)
    ),
    "halves_promoted_to_complex_numbers": lambda t: t.promote_types(t.half, t.complex64),
    "complex_weights_of_half_inputs": _of(
        lambda t, nn, f: f.linear(t.ones(1, 2, dtype=t.half), t.ones(2, 2, dtype=t.complex64))
    ),
    "halves_to_a_complex_power": lambda t: t.ones(2, dtype=t.half) ** t.tensor(1j),
    "the_positive_of_bools": lambda t: +t.tensor([True]),
    "the_positive_of_bools_by_name": lambda t: t.positive(t.tensor([True])),
    "the_positive_is_the_tensor": lambda t: _same_object(t),
    "the_positive_of_a_number": lambda t: t.positive(1.0),
    "the_positive_of_integers": lambda t: t.positive(t.tensor([1, -2])),
}


def _same_object(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = +x
    return y is x, t.positive(x) is x, y.grad_fn is None, t.positive(x)._is_view()


globals().update(_TABLE)
