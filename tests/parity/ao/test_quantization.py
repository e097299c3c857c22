"""torch.ao.quantization, against PyTorch: ``quantize_dynamic`` and the modules of training with
rounding.

PyTorch's engine is x86 (which is fbgemm or onednn by the machine); qnnpack uses all 8 bits of an
input and gives other numbers.
"""

from importlib import import_module

import pytest
from oracle import compare, outcome, same

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _set(t, module):
    """Give a module's parameters numbers that do not depend on random numbers."""
    with t.no_grad():
        for i, p in enumerate(module.parameters()):
            n = p.numel()
            p.copy_((t.arange(n) * (7 + 2 * i) % 23 / 11.5 - 1).reshape(p.shape))
    return module


def _input(t, *shape):
    n = 1
    for size in shape:
        n *= size
    return (t.arange(n) * 13 % 37 / 18.5 - 0.9).reshape(shape)


SPECS = {
    "both": lambda t: None,
    "linear": lambda t: {t.nn.Linear},
    "lstm": lambda t: {t.nn.LSTM},
    "name": lambda t: {"1": t.ao.quantization.default_dynamic_qconfig},
    "channels": lambda t: {t.nn.Linear: t.ao.quantization.per_channel_dynamic_qconfig},
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_dynamic_linear(spec, jitted):
    def run(t):
        model = t.nn.Sequential(
            _set(t, t.nn.Linear(12, 7)), t.nn.ReLU(), _set(t, t.nn.Linear(7, 3, bias=False))
        )
        small = t.ao.quantization.quantize_dynamic(model, SPECS[spec](t))
        call = torchlike.jit(small) if jitted and t is torchlike else small
        x = _input(t, 2, 5, 12)
        with t.no_grad():
            return call(x), call(x * 100), call(x.abs() + 1), call(-x.abs()), repr(small)

    compare(run)


@pytest.mark.parametrize(
    ("options", "jitted"),
    [
        ({"num_layers": 2, "bidirectional": True}, False),
        pytest.param({"num_layers": 2, "bidirectional": True}, True, marks=pytest.mark.full),
        ({"batch_first": True}, True),
        ({"bias": False}, False),
    ],
    ids=str,
)
def test_dynamic_lstm(options, jitted):
    def run(t):
        model = t.nn.Sequential(_set(t, t.nn.LSTM(6, 4, **options)))
        small = t.quantization.quantize_dynamic(model, {t.nn.LSTM})[0]
        call = torchlike.jit(small) if jitted and t is torchlike else small
        x = _input(t, 5, 3, 6)
        with t.no_grad():
            out, (h, c) = call(x)
            return out, h, c, repr(small)

    compare(run)


def test_a_state_given_and_a_sequence_without_batch():
    def run(t):
        model = t.nn.Sequential(_set(t, t.nn.LSTM(6, 4)))
        small = t.quantization.quantize_dynamic(model, {t.nn.LSTM})[0]
        with t.no_grad():
            return small(_input(t, 5, 3, 6), (_input(t, 1, 3, 4), _input(t, 1, 3, 4)))

    compare(run)


QUANTIZERS = [
    "default_fake_quant",
    "default_weight_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_dynamic_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_wt_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
]


@pytest.mark.parametrize("name", QUANTIZERS)
def test_fake_quantizers(name):
    def run(t):
        module = getattr(t.ao.quantization, name)()
        seen = []
        for i in range(4):
            if i == 2:
                module.apply(t.ao.quantization.disable_observer)
            if i == 3:
                module.apply(t.ao.quantization.disable_fake_quant)
            x = (_input(t, 4, 6) * (i + 1)).requires_grad_()
            y = module(x)
            (y * y).sum().backward()
            watcher = module.activation_post_process
            seen.append(
                (
                    y,
                    x.grad,
                    module.scale.clone(),
                    module.zero_point.clone(),
                    watcher.min_val.clone(),
                    watcher.max_val.clone(),
                )
            )
        return seen, list(module.state_dict()), repr(module)

    compare(run)


@pytest.mark.parametrize("name", [n for n in QUANTIZERS if "fused" in n])
def test_fused_fake_quantizers_compiled(name):
    def run(jitted):
        module = getattr(torchlike.ao.quantization, name)()
        if "per_channel" in name:
            module(_input(torchlike, 4, 6))  # gives the buffers their size
        call = torchlike.jit(module) if jitted else module
        out = [call(_input(torchlike, 4, 6) * (i + 1)) for i in range(3)]
        return out, dict(module.state_dict())

    same(run(True), run(False))


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "onednn", "qnnpack"])
@pytest.mark.parametrize("version", [0, 1])
def test_qat_configurations(backend, version):
    def run(t):
        config = t.ao.quantization.get_default_qat_qconfig(backend, version)
        made = config.activation(), config.weight()
        x = _input(t, 4, 6)
        return [m(x) for m in made], [repr(m) for m in made]

    compare(run)


OBSERVERS = [
    ("MinMaxObserver", {}),
    ("MinMaxObserver", {"dtype": "qint8", "qscheme": "per_tensor_symmetric"}),
    ("MinMaxObserver", {"reduce_range": True}),
    ("MinMaxObserver", {"quant_min": 0, "quant_max": 15}),
    ("MovingAverageMinMaxObserver", {"averaging_constant": 0.1}),
    ("PerChannelMinMaxObserver", {}),
    (
        "PerChannelMinMaxObserver",
        {"ch_axis": 1, "dtype": "qint8", "qscheme": "per_channel_symmetric"},
    ),
    ("PerChannelMinMaxObserver", {"qscheme": "per_channel_affine_float_qparams"}),
    ("MovingAveragePerChannelMinMaxObserver", {"ch_axis": 1}),
]


@pytest.mark.parametrize(("name", "options"), OBSERVERS, ids=str)
def test_observers(name, options):
    def run(t):
        given = {k: getattr(t, v) if isinstance(v, str) else v for k, v in options.items()}
        watcher = getattr(t.ao.quantization, name)(**given)
        for i in range(3):
            watcher(_input(t, 4, 6) * (i + 1))
        first = watcher.calculate_qparams()
        other = getattr(t.ao.quantization, name)(**given)
        other.load_state_dict(watcher.state_dict())
        return first, other.calculate_qparams(), dict(watcher.state_dict()), repr(watcher)

    compare(run)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.ao.quantization.MinMaxObserver(qscheme=t.per_channel_affine),
        lambda t: t.ao.quantization.MinMaxObserver(quant_min=3, quant_max=9),
        lambda t: t.ao.quantization.FakeQuantize(quant_min=5, quant_max=3),
        lambda t: t.ao.quantization.FakeQuantize(quant_min=-5, quant_max=3),
        lambda t: t.ao.quantization.FakeQuantize(quant_min=0, quant_max=300),
        lambda t: t.ao.quantization.QConfig(t.nn.Identity(), t.nn.Identity),
        lambda t: t.ao.quantization.get_default_qat_qconfig("tpu"),
        lambda t: t.ao.quantization.get_default_qat_qconfig("x86", 3),
    ],
)
def test_words_of_refusals(function):
    compare(function, exact=True)


def test_what_is_not_there_names_torchao():
    quantization = torchlike.ao.quantization
    for call in (
        lambda: quantization.prepare_qat(torchlike.nn.Linear(2, 2)),
        lambda: quantization.quantize_dynamic(torchlike.nn.Sequential(torchlike.nn.GRU(2, 2))),
        lambda: quantization.quantize_dynamic(torchlike.nn.Linear(2, 2), dtype=torchlike.float16),
        lambda: torchlike.quantization.fuse_modules(torchlike.nn.Linear(2, 2), []),
    ):
        found = outcome(lambda t, call=call: call(), torchlike)
        assert found.type == "NotImplementedError"
        assert "torchao" in found.words


LAYERS = {
    "Linear": ((6, 4), lambda t: _input(t, 3, 6)),
    "Conv1d": ((2, 4, 3), lambda t: _input(t, 1, 2, 5)),
    "Conv2d": ((2, 4, 3, 1, 1, 1, 2), lambda t: _input(t, 1, 2, 4, 4)),
    "Conv3d": ((1, 2, 2), lambda t: _input(t, 1, 1, 3, 3, 3)),
    "Embedding": ((5, 3, 1), lambda t: t.tensor([[0, 4], [1, 2]])),
    "EmbeddingBag": ((5, 3), lambda t: t.tensor([[0, 4], [1, 2]])),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_train_with_rounded_weights(name):
    arguments, example = LAYERS[name]

    def run(t):
        import_module(f"{t.__name__}.ao.nn.qat")
        quantization = t.ao.quantization
        config = quantization.get_default_qat_qconfig("qnnpack")
        if name.startswith("Embedding"):
            config = quantization.default_embedding_qat_qconfig
        layer = _set(t, getattr(t.nn, name)(*arguments))
        layer.qconfig = config
        made = getattr(t.ao.nn.qat, name).from_float(layer)
        x = example(t)
        outs = [made(x)]
        outs[0].square().sum().backward()
        return (
            outs,
            made.weight.grad,
            layer.weight is made.weight,
            repr(made),
            repr(made.to_float()),
        )

    compare(run)


def test_a_layer_that_trains_with_a_rounded_weight_is_compiled():
    from torchlike.ao.nn import qat

    config = torchlike.ao.quantization.get_default_qat_qconfig("qnnpack")
    layers = [_set(torchlike, qat.Linear(6, 4, qconfig=config)) for _ in range(2)]
    calls = [layers[0], torchlike.jit(lambda x: layers[1](x))]
    for call in calls * 2:
        call(_input(torchlike, 3, 6)).square().sum().backward()
    torchlike.testing.assert_close(layers[0].weight.grad, layers[1].weight.grad)
    torchlike.testing.assert_close(layers[0].state_dict(), layers[1].state_dict())
