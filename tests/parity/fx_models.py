"""Small models and functions that are traced, written for either library."""

import typing


def _model(forward, **parts):
    def make(t):
        class Model(t.nn.Module):
            def __init__(self):
                super().__init__()
                for name, make in parts.items():
                    setattr(self, name, make(t))

            def forward(self, x):
                return forward(t, self, x)

        return Model()

    return make


def _linear(t):
    return t.nn.Linear(4, 4)


def _residual(t, self, x):
    return t.relu(self.linear(x)) + x


def _functional(t, self, x):
    F = t.nn.functional
    y = F.gelu(F.linear(x, self.weight))
    y = F.layer_norm(y, (4,)) * F.softmax(y, dim=-1)
    return F.dropout(F.relu(y), 0.5, self.training) + F.silu(y) - F.hardswish(y)


def _shapes(t, self, x):
    b, c = x.shape
    y = x.view(b, 2, c // 2).transpose(1, 2).reshape(b, -1)
    return t.cat([y, y.flip(1)], dim=1)[:, : x.size(1)]


def _convolutions(t, self, x):
    F = t.nn.functional
    y = self.pool(self.norm(self.conv(x)).relu())
    y = F.interpolate(y, scale_factor=2.0)
    return F.adaptive_avg_pool2d(F.max_pool2d(y, 2), 1).flatten(1)


def _attention(t, self, x):
    q, k, v = self.qkv(x).chunk(3, dim=-1)
    weights = (q @ k.transpose(-2, -1) / 2.0).softmax(-1)
    return weights @ v + t.einsum("ij,kj->ik", x, x).sum()


def _constants(t, self, x):
    return x * t.tensor([1.0, 2.0, 3.0, 4.0]) + self.scale * self.offset


def _embeddings(t, self, x):
    return self.table(x).mean(1) + t.nn.functional.embedding(x, self.table.weight).sum(1)


def _operators(t, self, x):
    return -((2 - x) ** 2) / (1 + abs(x)) // 1 + (x > 0) * x - 3 % (x * x + 1)


MODELS = {
    "Residual": _model(_residual, linear=_linear),
    "Functional": _model(_functional, weight=lambda t: t.nn.Parameter(t.eye(4))),
    "Shapes": _model(_shapes),
    "Convolutions": _model(
        _convolutions,
        conv=lambda t: t.nn.Conv2d(1, 2, 3, padding=1),
        pool=lambda t: t.nn.MaxPool2d(2),
        norm=lambda t: t.nn.BatchNorm2d(2),
    ),
    "Attention": _model(_attention, qkv=lambda t: t.nn.Linear(4, 12)),
    "Constants": _model(
        _constants, scale=lambda t: t.nn.Parameter(t.ones(4)), offset=lambda t: t.ones(4)
    ),
    "Embeddings": _model(_embeddings, table=lambda t: t.nn.Embedding(3, 4)),
    "Operators": _model(_operators),
    "Sequence": _model(
        lambda t, self, x: self.body(x) + self.body(x),
        body=lambda t: t.nn.Sequential(t.nn.Linear(4, 4), t.nn.ReLU(), t.nn.Linear(4, 4)),
    ),
}


def _annotated(
    x: dict[str, list[int]],
    y: typing.Optional[tuple[float, ...]] = None,  # noqa: UP045
    z: typing.List[typing.Any] | None = None,  # noqa: UP006
    *,
    w: int | None = None,
    v: typing.Dict[str, int] | None = None,  # noqa: UP006
) -> set[str]:
    return x["a"] + z


FUNCTIONS = {
    "annotated": lambda t: _annotated,
    "split": lambda t: lambda x: t.split(x, 1)[0],
    "unpacked": lambda t: lambda x: (lambda a, b: a * b)(*_two(x)),
    "keywords": lambda t: lambda x, *, scale=2.0: t.add(x, x, alpha=scale),
    "star": lambda t: lambda x, *args, **kwargs: x + 1,
    "dictionary": lambda t: lambda x: {"a": x + 1, "b": [x, (x, 2)]},
    "method": lambda t: lambda x: x.to(t.float16).contiguous(),
    "inplace": lambda t: _in_place,
    "item": lambda t: lambda x: x.foo.bar(x),
    "unused": lambda t: lambda x: (t.relu(x), x.sum())[0],
    "special": lambda t: lambda x: t.special.expm1(t.fft.fft(t.linalg.det(x))),
    "infinite": lambda t: lambda x: t.clamp(x, float("-inf"), float("inf")),
    "device": lambda t: lambda x: x.to(t.device("cpu")),
    "dtype": lambda t: lambda x: t.zeros(x.shape, dtype=t.int64),
    "slices": lambda t: lambda x: x[..., 1:-1:2, None],
    "comparisons": lambda t: lambda x: t.where(x >= 0, x, -x) != 0,
    "call": lambda t: lambda x: x(2),
    "nested names": lambda t: lambda x: x.relu().relu_1() + x.relu(),
    "matmul": lambda t: lambda x, y: x @ y @ x.T,
    "reflected": lambda t: lambda x: 1 / (2**x) | 3,
    "abs": lambda t: lambda x: abs(x) + sum([x, x]) + max([1, 2]),
    "shape": lambda t: lambda x: x.view(x.size(0), -1, x.shape[1]),
    "einsum": lambda t: lambda x: t.einsum("ij,jk->ik", x, x),
    "losses": lambda t: (
        lambda x, y: t.nn.functional.cross_entropy(x, y) + t.nn.functional.mse_loss(x, y)
    ),
    "pools": lambda t: lambda x: t.nn.functional.avg_pool2d(t.nn.functional.max_pool2d(x, 2), 2),
    "attention": lambda t: lambda q: t.nn.functional.scaled_dot_product_attention(q, q, q),
}


def _two(x):
    a, b = x
    return a, b


def _in_place(x):
    x += 1
    return x.add_(1)


REFUSED = {
    "if": lambda t: lambda x: x if x.sum() > 0 else -x,
    "not": lambda t: lambda x: not x,
    "and": lambda t: lambda x: x and 1,
    "for": lambda t: lambda x: [a + 1 for a in x],
    "len": lambda t: lambda x: len(x) + 1,
    "in": lambda t: lambda x: 1 in x,
    "int": lambda t: lambda x: int(x),
    "float": lambda t: lambda x: float(x),
    "range": lambda t: lambda x: range(x),
    "key": lambda t: lambda x: {x: 1},
    "object": lambda t: lambda x: x.add(object()),
    "star": lambda t: lambda x: t.cat(*x),
}
