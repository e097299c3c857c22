"""What layers do beside computing: checks and their words, statistics, hooks, defaults."""

from __future__ import annotations

from importlib import import_module

import pytest

torch = pytest.importorskip("torch")

from oracle import compare, refused, same  # noqa: E402

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


def said(m, make):
    """The first line of what is raised, with its type."""
    with pytest.raises(Exception) as info:
        make(m)
    return type(info.value).__name__, str(info.value).split("\n")[0]


def bag(m, offsets, **options):
    indices = m.tensor(options.pop("indices", [0, 1, 2, 3]))
    weight = m.arange(12.0).view(4, 3)
    return m.nn.functional.embedding_bag(indices, weight, offsets, **options)


def matrix(m, *rows):
    return m.tensor([[float(v) for v in row] for row in rows])


REFUSED = {
    "offsets that begin later": lambda m: bag(m, m.tensor([1, 2])),
    "offsets beyond the input": lambda m: bag(m, m.tensor([0, 5]), mode="sum"),
    "offsets of an empty input": lambda m: (
        bag(m, m.tensor([0, 1]), indices=[0]) and bag(m, m.tensor([0, 2]), indices=[1])
    ),
    "last offset beyond the input": lambda m: bag(m, m.tensor([0, 5]), include_last_offset=True),
    "offsets that are floats": lambda m: bag(m, m.tensor([0.0, 1.0])),
    "weights of another dtype": lambda m: bag(
        m, m.tensor([0, 1]), mode="sum", per_sample_weights=m.ones(4).double()
    ),
    "weights of another shape": lambda m: bag(
        m, m.tensor([0, 1]), mode="sum", per_sample_weights=m.ones(3)
    ),
    "bilinear batches": lambda m: m.nn.Bilinear(2, 3, 4)(m.ones(5, 2), m.ones(6, 3)),
    "bilinear dimensions": lambda m: m.nn.Bilinear(2, 3, 4)(m.ones(5, 2), m.ones(5, 2, 3)),
    "bilinear features": lambda m: m.nn.Bilinear(2, 3, 4)(m.ones(5, 2), m.ones(5, 4)),
    "a lazy convolution of a vector": lambda m: m.nn.LazyConv2d(3, 2)(m.ones(4)),
    "a lazy convolution of five dimensions": lambda m: m.nn.LazyConv2d(3, 2)(m.ones(1, 1, 4, 4, 4)),
    "a lazy transposed convolution": lambda m: m.nn.LazyConvTranspose2d(3, 2)(m.ones(4)),
    "negative inputs": lambda m: m.nn.Linear(-1, 2),
    "negative kernel": lambda m: m.nn.Conv2d(1, 2, -3),
    "negative features": lambda m: m.nn.BatchNorm1d(-1),
    "no target": lambda m: m.nn.CrossEntropyLoss()(m.ones(2, 3), None),
    "a list as target": lambda m: m.nn.CrossEntropyLoss()(m.ones(2, 3), [1, 2]),
    "no input": lambda m: m.nn.CrossEntropyLoss()(None, m.ones(2, 3)),
    "a GRU's projection": lambda m: m.nn.GRU(2, 3, proj_size=1),
    "an RNN's projection": lambda m: m.nn.RNN(2, 3, proj_size=0),
    "an unknown argument": lambda m: m.nn.GRU(2, 3, foo=1),
    "lengths as a matrix": lambda m: m.nn.utils.rnn.pack_padded_sequence(
        m.ones(2, 3, 2), m.tensor([[3, 2]]), batch_first=True
    ),
    "an indefinite covariance": lambda m: m.distributions.MultivariateNormal(
        m.zeros(2), matrix(m, (1, 2), (2, 1))
    ),
    "an indefinite precision": lambda m: m.distributions.MultivariateNormal(
        m.zeros(2), precision_matrix=matrix(m, (1, 2), (2, 1))
    ),
    "an unsymmetric covariance": lambda m: m.distributions.MultivariateNormal(
        m.zeros(2), matrix(m, (1, 2), (0, 1))
    ),
    "an indefinite Wishart": lambda m: m.distributions.Wishart(
        m.tensor(3.0), matrix(m, (1, 2), (2, 1))
    ),
    "CrossMapLRN2d of three dimensions": lambda m: m.nn.CrossMapLRN2d(3)(m.ones(4, 2, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    refused(REFUSED[name], words=90)  # PyTorch shows a tensor after one of them


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("kind", ["int32", "int16", "bool"])
def test_bags_with_other_offsets(kind, mode):
    compare(lambda m: bag(m, m.tensor([0, 1], dtype=getattr(m, kind)), mode=mode))


def test_offsets_that_decrease_are_refused():
    with pytest.raises(RuntimeError, match="offsets must not decrease"):
        bag(torchlike, torchlike.tensor([0, 3, 2]))


def test_an_indefinite_matrix_unchecked():
    for m in BOTH:
        with pytest.raises(RuntimeError, match="not positive-definite"):
            m.distributions.MultivariateNormal(
                m.zeros(2), matrix(m, (1, 2), (2, 1)), validate_args=False
            )


def test_lazy_instance_norms_are_affine_and_track():
    for kind in ("LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d"):
        theirs, ours = (getattr(m.nn, kind) for m in BOTH)
        assert repr(ours()) == repr(theirs())
        assert list(ours().state_dict()) == list(theirs().state_dict())
        assert repr(ours(1e-3, 0.2, False)) == repr(theirs(1e-3, 0.2, False))
    layers = []
    for m in BOTH:
        layer = m.nn.LazyInstanceNorm1d()
        layer(m.arange(24.0).view(2, 3, 4))
        layers.append(layer)
    assert repr(layers[1]) == repr(layers[0])
    same(layers[1].running_var, layers[0].running_var)


# -- CrossMapLRN2d ---------------------------------------------------------------------------------


def cross_map(m, size, jit=False):
    x = m.linspace(-1, 2, 56).view(2, 7, 2, 2).requires_grad_()
    layer = m.nn.CrossMapLRN2d(size, 0.5, 0.75, 1.5)
    y = (m.jit(layer) if jit else layer)(x)
    (y * m.arange(56.0).view(2, 7, 2, 2)).sum().backward()
    return y.detach(), x.grad


@pytest.mark.parametrize("size", [2, 3, 4, 5, 9])
def test_cross_map_norm(size):
    for jit in (False, True):
        # PyTorch's sums add and take away.
        compare(lambda m, jit=jit: cross_map(m, size, jit and m is torchlike), rtol=2e-5, atol=2e-5)


# -- checkpointed statistics -----------------------------------------------------------------------


def checkpointed(m, last, early_stop=True):
    m.manual_seed(0)
    nn = m.nn
    layers = {
        "norm": lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)),
        "norm and more": lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()),
        "two norms": lambda: nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3)),
        "instance norm": lambda: nn.InstanceNorm1d(3, track_running_stats=True),
    }[last]()
    x = (
        (m.arange(30.0) % 7).view(5, 3, 2)
        if last == "instance norm"
        else (m.arange(15.0) % 7).view(5, 3)
    )
    x.requires_grad_()
    region = import_module(f"{m.__name__}.utils.checkpoint").checkpoint
    y = region(layers, x, use_reentrant=False, early_stop=early_stop)
    (y * m.arange(float(y.numel())).view(y.shape)).sum().backward()
    return [x.grad, *layers.buffers()]


@pytest.mark.parametrize("early_stop", [False, True])
@pytest.mark.parametrize("last", ["norm", "norm and more", "two norms", "instance norm"])
def test_how_often_a_checkpointed_norm_moves_its_statistics(last, early_stop):
    compare(lambda m: checkpointed(m, last, early_stop), rtol=1e-4, atol=1e-4)


# -- backward hooks --------------------------------------------------------------------------------

#: Which inputs require grad, and what is made of the outputs (a * 2, b * 3).
CALLS = {
    "the second": ((True, True), lambda o: o[1].sum()),
    "the first": ((True, True), lambda o: o[0].sum()),
    "both": ((True, True), lambda o: (o[0] + o[1]).sum()),
    "one without gradient": ((True, False), lambda o: o[0].sum()),
    "the other without gradient": ((False, True), lambda o: (o[0] + o[1]).sum()),
    "one cut off": ((True, True), lambda o: (o[0].detach() + o[1]).sum()),
}


def hooked(m, wanted, use, ahead):
    class Two(m.nn.Module):
        def forward(self, a, b):
            return a * 2, b * 3

    def shown(gradients):
        return [None if g is None else g.tolist() for g in gradients]

    log = []
    module = Two()
    module.register_full_backward_hook(
        lambda _, inside, outside: log.append(("hook", shown(inside), shown(outside)))
    )
    if ahead:
        module.register_full_backward_pre_hook(lambda _, outside: log.append(shown(outside)))
    inputs = [m.ones(2).requires_grad_(w) for w in wanted]
    use(module(*inputs)).backward()
    return log, shown([t.grad for t in inputs])


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_hooks_see_zeros_for_what_has_no_gradient(name, ahead):
    theirs, ours = (hooked(m, *CALLS[name], ahead) for m in BOTH)
    assert ours == theirs
