"""torch.onnx.export through jax2onnx, run by ONNX Runtime."""

import importlib
import io
import sys

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


def test_without_the_converter_the_alternative_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax2onnx", None)
    with pytest.raises(NotImplementedError, match="save_stablehlo"):
        torch.onnx.export(mlp().eval(), (torch.ones(4, 6),))
    assert not torch.onnx.is_in_onnx_export()


def test_what_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax2onnx", importlib.import_module("io"))
    x = torch.ones(4, 6)
    with pytest.raises(NotImplementedError, match="once for each shape"):
        torch.onnx.export(mlp(), (x,), dynamic_axes={"x": [0]})
    with pytest.raises(TypeError, match="unexpected keyword argument 'opsets'"):
        torch.onnx.export(mlp(), (x,), opsets=3)
    with pytest.raises(Unexportable, match=r"model\.eval\(\)"):
        torch.onnx.export(nn.Dropout(), (x,))
    with pytest.raises(Unexportable, match=r"model\.eval\(\)"):
        torch.onnx.export(nn.BatchNorm1d(6), (x,))
    with pytest.raises(Unexportable, match="that it made"):
        torch.onnx.export(nn.Identity(), (x,))
