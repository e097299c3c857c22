"""Embeddings with sparse gradients: what arrives in ``.grad``, and what optimizers make of it."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from oracle import compare, same

import torchlike

torch = pytest.importorskip("torch")

AT = [[0, 2], [2, 4]]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")


def table(t, **options):
    w = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    return t.nn.Embedding(5, 3, sparse=True, _weight=t.tensor(w), **options)


def told(g):
    """All that a gradient shows."""
    if g is None or not g.is_sparse:
        return None if g is None else g.detach().numpy()
    return (
        g.is_coalesced(),
        tuple(g.shape),
        str(g.layout),
        g.type(),
        g._indices().clone().numpy(),
        g._values().detach().clone().numpy(),
    )


def of_several_passes(t):
    e, i = table(t), t.tensor(AT)
    e(i).sum().backward()
    first, said = e.weight.grad, [told(e.weight.grad)]
    e(t.tensor(1)).sum().backward()
    said += [told(e.weight.grad), first is e.weight.grad]
    e.weight.sum().backward()
    said += [told(e.weight.grad), first is e.weight.grad]
    first = e.weight.grad
    e(i).pow(2).sum().backward()
    return [*said, told(e.weight.grad), first is e.weight.grad]


def of_several_uses(t):
    e, i = table(t), t.tensor(AT)
    (e(i).sum() + e(i).pow(2).sum()).backward()
    said = [told(e.weight.grad)]
    e.weight.grad = None
    (e(i).sum() + e.weight.pow(2).sum()).backward()
    return [*said, told(e.weight.grad)]


def of_padding(t):
    e = table(t, padding_idx=2)
    e(t.tensor(AT)).pow(2).sum().backward()
    return told(e.weight.grad)


def of_one_index_and_none(t):
    said = []
    for at in ([1], []):
        e = table(t)
        e(t.tensor(at, dtype=t.long)).sum().backward()
        said.append(told(e.weight.grad))
    return said


def of_bags(t):
    said = []
    for options in (
        {"mode": "sum"},
        {"mode": "mean"},
        {"mode": "sum", "padding_idx": 2},
        {"mode": "mean", "padding_idx": 2},
    ):
        e = t.nn.EmbeddingBag(5, 3, sparse=True, _weight=table(t).weight.detach(), **options)
        out = e(t.tensor(AT))
        out.pow(2).sum().backward()
        said += [out.detach().numpy(), told(e.weight.grad)]
    w = t.tensor([0.5, 2.0, -1.0, 3.0], requires_grad=True)
    e = t.nn.EmbeddingBag(
        5, 3, sparse=True, _weight=table(t).weight.detach(), mode="sum", include_last_offset=True
    )
    e(t.tensor([0, 2, 2, 4]), t.tensor([0, 0, 4]), w).pow(2).sum().backward()
    return [*said, told(e.weight.grad), told(w.grad)]


def of_hooks(t):
    e, said = table(t), []
    e.weight.register_hook(lambda g: said.append((told(g), isinstance(g, t.Tensor))))
    e.weight.register_hook(lambda g: g * 2)
    e.weight.register_post_accumulate_grad_hook(lambda p: said.append(told(p.grad)))
    e(t.tensor(AT)).sum().backward()
    return said


def of_autograd_grad(t):
    e = table(t)
    plain = t.autograd.grad(e(t.tensor(AT)).pow(2).sum(), e.weight)[0]
    first = t.autograd.grad(e(t.tensor(AT)).pow(3).sum(), e.weight, create_graph=True)[0]
    first.to_dense().pow(2).sum().backward()
    return told(plain), told(first), told(e.weight.grad)


def of_a_weight_that_is_no_leaf(t):
    e = table(t)
    t.nn.functional.embedding(t.tensor(AT), e.weight * 2, sparse=True).pow(2).sum().backward()
    return e.weight.grad.to_dense().numpy()


def of_a_checkpoint(t):
    e = table(t)
    out = t.utils.checkpoint.checkpoint(lambda i: e(i) ** 2, t.tensor(AT), use_reentrant=False)
    out.sum().backward()
    return told(e.weight.grad)


def of_zeros(t):
    e = table(t)
    e(t.tensor(AT)).sum().backward()
    t.optim.SGD(e.parameters(), 0.1).zero_grad(set_to_none=False)
    said = [told(e.weight.grad)]
    e(t.tensor(AT)).sum().backward()
    return [*said, told(e.weight.grad)]


def of_writes(t):
    e = table(t)
    e(t.tensor(AT)).sum().backward()
    g = e.weight.grad
    g.mul_(0.5).div_(4).neg_()
    said = [told(g)]
    g._values().add_(1)
    g.add_(g.clone())
    with t.no_grad():
        e.weight.add_(g, alpha=-0.1)
        e.weight -= 0.1 * g
        e.weight.data = e.weight.data - 0.1 * g
    return [*said, g.to_dense().numpy(), e.weight.detach().numpy()]


def of_copies(t):
    e = table(t)
    e(t.tensor(AT)).sum().backward()
    other = copy.deepcopy(e.weight.grad)
    other.mul_(2)
    file = io.BytesIO()
    t.save(e.weight.grad, file)
    file.seek(0)
    copies = other, pickle.loads(pickle.dumps(e.weight.grad)), t.load(file)
    return [told(e.weight.grad), *map(told, copies)]


def of_a_scaler(t):
    e = table(t)
    scaler, o = t.amp.GradScaler("cpu", init_scale=4.0), t.optim.SGD(e.parameters(), 0.1)
    scaler.scale(e(t.tensor(AT)).sum()).backward()
    scaler.unscale_(o)
    said = [told(e.weight.grad)]
    scaler.step(o)
    return [*said, e.weight.detach().numpy()]


def of_a_function(t):
    class Rows(t.autograd.Function):
        @staticmethod
        def forward(ctx, w, i):
            ctx.save_for_backward(i)
            return w[i]

        @staticmethod
        def backward(ctx, g):
            (i,) = ctx.saved_tensors
            return t.sparse_coo_tensor(i.reshape(1, -1), g.reshape(-1, 3), (5, 3)), None

    e = table(t)
    Rows.apply(e.weight, t.tensor(AT)).pow(2).sum().backward()
    said = [told(e.weight.grad)]
    Rows.apply(e.weight * 2, t.tensor(AT)).sum().backward()
    return [*said, e.weight.grad.to_dense().numpy()]


def of_another_dtype(t):
    e = table(t)
    e(t.tensor(AT)).sum().backward()
    e.double()
    return str(e.weight.grad.dtype), told(e.weight.grad)


def of_a_tied_weight(t):
    e, last = table(t), t.nn.Linear(3, 5, bias=False)
    last.weight = e.weight
    t.nn.functional.cross_entropy(
        last(e(t.tensor(AT))).flatten(0, 1), t.tensor(AT).flatten()
    ).backward()
    return told(e.weight.grad)


def of_dense_and_recorded_passes(t):
    """Sparse, then dense on top, recorded or not."""
    found = []
    for create_graph in (False, True):
        e = table(t)
        e(t.tensor(AT)).sum().backward()
        with warnings.catch_warnings(action="ignore"):  # of cycles that recorded gradients make
            (e.weight**2).sum().backward(create_graph=create_graph)
        found.append(told(e.weight.grad))
    return found


def of_an_anomaly_watch(t):
    e = table(t)
    with t.autograd.set_detect_anomaly(True):
        e(t.tensor(AT)).sum().backward()
    return told(e.weight.grad)


@pytest.mark.parametrize(
    "run",
    [
        of_several_passes,
        of_several_uses,
        of_padding,
        of_one_index_and_none,
        of_bags,
        of_hooks,
        of_autograd_grad,
        of_a_weight_that_is_no_leaf,
        of_a_checkpoint,
        of_zeros,
        of_writes,
        of_copies,
        of_a_scaler,
        of_a_function,
        of_another_dtype,
        of_a_tied_weight,
        of_an_anomaly_watch,
        of_dense_and_recorded_passes,
    ],
)
def test_gradients(run):
    compare(run)


STEPS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"momentum": 0.9, "foreach": True}),
    ("Adagrad", {}),
    ("Adagrad", {"maximize": True, "lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("SparseAdam", {}),
    ("SparseAdam", {"maximize": True}),
    ("SparseAdam", {"betas": (0.5, 0.7), "eps": 1e-3}),
]


@pytest.mark.parametrize(("name", "options"), STEPS)
def test_optimizers_take_them(name, options):
    def run(t):
        e = table(t, padding_idx=3)
        o = getattr(t.optim, name)(list(e.parameters()), lr=0.1, **options)
        said = []
        for k, at in enumerate((AT, [1, 1, 3], [3], AT, [0])):
            o.zero_grad(set_to_none=k % 2 == 0)
            (e(t.tensor(at)) ** 3).sum().backward()
            o.step()
            said.append(e.weight.detach().clone().numpy())
        state = o.state_dict()["state"].get(0, {})
        return said, {
            k: v if isinstance(v, int) else v.to_dense().numpy() for k, v in state.items()
        }

    compare(run)


REFUSED = [
    ("SGD", {"weight_decay": 0.1}),
    ("SGD", {"fused": True}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("Adagrad", {"fused": True}),
    ("Adam", {}),
    ("AdamW", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adamax", {}),
    ("RMSprop", {}),
    ("Rprop", {}),
    ("Adadelta", {}),
    ("Adafactor", {}),
    ("ASGD", {}),
    ("Muon", {}),
]


@pytest.mark.parametrize(("name", "options"), REFUSED)
def test_optimizers_refuse_them(name, options):
    said = []
    for t in (torchlike, torch):
        e = table(t)
        e(t.tensor(AT)).sum().backward()
        with pytest.raises(RuntimeError) as caught:
            getattr(t.optim, name)(e.parameters(), **options).step()
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_refusals():
    for t in (torchlike, torch):
        i = t.tensor(AT)
        with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
            table(t, scale_grad_by_freq=True)(i).sum().backward()
        with pytest.raises(ValueError, match="max mode does not support sparse weights"):
            t.nn.EmbeddingBag(5, 3, sparse=True, mode="max")(i)
        with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 0\]\]"):
            t.optim.SparseAdam([t.eye(2).to_sparse()])
        e = table(t)
        e(i).sum().backward()
        for op in ("exp", "max", "argmax", "clamp_min", "log", "cumsum", "view"):
            with pytest.raises(NotImplementedError):
                getattr(e.weight.grad, op)(
                    *{"clamp_min": (0,), "cumsum": (0,), "view": (-1,)}.get(op, ())
                )


def test_refusals_in_backward():
    for t in (torchlike, torch):
        e = table(t)
        out = e(t.tensor(AT))
        (out * 2).sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            (out * 3).sum().backward()
        e.weight.register_hook(lambda g: g.to_dense())
        with pytest.raises(RuntimeError, match=r"was torch\.sparse\.FloatTensor got torch\.Float"):
            e(t.tensor(AT)).sum().backward()


def test_assert_close():
    for t in (torchlike, torch):
        s = t.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (3,))
        t.testing.assert_close(s, s.clone())
        t.testing.assert_close(s, s.to_dense(), check_layout=False)
        for other in (
            s * 2,
            s.coalesce(),
            t.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (3,)),
            s.to_dense(),
        ):
            with pytest.raises(AssertionError):
                t.testing.assert_close(s, other)


def test_clipping():
    """PyTorch cannot; here the norm is that of the dense gradient."""
    e, dense = table(torchlike), table(torch)
    dense.sparse = False
    e(torchlike.tensor(AT)).pow(2).sum().backward()
    dense(torch.tensor(AT)).pow(2).sum().backward()
    norms = (
        torchlike.nn.utils.clip_grad_norm_(e.parameters(), 1.0),
        torch.nn.utils.clip_grad_norm_(dense.parameters(), 1.0),
    )
    same(*norms, rtol=1e-6)
    assert e.weight.grad.is_sparse
    same(e.weight.grad.to_dense().numpy(), dense.weight.grad.numpy())


def test_a_momentum_from_pytorch():
    """PyTorch's buffer is sparse."""

    def step(t, e, o):
        o.zero_grad()
        e(t.tensor(AT)).pow(2).sum().backward()
        o.step()

    theirs, ours = table(torch), table(torchlike)
    a = torch.optim.SGD(theirs.parameters(), 0.1, momentum=0.9)
    step(torch, theirs, a)
    file = io.BytesIO()
    torch.save((theirs.state_dict(), a.state_dict()), file)
    file.seek(0)
    weights, state = torchlike.load(file)
    assert state["state"][0]["momentum_buffer"].is_sparse
    b = torchlike.optim.SGD(ours.parameters(), 0.1, momentum=0.9)
    ours.load_state_dict(weights)
    b.load_state_dict(state)
    step(torch, theirs, a)
    step(torchlike, ours, b)
    same(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
