"""Autocast against PyTorch's on the CPU: the dtype every function gives, on and off."""

import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def functions(t, dtype):
    """name -> function without arguments, on tensors of a dtype."""
    rng = np.random.default_rng(0)

    def r(*shape):
        return t.tensor(rng.random(shape)).to(dtype)

    F, L = t.nn.functional, t.linalg
    a, b, v, c = r(4, 4), r(4, 4), r(4), r(2, 4, 4)
    image, volume, signal = r(1, 2, 6, 6), r(1, 2, 4, 4, 4), r(1, 2, 8)
    spd = (a.double() @ a.double().T + 4 * t.eye(4, dtype=t.float64)).to(dtype)
    index = t.tensor([0, 1, 2, 3])
    return {
        "mm": lambda: t.mm(a, b), "matmul": lambda: a @ b, "matvec": lambda: a @ v,
        "mv": lambda: t.mv(a, v), "dot": lambda: t.dot(v, v), "bmm": lambda: t.bmm(c, c),
        "addmm": lambda: t.addmm(a, a, b), "addmv": lambda: t.addmv(v, a, v),
        "addbmm": lambda: t.addbmm(a, c, c), "baddbmm": lambda: t.baddbmm(c, c, c),
        "addr": lambda: t.addr(a, v, v), "linear": lambda: F.linear(a, b, v),
        "conv1d": lambda: F.conv1d(signal, r(3, 2, 3)),
        "conv2d": lambda: F.conv2d(image, r(3, 2, 3, 3)),
        "conv3d": lambda: F.conv3d(volume, r(3, 2, 3, 3, 3)),
        "conv_transpose1d": lambda: F.conv_transpose1d(signal, r(2, 3, 3)),
        "conv_transpose2d": lambda: F.conv_transpose2d(image, r(2, 3, 3, 3)),
        "conv_transpose3d": lambda: F.conv_transpose3d(volume, r(2, 3, 2, 2, 2)),
        "sdpa": lambda: F.scaled_dot_product_attention(c, c, c),
        "einsum": lambda: t.einsum("ij,jk->ik", a, b), "tensordot": lambda: t.tensordot(a, b, 1),
        "multi_dot": lambda: L.multi_dot([a, b, a]), "vecdot": lambda: L.vecdot(a, b),
        "inner": lambda: t.inner(a, b), "outer": lambda: t.outer(v, v),
        "bilinear": lambda: F.bilinear(a, a, r(3, 4, 4)), "prelu": lambda: F.prelu(a, r(1)),
        "lstm": lambda: t.nn.LSTM(4, 3).to(dtype)(c)[0],
        "gru": lambda: t.nn.GRU(4, 3).to(dtype)(c)[0],
        "rnn": lambda: t.nn.RNN(4, 3).to(dtype)(c)[0],
        "lstm_cell": lambda: t.nn.LSTMCell(4, 3).to(dtype)(a)[0],
        "gru_cell": lambda: t.nn.GRUCell(4, 3).to(dtype)(a),
        "rnn_cell": lambda: t.nn.RNNCell(4, 3).to(dtype)(a),
        "attention": lambda: t.nn.MultiheadAttention(4, 2).to(dtype)(c, c, c)[0],
        "encoder": lambda: t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0).to(dtype)(c),
        "avg_pool3d": lambda: F.avg_pool3d(volume, 2), "avg_pool2d": lambda: F.avg_pool2d(image, 2),
        "binary_cross_entropy": lambda: F.binary_cross_entropy(a, b),
        "grid_sample": lambda: F.grid_sample(image, r(1, 3, 3, 2), align_corners=False),
        "polar": lambda: t.polar(a, b), "prod": lambda: t.prod(a),
        "quantile": lambda: t.quantile(a, 0.5), "nanquantile": lambda: t.nanquantile(a, 0.5),
        "stft": lambda: t.stft(r(32), 8, window=t.ones(8, dtype=dtype), return_complex=True),
        "cdist": lambda: t.cdist(a, b), "trace": lambda: t.trace(a),
        "view_as_complex": lambda: t.view_as_complex(r(3, 2)),
        "linalg.cholesky": lambda: L.cholesky(spd),
        "cholesky_inverse": lambda: t.cholesky_inverse(spd),
        "cholesky_solve": lambda: t.cholesky_solve(a, spd), "inverse": lambda: t.inverse(spd),
        "linalg.inv": lambda: L.inv(spd), "pinverse": lambda: t.pinverse(spd),
        "max_pool3d": lambda: F.max_pool3d(volume, 2), "max_pool2d": lambda: F.max_pool2d(image, 2),
        "adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(volume, 2),
        "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(image, 2),
        "reflect": lambda: F.pad(image, (1, 1, 1, 1), mode="reflect"),
        "replicate": lambda: F.pad(signal, (1, 1), mode="replicate"),
        "pad": lambda: F.pad(image, (1, 1)),
        "mse": lambda: F.mse_loss(a, b),
        "cosine_embedding": lambda: F.cosine_embedding_loss(a, b, t.ones(4)),
        "nll": lambda: F.nll_loss(a, index), "hinge": lambda: F.hinge_embedding_loss(a, b),
        "poisson_nll": lambda: F.poisson_nll_loss(a, b),
        "smooth_l1": lambda: F.smooth_l1_loss(a, b),
        "cross_entropy": lambda: F.cross_entropy(a, index), "l1": lambda: F.l1_loss(a, b),
        "huber": lambda: F.huber_loss(a, b), "ranking": lambda: F.margin_ranking_loss(v, v, v),
        "soft_margin": lambda: F.soft_margin_loss(a, b),
        "triplet": lambda: F.triplet_margin_loss(a, b, a),
        "kl_div": lambda: F.kl_div(a, b, reduction="sum"),
        "multilabel_soft": lambda: F.multilabel_soft_margin_loss(a, b),
        "bce_logits": lambda: F.binary_cross_entropy_with_logits(a, b),
        "fft": lambda: t.fft.fft(a), "rfft": lambda: t.fft.rfft(a),
        "irfft": lambda: t.fft.irfft(a), "qr": lambda: L.qr(a)[0], "svd": lambda: L.svd(a)[1],
        "eigh": lambda: L.eigh(spd)[0], "solve": lambda: L.solve(spd, a),
        "norm": lambda: L.norm(a),
        "cat": lambda: t.cat([a, a.float()]), "stack": lambda: t.stack([a, a.float()]),
        "softmax": lambda: F.softmax(a, -1), "log_softmax": lambda: F.log_softmax(a, -1),
        "layer_norm": lambda: F.layer_norm(a, (4,)), "group_norm": lambda: F.group_norm(image, 2),
        "exp": lambda: a.exp(), "sum": lambda: a.sum(), "cumsum": lambda: a.cumsum(0),
        "gelu": lambda: F.gelu(a), "embedding": lambda: F.embedding(index, a),
        "add": lambda: a + b.float(), "logsumexp": lambda: a.logsumexp(0),
    }  # fmt: skip


NAMES = list(functions(torchlike, torchlike.float32))


def named(dtype):
    return str(dtype).partition(".")[2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.filterwarnings("ignore")
def test_dtypes(name, dtype):
    found = []
    for t in (torchlike, torch):
        with t.autocast("cpu"):
            try:
                result = functions(t, getattr(t, dtype))[name]()
            except RuntimeError as error:
                found.append(error)
                continue
        found.append(result)
    if isinstance(found[1], Exception):
        pytest.skip("PyTorch has no kernel for it")
    assert named(found[0].dtype) == named(found[1].dtype)
    if name in ("svd", "qr", "lstm", "gru", "rnn", "lstm_cell", "gru_cell", "rnn_cell",
                "attention", "encoder"):  # fmt: skip
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
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0.05, atol=5e-3)


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

        @t.autocast("cpu")
        def product(x):
            return x @ x

        seen += [product(a).dtype, (a @ a).dtype, t.get_autocast_dtype("cpu")]
        return [str(s) for s in seen]

    assert run(torchlike) == run(torch)


def test_off_costs_nothing():
    from torchlike.dispatch.registry import OPS

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
    "cuda": lambda t: t.autocast("cuda"), "dtype": lambda t: t.autocast("cpu", t.float64),
    "device": lambda t: t.autocast("nowhere"), "number": lambda t: t.autocast(3),
    "old": lambda t: t.cuda.amp.autocast(), "scaler": lambda t: t.amp.GradScaler(),
    "old scaler": lambda t: t.cuda.amp.GradScaler(),
    "growth": lambda t: t.amp.GradScaler("cpu", growth_factor=1),
    "twice": stepped_twice,
    "no scale": lambda t: t.amp.GradScaler("cpu").step(
        t.optim.SGD([t.ones(1, requires_grad=True)])),
    "outputs": lambda t: t.amp.GradScaler("cpu").scale(3),
}  # fmt: skip


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
