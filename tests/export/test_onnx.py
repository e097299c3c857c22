"""torch.onnx.export through jax2onnx, run by ONNX Runtime."""

import importlib
import io
import sys

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.export import Unexportable


@pytest.fixture
def runtime():
    pytest.importorskip("jax2onnx", exc_type=ImportError)
    return pytest.importorskip("onnxruntime")


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 14 * 14, 10),
        nn.Softmax(1),
    )


@pytest.mark.filterwarnings("ignore")  # the converter's own
@pytest.mark.parametrize(("make", "shape"), [(mlp, (4, 6)), (cnn, (2, 1, 28, 28))])
def test_onnx_runtime_gives_the_numbers_of_eager(runtime, make, shape, tmp_path):
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(shape)
    torch.onnx.export(model, (x,), tmp_path / "m.onnx", input_names=["x"], output_names=["y"])
    session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == ["x"]
    (found,) = session.run(["y"], {"x": x.numpy()})
    np.testing.assert_allclose(found, model(x).numpy(force=True), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # the converter's own
def test_several_inputs_and_outputs(runtime):
    class Two(nn.Module):
        def forward(self, a, b, *, factor):
            return a + b * factor, (a - b).sum()

    a, b, file = torch.ones(2, 3), torch.arange(3.0), io.BytesIO()
    program = torch.onnx.export(Two(), (a, b), kwargs={"factor": 2.0})
    program.save(file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    found = session.run(None, dict(zip(names, (a.numpy(), b.numpy()), strict=True)))
    for x, y in zip(found, Two()(a, b, factor=2.0), strict=True):
        np.testing.assert_allclose(x, y.numpy(), rtol=1e-6)


class TwoSizes(nn.Module):
    def forward(self, x):
        return x.new_ones(x.shape[0], 3) if x.shape[0] == 4 else x[:, :3] * 2


def test_a_size_that_is_taken_for_granted_is_refused():
    pytest.importorskip("jax2onnx", exc_type=ImportError)
    with pytest.raises(Unexportable, match=r"takes for granted that n == 4"):
        torch.onnx.export(
            TwoSizes(), (torch.ones(4, 6),), input_names=["x"], dynamic_axes={"x": {0: "n"}}
        )


class Decoder(nn.Module):
    """Tokens (int64), their places, and attention."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(64, 8)
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 11)

    def forward(self, tokens):
        b, t = tokens.shape
        x = self.tokens(tokens) + self.places(torch.arange(t))
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x + y.transpose(1, 2).reshape(b, t, 8))


class Last(nn.Module):
    """Gives the last state of a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def resnet():
    first, last = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Linear(8, 4)
    return nn.Sequential(first, Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), last)


def upsampling():
    return nn.Sequential(nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2), nn.Conv2d(4, 3, 3))


def waves():
    return nn.Sequential(nn.Conv1d(2, 4, 3, padding=1), nn.SiLU(), nn.AvgPool1d(2), nn.Tanh())


BATCH, BOTH = {0: "batch"}, {0: "batch", 1: "time"}
ANY_SIZE = {
    "mlp": (mlp, lambda b, t: torch.randn(b, 6), BATCH),
    "cnn": (cnn, lambda b, t: torch.randn(b, 1, 28, 28), BATCH),
    "resnet": (resnet, lambda b, t: torch.randn(b, 3, 12, 12), BATCH),
    "upsampling": (upsampling, lambda b, t: torch.randn(b, 4, 6, 6), BATCH),
    "waves": (waves, lambda b, t: torch.randn(b, 2, 16), BATCH),
    "decoder": (Decoder, lambda b, t: torch.randint(0, 11, (b, t)), BOTH),
    "encoder": (encoder, lambda b, t: torch.randn(b, t, 8), BOTH),
    "lstm": (Last, lambda b, t: torch.randn(b, t, 3), BOTH),
    "gru": (lambda: nn.GRU(3, 5), lambda b, t: torch.randn(t, b, 3), {0: "time", 1: "batch"}),
    "tagger": (
        lambda: nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 3), nn.LogSoftmax(-1)),
        lambda b, t: torch.randint(0, 11, (b, t)),
        BOTH,
    ),
}


@pytest.mark.filterwarnings("ignore")  # the converter's own, and that long sequences go otherwise
@pytest.mark.parametrize("name", ANY_SIZE)
def test_dynamic_batch_and_sequence(runtime, name):
    make, batch, axes = ANY_SIZE[name]
    torch.manual_seed(0)
    model, file = make().eval(), io.BytesIO()
    names = {"input_names": ["x"], "output_names": ["y", "h"][: 2 if name == "gru" else 1]}
    torch.onnx.export(model, batch(3, 5), file, **names, dynamic_axes={"x": axes, "y": axes})
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape[: len(axes)] == list(axes.values())
    for sizes in ((3, 5), (1, 5), (4, 7), (2, 1)):
        x = batch(*sizes)
        expected = model(x)[0] if name == "gru" else model(x)
        found = session.run(["y"], {"x": x.numpy()})[0]
        np.testing.assert_allclose(found, expected.numpy(force=True), rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # the converter's own
@pytest.mark.parametrize(
    "said",
    [
        {"dynamic_axes": {"x": {0: "batch", 1: "time"}}},
        {"dynamic_shapes": ({0: "batch", 1: "time"},)},
    ],
)
def test_ranges_are_the_models_where_nothing_is_said(runtime, said):
    class Places(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(8, 3))

        def forward(self, x):
            return x + self.table[: x.size(1)]

    model, file = Places(), io.BytesIO()
    with pytest.warns(UserWarning, match="program of Places is for time <= 8 alone"):
        torch.onnx.export(model, (torch.ones(2, 4, 3),), file, input_names=["x"], **said)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == ["batch", "time", 3]
    for time in (1, 8):
        x = torch.randn(3, time, 3)
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, model(x).numpy(force=True), rtol=1e-6)


def test_without_the_converter_the_alternative_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax2onnx", None)
    with pytest.raises(NotImplementedError, match="save_stablehlo"):
        torch.onnx.export(mlp().eval(), (torch.ones(4, 6),))
    assert not torch.onnx.is_in_onnx_export()


def test_what_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax2onnx", importlib.import_module("io"))
    x = torch.ones(4, 6)
    with pytest.raises(ValueError, match="name the inputs by input_names"):
        torch.onnx.export(mlp(), (x,), dynamic_axes={"x": [0]})
    with pytest.raises(ValueError, match="dimension 3 of x"):
        torch.onnx.export(mlp(), (x,), input_names=["x"], dynamic_axes={"x": [3]})
    with pytest.raises(TypeError, match="unexpected keyword argument 'opsets'"):
        torch.onnx.export(mlp(), (x,), opsets=3)
    with pytest.raises(Unexportable, match=r"model\.eval\(\)"):
        torch.onnx.export(nn.Dropout(), (x,))
    with pytest.raises(Unexportable, match=r"model\.eval\(\)"):
        torch.onnx.export(nn.BatchNorm1d(6), (x,))
    with pytest.raises(Unexportable, match="that it made"):
        torch.onnx.export(nn.Identity(), (x,))


def test_an_export_leaves_jax_as_it_was(runtime, tmp_path):
    functions = dict(vars(jax.numpy)), dict(vars(jax.lax))

    def sums(x):
        return torch.cumsum(x, 0) + layer(x)

    layer = torch.nn.Linear(3, 3)
    for name in ("first.onnx", "second.onnx"):
        torch.onnx.export(torch.nn.Sequential(layer), (torch.ones(2, 3),), tmp_path / name)
        torch.onnx.export(sums, (torch.ones(2, 3),), tmp_path / name)
    for module, before in zip((jax.numpy, jax.lax), functions, strict=True):
        assert [n for n, f in before.items() if vars(module).get(n) is not f] == []
    assert jax.numpy.cumsum(jax.numpy.ones(3), 0).tolist() == [1.0, 2.0, 3.0]
