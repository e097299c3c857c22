"""Functions are pickled by their public place: whole models keep activations as attributes."""

import io
import pickle

import pytest

import torchlike as torch
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.nn import functional as F

FUNCTIONS = [(space, name) for space in NAMESPACES if space != "aten" for name in NAMESPACES[space]]


@pytest.mark.parametrize("space", sorted({space for space, _ in FUNCTIONS}))
def test_each_function_is_found_again(space):
    for name, function in NAMESPACES[space].items():
        assert pickle.loads(pickle.dumps(function)) is function, name


@pytest.mark.parametrize("activation", [F.gelu, F.relu, F.softplus, F.silu, torch.tanh])
def test_a_model_with_a_function_as_attribute_is_saved(activation):
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, activation=activation, batch_first=True)
    file = io.BytesIO()
    torch.save(layer.eval(), file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded.activation is layer.activation
    x = torch.ones(1, 2, 4)
    assert loaded(x).tolist() == layer(x).tolist()
