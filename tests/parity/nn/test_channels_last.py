"""Strides of what ops make of images that lie channels last, against PyTorch."""

import math
from functools import partial

import numpy as np
import pytest
from oracle import Raised, compare, outcome

import torchlike

torch = pytest.importorskip("torch")


def images(lib, make, *size):
    return make(lib, (lib.arange(float(math.prod(size))).reshape(size) * 0.37) % 1.3 - 0.5)


def channels_last(lib, x):
    rank = x.dim()
    return x.contiguous(memory_format=lib.channels_last if rank == 4 else lib.channels_last_3d)


def seen_from_nhwc(lib, x):
    """As images come from files: a view of memory whose last dimension is the channel."""
    return x.movedim(1, -1).contiguous().movedim(-1, 1)


def cropped(lib, x):
    return channels_last(lib, x)[..., 1:]


def one_channel(lib, x):
    return channels_last(lib, x[:, :1])


def one_image(lib, x):
    return channels_last(lib, x)[:1]


def transposed(lib, x):
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def row_major(lib, x):
    return x


MAKES = (channels_last, seen_from_nhwc, cropped, one_channel, one_image, transposed, row_major)


def F(lib):
    return lib.nn.functional


def weights(lib, *size):
    return (lib.arange(float(math.prod(size))).reshape(size) % 7 - 3) / 7


PLANES = {
    "conv2d": lambda lib, x: F(lib).conv2d(x, weights(lib, 5, x.shape[1], 3, 3), padding=1),
    "conv2d, 1 by 1": lambda lib, x: F(lib).conv2d(x, weights(lib, 5, x.shape[1], 1, 1)),
    "conv2d by its weight": lambda lib, x: F(lib).conv2d(
        x, weights(lib, 5, x.shape[1], 3, 3).to(memory_format=lib.channels_last)
    ),
    "conv2d without a batch": lambda lib, x: F(lib).conv2d(
        x[0], weights(lib, 5, x.shape[1], 3, 3).to(memory_format=lib.channels_last)
    ),
    "conv_transpose2d": lambda lib, x: F(lib).conv_transpose2d(
        x, weights(lib, x.shape[1], 5, 3, 3)
    ),
    "max_pool2d": lambda lib, x: F(lib).max_pool2d(x, 2),
    "max_pool2d with indices": lambda lib, x: F(lib).max_pool2d(x, 2, return_indices=True),
    "avg_pool2d": lambda lib, x: F(lib).avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda lib, x: F(lib).adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda lib, x: F(lib).adaptive_max_pool2d(x, 2),
    "lp_pool2d": lambda lib, x: F(lib).lp_pool2d(x, 2, 2),
    "interpolate": lambda lib, x: F(lib).interpolate(x, scale_factor=2),
    "interpolate, bilinear": lambda lib, x: F(lib).interpolate(x, scale_factor=2, mode="bilinear"),
    "interpolate, bicubic": lambda lib, x: F(lib).interpolate(x, scale_factor=2, mode="bicubic"),
    "pad, reflect": lambda lib, x: F(lib).pad(x, (1, 1, 1, 1), mode="reflect"),
    "pixel_unshuffle": lambda lib, x: F(lib).pixel_unshuffle(x[..., :4, :4], 2),
}
VOLUMES = {
    "conv3d": lambda lib, x: F(lib).conv3d(x, weights(lib, 5, x.shape[1], 2, 2, 2)),
    "max_pool3d": lambda lib, x: F(lib).max_pool3d(x, 2),
    "avg_pool3d": lambda lib, x: F(lib).avg_pool3d(x, 2),
    "adaptive_avg_pool3d": lambda lib, x: F(lib).adaptive_avg_pool3d(x, 2),
    "interpolate": lambda lib, x: F(lib).interpolate(x, scale_factor=2),
}
ANY = {
    "batch_norm": lambda lib, x: F(lib).batch_norm(x, None, None, training=True),
    "batch_norm, eval": lambda lib, x: F(lib).batch_norm(
        x, lib.zeros(x.shape[1]), lib.ones(x.shape[1])
    ),
    "group_norm": lambda lib, x: F(lib).group_norm(x, 1),
    "local_response_norm": lambda lib, x: F(lib).local_response_norm(x, 2),
    "normalize": lambda lib, x: F(lib).normalize(x),
    "relu": lambda lib, x: F(lib).relu(x),
    "prelu": lambda lib, x: F(lib).prelu(x, lib.ones(x.shape[1])),
    "glu": lambda lib, x: F(lib).glu(x[..., :4]),
    "pad": lambda lib, x: F(lib).pad(x, (1, 1, 1, 1)),
    "pad, replicate": lambda lib, x: F(lib).pad(x, (1,) * 2 * (x.dim() - 2), mode="replicate"),
    "pad, circular": lambda lib, x: F(lib).pad(x, (1,) * 2 * (x.dim() - 2), mode="circular"),
    "channel_shuffle": lambda lib, x: F(lib).channel_shuffle(x, 1),
    "mse_loss": lambda lib, x: F(lib).mse_loss(x, x * 2, reduction="none"),
    "smooth_l1_loss": lambda lib, x: F(lib).smooth_l1_loss(x, x * 2, reduction="none"),
    "roll": lambda lib, x: x.roll(1, 2),
    "cat": lambda lib, x: lib.cat([x, x], 1),
    "cat with a row-major one": lambda lib, x: lib.cat([x, x.contiguous()], 1),
    "stack": lambda lib, x: lib.stack([x, x]),
    "stack, dim 1": lambda lib, x: lib.stack([x, x], 1),
    "stack, dim 2": lambda lib, x: lib.stack([x, x, x], 2),
    "stack, last dim": lambda lib, x: lib.stack([x, x], -1),
    "out=": lambda lib, x: lib.mul(x, 2, out=lib.empty(0)),
    "dropout": lambda lib, x: F(lib).dropout(x, 0.5),
    "bernoulli(p)": lambda lib, x: x.bernoulli(0.5),
    "normal": lambda lib, x: lib.normal(x, 1.0),
    "rand_like": lambda lib, x: lib.rand_like(x),
    "randint_like": lambda lib, x: lib.randint_like(x, 0, 100),
    "randn_like, other format": lambda lib, x: lib.randn_like(
        x, memory_format=lib.channels_last if x.dim() == 4 else lib.channels_last_3d
    ),
}
CASES = {f"{name}, planes": (f, (2, 3, 6, 5)) for name, f in (PLANES | ANY).items()}
CASES |= {f"{name}, volumes": (f, (2, 3, 4, 6, 5)) for name, f in (VOLUMES | ANY).items()}


#: PyTorch refuses to look at this one as it needs to.
ITS_OWN = {("local_response_norm, volumes", transposed)}


def results(lib, case, make, jitted):
    f, size = CASES[case]
    x = images(lib, make, *size)
    made = lib.jit(lambda x: f(lib, x))(x) if jitted and lib is torchlike else f(lib, x)
    made = tuple(made) if isinstance(made, tuple) else (made,)
    return made, [y.stride() for y in made]


def check(case, make, jitted):
    run = partial(results, case=case, make=make, jitted=jitted)
    if (case, make) in ITS_OWN:
        assert isinstance(outcome(run, torch), Raised)
        assert not isinstance(outcome(run, torchlike), Raised)
    else:
        compare(run, words=0)


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("case", CASES)
def test_results_lie_as_in_pytorch(case, make):
    check(case, make, jitted=False)


@pytest.mark.sampled(every=19, rest="full")
@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("case", CASES)
def test_results_of_compiled_programs_lie_as_in_pytorch(case, make):
    check(case, make, jitted=True)


LEAVES = {
    "channels last": lambda lib: channels_last(lib, lib.ones(2, 3, 4, 5)),
    "transposed": lambda lib: lib.ones(3, 4).t(),
    "with gaps": lambda lib: lib.ones(4, 6)[:, ::2],
    "expanded": lambda lib: lib.ones(1, 6).expand(4, 6),
}


@pytest.mark.parametrize("leaf", LEAVES)
def test_gradients_lie_like_their_leaves(leaf):
    def strides(lib):
        x = LEAVES[leaf](lib).requires_grad_()
        found = []
        for _ in range(2):
            (x * 2).sum().backward()
            found.append(x.grad.stride())
        return found

    assert strides(torchlike) == strides(torch)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "RMSprop": {"momentum": 0.5},
    "Adagrad": {},
    "Adadelta": {},
    "Rprop": {},
    "NAdam": {},
    "RAdam": {},
    "Adamax": {},
    "ASGD": {},
}


@pytest.mark.sampled(every=6, rest="full")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_keeps_a_model_channels_last(name):
    def trained(lib, jitted=False):
        x = images(lib, channels_last, 2, 3, 6, 5)
        lib.manual_seed(0)
        layers = [lib.nn.Conv2d(3, 4, 3), lib.nn.BatchNorm2d(4), lib.nn.Dropout(0.5)]
        model = lib.nn.Sequential(*layers, lib.nn.Conv2d(4, 2, 2))
        model.to(memory_format=lib.channels_last)
        optimizer = getattr(lib.optim, name)(model.parameters(), lr=0.01, **OPTIMIZERS[name])

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = lib.jit(step) if jitted else step
        losses = [run(x).item() for _ in range(3)]
        weight = model[0].weight
        state = optimizer.state[weight]
        strides = {k: v.stride() for k, v in state.items() if hasattr(v, "stride") and v.dim()}
        return losses, weight.stride(), weight.grad.stride(), strides

    expected = trained(torch)
    for ours in (trained(torchlike), trained(torchlike, jitted=True)):
        np.testing.assert_allclose(ours[0], expected[0], rtol=1e-5)
        assert ours[1:] == expected[1:]


def test_one_channel_is_made_channels_last_by_to_alone():
    def strides(lib):
        x = lib.zeros(5, 1, 3, 3)
        form = lib.channels_last
        return x.to(memory_format=form).stride(), x.contiguous(memory_format=form).stride()

    assert strides(torchlike) == strides(torch) == ((9, 1, 3, 1), (9, 9, 3, 1))


@pytest.mark.parametrize("make", MAKES)
def test_like_functions_fill_along_memory(make):
    def numbers(lib):
        lib.manual_seed(0)
        x = images(lib, make, 2, 3, 6, 5)
        made = lib.rand_like(x), lib.randn_like(x), lib.randint_like(x, 100)
        return [(t.stride(), [round(v, 5) for v in t.reshape(-1).tolist()]) for t in made]

    assert numbers(torchlike) == numbers(torch)
