"""A product with an activation in one op: what its definition says."""

import pytest

import torchlike
from torchlike.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")


def operands(t, dtype="float32"):
    """A vector and two matrices that fit."""
    return (
        t.tensor([1.0, -2.0], dtype=getattr(t, dtype)),
        t.tensor([[1.0, 2.0, -1.0]], dtype=getattr(t, dtype)),
        t.tensor([[0.5, 1.0], [-1.0, 0.25], [2.0, 1.0]], dtype=getattr(t, dtype)),
    )


@pytest.mark.parametrize("use_gelu", [False, True])
def test_autocast_lowers_it(use_gelu):
    shown = []
    for t in (torch, torchlike):
        with t.autocast("cpu", t.bfloat16):
            out = t._addmm_activation(*operands(t), use_gelu=use_gelu)
        shown.append((str(out.dtype).removeprefix("torchlike").removeprefix("torch"), out.tolist()))
    assert shown[0] == shown[1]
    assert shown[1][0] == ".bfloat16"


@pytest.mark.parametrize("use_gelu", [False, True])
def test_its_decomposition_is_made_of_public_operators(use_gelu):
    op = torchlike.ops.aten._addmm_activation.default
    table = torchlike._decomp.get_decompositions([op])
    traced = make_fx(lambda *a: op(*a, use_gelu=use_gelu), decomposition_table=table)(
        *operands(torchlike)
    )
    called = [str(n.target) for n in traced.graph.nodes if n.op == "call_function"]
    assert called == ["aten.addmm.default", f"aten.{'gelu' if use_gelu else 'relu'}.default"]


def test_it_has_a_gradient():
    ours = [x.requires_grad_() for x in operands(torchlike, "float64")]
    theirs = [x.requires_grad_() for x in operands(torch, "float64")]
    torchlike._addmm_activation(*ours, beta=2, alpha=0.5).sum().backward()
    torch.relu(torch.addmm(*theirs, beta=2, alpha=0.5)).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        assert a.grad.tolist() == b.grad.tolist()
