"""``torch._decomp``: graphs without the operators of the table, and with the same values."""

import numpy as np
import pytest

import torchlike
from torchlike._decomp import core_aten_decompositions, get_decompositions, register_decomposition
from torchlike.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")

CASES = {
    "t": "x.t()",
    "addmm": "torch.addmm(v, x, w, beta=2, alpha=3)",
    "_addmm_activation": "torch._addmm_activation(v, x, w, beta=2, use_gelu=True)",
    "addcmul": "torch.addcmul(x, x, y, value=2)",
    "addcdiv": "torch.addcdiv(x, x, y + 2, value=2)",
    "rsub": "3 - x",
    "_softmax": "torch.softmax(x, 1)",
    "_log_softmax": "torch.log_softmax(x, 1)",
    "native_layer_norm": "F.layer_norm(x, (6,), v, v)",
    "gelu": "F.gelu(x)",
    "silu": "F.silu(x)",
    "hardtanh": "F.hardtanh(x)",
    "leaky_relu": "F.leaky_relu(x - 0.5, 0.2)",
    "elu": "F.elu(x - 1)",
    "softplus": "F.softplus(x, 2)",
    "hardsigmoid": "F.hardsigmoid(x)",
    "lerp": "x.lerp(y, 0.3)",
    "hardswish": "F.hardswish(x)",
    "mse_loss": "F.mse_loss(x, y)",
    "masked_fill": "x.masked_fill(x > 0.5, 2.0)",
}


def arguments(library):
    rng = np.random.default_rng(0)
    sizes = ((4, 6), (4, 6), (6, 6), (6,))
    return [library.tensor(rng.random(n, dtype=np.float32).tolist()) for n in sizes]


@pytest.mark.parametrize("name", CASES)
def test_what_stands_for_an_operator_computes_the_same(name):
    def function(library):
        return eval(
            f"lambda x, y, w, v: {CASES[name]}", {"torch": library, "F": library.nn.functional}
        )

    packet = getattr(torchlike.ops.aten, name)
    table = get_decompositions([packet])
    assert table
    graph = make_fx(function(torchlike), decomposition_table=table)(*arguments(torchlike))
    assert not {n.target for n in graph.graph.nodes} & set(table)
    expected = function(torch)(*arguments(torch)).numpy()
    np.testing.assert_allclose(graph(*arguments(torchlike)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_backward_passes_are_decomposed_too():
    def f(x):
        x = x.detach().requires_grad_()
        loss = torchlike.softmax(torchlike.relu(x).tanh().sigmoid()[1:, 0], 0).pow(2).sum()
        return torchlike.autograd.grad(loss, x)[0]

    x = arguments(torchlike)[0]
    table = core_aten_decompositions()
    graph = make_fx(f, decomposition_table=table)(x)
    assert not {n.target for n in graph.graph.nodes} & set(table)
    assert torchlike.allclose(graph(x), f(x), atol=1e-7)


def test_a_table_of_ones_own():
    own = {}

    @register_decomposition(torchlike.ops.aten.relu, registry=own)
    def relu(x):
        return torchlike.ops.aten.clamp_min.default(x, 0)

    graph = make_fx(torchlike.relu, decomposition_table=own)(torchlike.ones(2))
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert targets == [torchlike.ops.aten.clamp_min.default]
    with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.relu\.default"):
        register_decomposition(torchlike.ops.aten.relu, registry=own)(relu)
