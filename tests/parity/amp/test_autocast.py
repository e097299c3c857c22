"""Autocast against PyTorch's on the CPU: the dtype every function gives, on and off."""

import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


class Inputs:
    """What the functions below work on, for a torch and a dtype."""

    def __init__(self, t, dtype):
        rng = np.random.default_rng(0)

        def r(*shape):
            return t.tensor(rng.random(shape)).to(dtype)

        self.t, self.F, self.L, self.r, self.dtype = t, t.nn.functional, t.linalg, r, dtype
        self.a, self.b, self.v, self.c = r(4, 4), r(4, 4), r(4), r(2, 4, 4)
        self.image, self.volume, self.signal = r(1, 2, 6, 6), r(1, 2, 4, 4, 4), r(1, 2, 8)
        a = self.a.double()
        self.spd = (a @ a.T + 4 * t.eye(4, dtype=t.float64)).to(dtype)
        self.index = t.tensor([0, 1, 2, 3])


FUNCTIONS = {
    "mm": lambda x: x.t.mm(x.a, x.b),
    "matmul": lambda x: x.a @ x.b,
    "matvec": lambda x: x.a @ x.v,
    "mv": lambda x: x.t.mv(x.a, x.v),
    "dot": lambda x: x.t.dot(x.v, x.v),
    "bmm": lambda x: x.t.bmm(x.c, x.c),
    "addmm": lambda x: x.t.addmm(x.a, x.a, x.b),
    "addmv": lambda x: x.t.addmv(x.v, x.a, x.v),
    "addbmm": lambda x: x.t.addbmm(x.a, x.c, x.c),
    "baddbmm": lambda x: x.t.baddbmm(x.c, x.c, x.c),
    "addr": lambda x: x.t.addr(x.a, x.v, x.v),
    "linear": lambda x: x.F.linear(x.a, x.b, x.v),
    "conv1d": lambda x: x.F.conv1d(x.signal, x.r(3, 2, 3)),
    "conv2d": lambda x: x.F.conv2d(x.image, x.r(3, 2, 3, 3)),
    "conv3d": lambda x: x.F.conv3d(x.volume, x.r(3, 2, 3, 3, 3)),
    "conv_transpose1d": lambda x: x.F.conv_transpose1d(x.signal, x.r(2, 3, 3)),
    "conv_transpose2d": lambda x: x.F.conv_transpose2d(x.image, x.r(2, 3, 3, 3)),
    "conv_transpose3d": lambda x: x.F.conv_transpose3d(x.volume, x.r(2, 3, 2, 2, 2)),
    "sdpa": lambda x: x.F.scaled_dot_product_attention(x.c, x.c, x.c),
    "einsum": lambda x: x.t.einsum("ij,jk->ik", x.a, x.b),
    "tensordot": lambda x: x.t.tensordot(x.a, x.b, 1),
    "multi_dot": lambda x: x.L.multi_dot([x.a, x.b, x.a]),
    "vecdot": lambda x: x.L.vecdot(x.a, x.b),
    "inner": lambda x: x.t.inner(x.a, x.b),
    "outer": lambda x: x.t.outer(x.v, x.v),
    "bilinear": lambda x: x.F.bilinear(x.a, x.a, x.r(3, 4, 4)),
    "prelu": lambda x: x.F.prelu(x.a, x.r(1)),
    "lstm": lambda x: x.t.nn.LSTM(4, 3).to(x.dtype)(x.c)[0],
    "gru": lambda x: x.t.nn.GRU(4, 3).to(x.dtype)(x.c)[0],
    "rnn": lambda x: x.t.nn.RNN(4, 3).to(x.dtype)(x.c)[0],
    "lstm_cell": lambda x: x.t.nn.LSTMCell(4, 3).to(x.dtype)(x.a)[0],
    "gru_cell": lambda x: x.t.nn.GRUCell(4, 3).to(x.dtype)(x.a),
    "rnn_cell": lambda x: x.t.nn.RNNCell(4, 3).to(x.dtype)(x.a),
    "attention": lambda x: x.t.nn.MultiheadAttention(4, 2).to(x.dtype)(x.c, x.c, x.c)[0],
    "encoder": lambda x: x.t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0).to(x.dtype)(x.c),
    "avg_pool3d": lambda x: x.F.avg_pool3d(x.volume, 2),
    "avg_pool2d": lambda x: x.F.avg_pool2d(x.image, 2),
    "binary_cross_entropy": lambda x: x.F.binary_cross_entropy(x.a, x.b),
    "grid_sample": lambda x: x.F.grid_sample(x.image, x.r(1, 3, 3, 2), align_corners=False),
    "polar": lambda x: x.t.polar(x.a, x.b),
    "prod": lambda x: x.t.prod(x.a),
    "quantile": lambda x: x.t.quantile(x.a, 0.5),
    "nanquantile": lambda x: x.t.nanquantile(x.a, 0.5),
    "stft": lambda x: x.t.stft(x.r(32), 8, window=x.t.ones(8, dtype=x.dtype), return_complex=True),
    "cdist": lambda x: x.t.cdist(x.a, x.b),
    "trace": lambda x: x.t.trace(x.a),
    "view_as_complex": lambda x: x.t.view_as_complex(x.r(3, 2)),
    "linalg.cholesky": lambda x: x.L.cholesky(x.spd),
    "cholesky_inverse": lambda x: x.t.cholesky_inverse(x.spd),
    "cholesky_solve": lambda x: x.t.cholesky_solve(x.a, x.spd),
    "inverse": lambda x: x.t.inverse(x.spd),
    "linalg.inv": lambda x: x.L.inv(x.spd),
    "pinverse": lambda x: x.t.pinverse(x.spd),
    "max_pool3d": lambda x: x.F.max_pool3d(x.volume, 2),
    "max_pool2d": lambda x: x.F.max_pool2d(x.image, 2),
    "adaptive_avg_pool3d": lambda x: x.F.adaptive_avg_pool3d(x.volume, 2),
    "adaptive_avg_pool2d": lambda x: x.F.adaptive_avg_pool2d(x.image, 2),
    "reflect": lambda x: x.F.pad(x.image, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda x: x.F.pad(x.signal, (1, 1), mode="replicate"),
    "pad": lambda x: x.F.pad(x.image, (1, 1)),
    "mse": lambda x: x.F.mse_loss(x.a, x.b),
    "cosine_embedding": lambda x: x.F.cosine_embedding_loss(x.a, x.b, x.t.ones(4)),
    "nll": lambda x: x.F.nll_loss(x.a, x.index),
    "hinge": lambda x: x.F.hinge_embedding_loss(x.a, x.b),
    "poisson_nll": lambda x: x.F.poisson_nll_loss(x.a, x.b),
    "smooth_l1": lambda x: x.F.smooth_l1_loss(x.a, x.b),
    "cross_entropy": lambda x: x.F.cross_entropy(x.a, x.index),
    "l1": lambda x: x.F.l1_loss(x.a, x.b),
    "huber": lambda x: x.F.huber_loss(x.a, x.b),
    "ranking": lambda x: x.F.margin_ranking_loss(x.v, x.v, x.v),
    "soft_margin": lambda x: x.F.soft_margin_loss(x.a, x.b),
    "triplet": lambda x: x.F.triplet_margin_loss(x.a, x.b, x.a),
    "kl_div": lambda x: x.F.kl_div(x.a, x.b, reduction="sum"),
    "multilabel_soft": lambda x: x.F.multilabel_soft_margin_loss(x.a, x.b),
    "bce_logits": lambda x: x.F.binary_cross_entropy_with_logits(x.a, x.b),
    "fft": lambda x: x.t.fft.fft(x.a),
    "rfft": lambda x: x.t.fft.rfft(x.a),
    "irfft": lambda x: x.t.fft.irfft(x.a),
    "qr": lambda x: x.L.qr(x.a)[0],
    "svd": lambda x: x.L.svd(x.a)[1],
    "eigh": lambda x: x.L.eigh(x.spd)[0],
    "solve": lambda x: x.L.solve(x.spd, x.a),
    "norm": lambda x: x.L.norm(x.a),
    "cat": lambda x: x.t.cat([x.a, x.a.float()]),
    "stack": lambda x: x.t.stack([x.a, x.a.float()]),
    "softmax": lambda x: x.F.softmax(x.a, -1),
    "log_softmax": lambda x: x.F.log_softmax(x.a, -1),
    "layer_norm": lambda x: x.F.layer_norm(x.a, (4,)),
    "group_norm": lambda x: x.F.group_norm(x.image, 2),
    "exp": lambda x: x.a.exp(),
    "sum": lambda x: x.a.sum(),
    "cumsum": lambda x: x.a.cumsum(0),
    "gelu": lambda x: x.F.gelu(x.a),
    "embedding": lambda x: x.F.embedding(x.index, x.a),
    "add": lambda x: x.a + x.b.float(),
    "logsumexp": lambda x: x.a.logsumexp(0),
}


def named(dtype):
    return str(dtype).partition(".")[2]


@pytest.mark.sampled(every=5, of=lambda p: p["dtype"] != "bfloat16")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.filterwarnings("ignore")
def test_dtypes(name, dtype):
    found = []
    for t in (torchlike, torch):
        with t.autocast("cpu"):
            try:
                result = FUNCTIONS[name](Inputs(t, getattr(t, dtype)))
            except RuntimeError as error:
                found.append(error)
                continue
        found.append(result)
    if isinstance(found[1], Exception):
        pytest.skip("PyTorch has no kernel for it")
    assert named(found[0].dtype) == named(found[1].dtype)
    if name in (
        "svd",
        "qr",
        "lstm",
        "gru",
        "rnn",
        "lstm_cell",
        "gru_cell",
        "rnn_cell",
        "attention",
        "encoder",
    ):
        return  # random weights, or signs that are free
    ours, theirs = found[0].detach(), found[1].detach()
    if ours.is_complex():
        ours, theirs = torchlike.view_as_real(ours), torch.view_as_real(theirs)
    # PyTorch's bilinear multiplies in bfloat16 on the way to its float32 result.
    low = "bfloat16" in (dtype, named(ours.dtype)) or name == "bilinear"
    tolerance = {"rtol": 0.05, "atol": 0.05} if low else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(ours.double().numpy(), theirs.double().numpy(), **tolerance)


def model(t):
    t.manual_seed(0)
    return t.nn.Sequential(t.nn.Linear(5, 8), t.nn.ReLU(), t.nn.LayerNorm(8), t.nn.Linear(8, 3))


def train_step(t, net, x, y):
    net.zero_grad()
    with t.autocast("cpu"):
        out = net(x)
        loss = t.nn.functional.cross_entropy(out, y)
    loss.backward()
    return out, loss


@pytest.mark.parametrize("jitted", [False, True])
def test_training_step(jitted):
    results = []
    for t in (torchlike, torch):
        net = model(t)
        rng = np.random.default_rng(1)
        x, y = t.tensor(rng.random((6, 5)).astype(np.float32)), t.tensor([0, 1, 2, 0, 1, 2])

        def run(x, y, t=t, net=net):
            return train_step(t, net, x, y)

        if jitted and t is torchlike:
            run = torchlike.jit(run)
        out, loss = run(x, y)
        assert named(out.dtype) == "bfloat16"
        assert named(loss.dtype) == "float32"
        results.append([loss.detach(), *(p.grad for p in net.parameters())])
    for a, b in zip(*results, strict=True):
        assert named(a.dtype) == "float32"
        # bfloat16 keeps 8 bits, and the libraries round sums that they take in another order.
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2**-7, atol=5e-4)


def test_nesting_decorator_and_state():
    def run(t):
        a = t.ones(2, 2)
        seen = [t.is_autocast_enabled("cpu"), t.get_autocast_dtype("cpu"), t.is_autocast_enabled()]
        with t.autocast("cpu", dtype=t.float16):
            seen += [(a @ a).dtype, t.get_autocast_dtype("cpu"), t.is_autocast_enabled("cpu")]
            with t.autocast("cpu", enabled=False):
                seen += [(a @ a).dtype, t.is_autocast_enabled("cpu")]
            with t.autocast("cpu", dtype=t.bfloat16, cache_enabled=False):
                seen += [(a @ a).dtype, t.is_autocast_cache_enabled()]
            seen += [(a @ a).dtype]
        with t.autocast("cpu:0"):
            seen += [(a @ a).dtype, t.is_autocast_enabled("cpu:0")]
            seen += [t.amp.is_autocast_available("cpu:0"), t.get_autocast_dtype("cpu:1")]

        @t.autocast("cpu")
        def product(x):
            return x @ x

        seen += [product(a).dtype, (a @ a).dtype, t.get_autocast_dtype("cpu")]
        return [str(s) for s in seen]

    assert run(torchlike) == run(torch)


def test_off_costs_nothing():
    from torchlike._core.dispatch.registry import OPS

    assert type(OPS["mm"].cache) is dict
    with torchlike.autocast("cpu"):
        assert type(OPS["mm"].cache) is not dict
    assert type(OPS["mm"].cache) is dict


def test_a_jitted_function_knows_the_state_it_is_called_in():
    @torchlike.jit
    def f(x):
        return x @ x

    x = torchlike.ones(3, 3)
    assert f(x).dtype == torchlike.float32
    with torchlike.autocast("cpu"):
        assert f(x).dtype == torchlike.bfloat16
    assert f(x).dtype == torchlike.float32
    assert f.compiles == 2


def test_custom_functions():
    def run(t):
        seen = []

        class Square(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx, x):
                seen.append(x.dtype)
                ctx.save_for_backward(x)
                return x @ x

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                seen.append(t.is_autocast_enabled("cpu"))
                return g @ x.T + x.T @ g

        x = t.ones(2, 2, dtype=t.bfloat16, requires_grad=True)
        with t.autocast("cpu"):
            y = Square.apply(x)
            y.float().sum().backward()
        seen += [y.dtype, x.grad.dtype]
        return [str(s) for s in seen]

    assert run(torchlike) == run(torch)


def test_scaler():
    def run(t):
        p = t.ones(2, requires_grad=True)
        o = t.optim.SGD([p], lr=0.1)
        s = t.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        seen = []
        for factor in (1.0, 2.0, float("inf"), 1.0, 1.0, 1.0):
            o.zero_grad()
            s.scale((p * factor).sum()).backward()
            s.unscale_(o)
            t.nn.utils.clip_grad_norm_([p], 1.0)
            s.step(o)
            s.update()
            seen += [s.get_scale(), s._get_growth_tracker(), p.tolist()]
        state = s.state_dict()
        s.update(4.0)
        again = t.amp.GradScaler("cpu")
        again.load_state_dict(state)
        return seen, state, s.get_scale(), again.state_dict()

    mine, theirs = run(torchlike), run(torch)
    np.testing.assert_allclose(np.hstack(mine[0]), np.hstack(theirs[0]), rtol=1e-6)
    assert mine[1:] == theirs[1:]


def said(t, function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            function(t)
        except Exception as error:
            return type(error), str(error)
    return [(w.category, str(w.message)) for w in caught]


def stepped_twice(t):
    p = t.ones(2, requires_grad=True)
    o, s = t.optim.SGD([p], lr=0.1), t.amp.GradScaler("cpu")
    s.scale(p.sum()).backward()
    s.step(o)
    s.step(o)


COMPLAINTS = {
    "cuda": lambda t: t.autocast("cuda"),
    "dtype": lambda t: t.autocast("cpu", t.float64),
    "device": lambda t: t.autocast("nowhere"),
    "number": lambda t: t.autocast(3),
    "old": lambda t: t.cuda.amp.autocast(),
    "scaler": lambda t: t.amp.GradScaler(),
    "old scaler": lambda t: t.cuda.amp.GradScaler(),
    "growth": lambda t: t.amp.GradScaler("cpu", growth_factor=1),
    "twice": stepped_twice,
    "no scale": lambda t: t.amp.GradScaler("cpu").step(
        t.optim.SGD([t.ones(1, requires_grad=True)])
    ),
    "outputs": lambda t: t.amp.GradScaler("cpu").scale(3),
}


@pytest.mark.parametrize("name", COMPLAINTS)
@pytest.mark.skipif(torchlike.cuda.is_available(), reason="the words of a machine without a GPU")
def test_complaints(name):
    assert said(torchlike, COMPLAINTS[name]) == said(torch, COMPLAINTS[name])


def test_a_disabled_scaler_passes_through():
    s = torchlike.amp.GradScaler(enabled=False)
    p = torchlike.ones(2, requires_grad=True)
    o = torchlike.optim.SGD([p], lr=0.5)
    loss = p.sum()
    assert s.scale(loss) is loss
    loss.backward()
    s.step(o)
    s.update()
    assert p.tolist() == [0.5, 0.5]
    assert s.get_scale() == 1.0
    assert s.state_dict() == {}
