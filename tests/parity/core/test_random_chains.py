"""Random chains of operations on memory shared with NumPy, with values out of range, are PyTorch's.

A chain works on a few tensors, some of them views of one another or over one NumPy array. Each step
takes one and gives another, or writes to it. Both libraries run the same chain; after each step the
values, dtypes and shapes of all tensors and of the NumPy arrays are compared, in the end gradients.
Where one refuses a step the other does too, with the same type, and the chain goes on without it.
"""

import random

import numpy as np
import pytest

import torchlike

real = pytest.importorskip("torch")

DTYPES = [
    "float32",
    "float32",
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
]
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 2), (1, 3), (3, 3), (2, 2, 2), (0, 3), (2, 1, 3)]
#: What a number in a program may be: ordinary, at the edge, beyond it, of another kind.
NUMBERS = [
    0,
    1,
    2,
    -1,
    3,
    0.5,
    -2.5,
    1e-3,
    7,
    127,
    200,
    -129,
    70_000,
    2**31,
    1e5,
    1e39,
    float("inf"),
    float("nan"),
    True,
]

UNARY = [
    "abs",
    "neg",
    "exp",
    "log",
    "sqrt",
    "sin",
    "tanh",
    "sigmoid",
    "relu",
    "floor",
    "round",
    "sign",
    "square",
    "reciprocal",
    "isnan",
    "logical_not",
    "bitwise_not",
    "erf",
    "expm1",
    "log1p",
    "frac",
    "trunc",
    "sgn",
    "isfinite",
    "signbit",
    "cos",
    "rsqrt",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "pow",
    "fmod",
    "remainder",
    "atan2",
    "eq",
    "lt",
    "ge",
    "ne",
    "logical_and",
    "bitwise_and",
    "bitwise_or",
    "floor_divide",
    "fmax",
    "copysign",
    "hypot",
    "logaddexp",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "matmul",
    "xlogy",
]
REDUCE = [
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "all",
    "any",
    "var",
    "logsumexp",
    "cumsum",
    "cumprod",
    "softmax",
    "log_softmax",
    "median",
    "sort",
    "max",
    "argsort",
    "flip",
    "unbind",
    "norm",
    "cummax",
]
VIEWS = [
    lambda t, d: t[d.randrange(-1, 4)],
    lambda t, d: t[d.randrange(0, 2) :: d.choice([1, 1, 2])],
    lambda t, d: t.transpose(d.randrange(-2, 3), d.randrange(-2, 3)),
    lambda t, d: t.unsqueeze(d.randrange(-3, 4)),
    lambda t, d: t.squeeze(),
    lambda t, d: t.view(-1),
    lambda t, d: t.reshape(d.choice([(-1,), (3, -1), (1, -1), (2, 3), (6,)])),
    lambda t, d: t.expand(d.choice([(3, 3), (2, -1), (3,), (2, 2, 3), (-1, 3)])),
    lambda t, d: t.flatten(),
    lambda t, d: t.diagonal(),
    lambda t, d: t.narrow(d.randrange(-1, 2), d.randrange(-1, 3), d.randrange(0, 4)),
    lambda t, d: t.select(d.randrange(-1, 2), d.randrange(-3, 3)),
    lambda t, d: t.unfold(d.randrange(-1, 2), d.randrange(1, 4), d.randrange(1, 3)),
    lambda t, d: t.detach(),
    lambda t, d: t.permute(*d.choice([(1, 0), (0,), (0, 1), (2, 0, 1), (0, 0)])),
    lambda t, d: t.movedim(d.randrange(-2, 2), d.randrange(-2, 2)),
    lambda t, d: t.T,
    lambda t, d: t.real,
]
WRITES = [
    "add_",
    "sub_",
    "mul_",
    "div_",
    "clamp_",
    "fill_",
    "pow_",
    "copy_",
    "zero_",
    "neg_",
    "sqrt_",
    "exp_",
    "masked_fill_",
    "abs_",
    "floor_divide_",
    "remainder_",
    "lt_",
    "bitwise_and_",
    "t_",
    "transpose_",
    "unsqueeze_",
    "clamp_min_",
    "sign_",
    "logical_not_",
    "cumsum_",
    "index_fill_",
]
INDEXED = [
    "gather",
    "index_select",
    "take",
    "scatter",
    "scatter_add",
    "index_add",
    "index_fill",
    "x[i]",
    "x[i]=",
    "where",
    "masked_fill",
    "one_hot",
    "take_along_dim",
    "masked_select",
    "clamp",
    "lerp",
    "addcmul",
    "repeat_interleave",
    "roll",
    "cat",
    "stack",
    "to",
    "leaky_relu",
    "threshold",
    "tril",
    "numpy",
]


#: What only PyTorch refuses: kinds of numbers that its kernels were not written for, and what has
#: no derivative there.
WIDER = (
    "not implemented for",
    "does not support bool input",
    "ZeroDivisionError",
    "is not implemented",
    "bool tensor is not supported",
    "norm on an empty tensor",
    # The source is longer than the index: PyTorch's gradient has the index's shape.
    "Function ScatterAddBackward0 returned an invalid gradient",
)
#: What only torchlike refuses: a write to memory that overlaps itself (which PyTorch deprecates),
#: kernels, places and dimensions that PyTorch does not look at where there are no elements (or
#: one), ends that it does not convert beside a NaN, `torch.complex32`.
NARROWER = (
    "more than one element of the written-to tensor",
    "not implemented for",
    "XLA has no complex numbers of 16-bit floats",
    "is out of bounds for dimension",
    "without overflow",
    "Dimension out of range",
)


def _is_known(mine, wanted):
    """Return whether it is known that one of the libraries refuses what the other takes."""
    return any(
        words in str(mine if wanted is None else wanted)
        for words in (NARROWER if wanted is None else WIDER)
    )


#: (And a write to memory on which an operand lies by NumPy: PyTorch reads what it has written.)
#: Whose values differ for infinite complex numbers, and for no elements of integers or bools.
SPECIAL = ("reduce logsumexp", "reduce median")
#: Steps that both refuse, of two mistakes each another first.
OTHER_TYPES = []
#: Those that one library refuses, as is known.
KNOWN = []


def _number(draw):
    return draw.choice(NUMBERS)


def _index(torch, draw):
    values = [draw.choice([0, 0, 1, 1, 2, -1, 3, 5]) for _ in range(draw.choice([1, 2, 3]))]
    return torch.tensor(values, dtype=getattr(torch, draw.choice(["int64"] * 5 + ["int32"])))


def _indexed(torch, name, t, other, draw):
    i, dim, number = _index(torch, draw), draw.randrange(-1, 2), _number(draw)
    F = torch.nn.functional
    steps = {
        "gather": lambda: t.gather(dim, i),
        "index_select": lambda: t.index_select(dim, i),
        "take": lambda: t.take(i),
        "scatter": lambda: t.scatter(dim, i, number),
        "scatter_add": lambda: t.scatter_add(dim, i, other),
        "index_add": lambda: t.index_add(dim, i, other),
        "index_fill": lambda: t.index_fill(dim, i, number),
        "x[i]": lambda: t[i],
        "x[i]=": lambda: t.__setitem__(i, number),
        "where": lambda: torch.where(t > 0, other, number),
        "masked_fill": lambda: t.masked_fill(other > 0, number),
        "one_hot": lambda: F.one_hot(t, draw.choice([-1, 3, 8])),
        "take_along_dim": lambda: t.take_along_dim(i, dim),
        "masked_select": lambda: t.masked_select(other > 0),
        "clamp": lambda: t.clamp(number, _number(draw)),
        "lerp": lambda: t.lerp(other, number),
        "addcmul": lambda: t.addcmul(other, t, value=number),
        "repeat_interleave": lambda: t.repeat_interleave(i),
        "roll": lambda: t.roll(draw.randrange(-3, 4), dim),
        "cat": lambda: torch.cat([t, other], dim),
        "stack": lambda: torch.stack([t, other], dim),
        "to": lambda: t.to(getattr(torch, draw.choice(DTYPES))),
        "leaky_relu": lambda: F.leaky_relu(t, number),
        "threshold": lambda: F.threshold(t, number, _number(draw)),
        "tril": lambda: t.tril(dim),
        "numpy": lambda: torch.from_numpy(t.numpy()),
    }
    return steps[name]()


def _share_memory(a, b):
    """Return whether two of PyTorch's tensors are on memory that overlaps."""
    if not isinstance(a, real.Tensor):
        return False
    s, t = a.untyped_storage(), b.untyped_storage()
    return s.data_ptr() < t.data_ptr() + t.nbytes() and t.data_ptr() < s.data_ptr() + s.nbytes()


class Chain:
    """Holds the tensors of a seed in one library."""

    def __init__(self, torch, seed):
        self.torch, self.draw = torch, random.Random(seed)
        self.arrays, self.tensors, self.leaves = [], [], []
        for _ in range(3):
            self.tensors.append(self._made())
        self.length = self.draw.randrange(3, 9)

    def _made(self):
        draw, torch = self.draw, self.torch
        dtype, shape = draw.choice(DTYPES), draw.choice(SHAPES)
        values = np.random.default_rng(draw.randrange(1 << 30)).normal(0, 2, shape)
        kind = draw.choice(["own", "own", "leaf", "array", "array", "same array"])
        if kind == "same array" and self.arrays:
            array = draw.choice(self.arrays)
            return torch.from_numpy(array[:: draw.choice([1, 1, 2])] if array.ndim else array)
        if kind == "array" and dtype != "bfloat16":
            with np.errstate(all="ignore"):
                array = np.array(values.astype(dtype))
            self.arrays.append(array)
            return torch.from_numpy(array)
        t = torch.tensor(values.tolist(), dtype=torch.float64).reshape(shape)
        t = t.to(getattr(torch, dtype))
        if kind == "leaf" and dtype in ("float32", "float64"):
            t.requires_grad_()
            self.leaves.append(t)
            return t * 1
        return t

    def step(self):
        """Do the next step; gives its name and the error or None."""
        draw, torch = self.draw, self.torch
        at = draw.randrange(len(self.tensors))
        t, other = self.tensors[at], draw.choice(self.tensors)
        kind = draw.choice(
            [
                "unary",
                "binary",
                "number",
                "reduce",
                "view",
                "view",
                "write",
                "write",
                "indexed",
                "indexed",
            ]
        )
        # What a step draws comes from a generator of its own: both libraries go on alike.
        own = random.Random(draw.randrange(1 << 30))
        name = own.choice(
            {
                "unary": UNARY,
                "binary": BINARY,
                "number": BINARY[:-2],
                "reduce": REDUCE,
                "view": range(len(VIEWS)),
                "write": WRITES,
                "indexed": INDEXED,
            }[kind]
        )
        said = f"{kind} {name}"
        self.overlaps = kind == "write" and t is not other and _share_memory(t, other)
        try:
            found = self._done(kind, name, t, other, own)
        except Exception as error:
            return said, error
        if isinstance(found, (tuple, list)):
            found = found[0] if found else None
        if isinstance(found, torch.Tensor) and found is not t:
            if len(self.tensors) < 6:
                self.tensors.append(found)
            else:
                self.tensors[at] = found
        return said, None

    def _done(self, kind, name, t, other, draw):
        torch = self.torch
        if kind == "unary":
            return getattr(torch, name)(t)
        if kind == "binary":
            return getattr(torch, name)(t, other)
        if kind == "number":
            return getattr(torch, name)(t, _number(draw))
        if kind == "reduce":
            dim = draw.choice([None, 0, -1, 1])
            return getattr(t, name)() if dim is None else getattr(t, name)(dim)
        if kind == "view":
            return VIEWS[name](t, draw)
        if kind == "indexed":
            return _indexed(torch, name, t, other, draw)
        if name in ("zero_", "neg_", "sqrt_", "exp_", "abs_", "sign_", "logical_not_", "t_"):
            return getattr(t, name)()
        if name in ("unsqueeze_", "cumsum_"):
            return getattr(t, name)(draw.randrange(-2, 2))
        if name == "transpose_":
            return t.transpose_(draw.randrange(-2, 2), draw.randrange(-2, 2))
        if name == "masked_fill_":
            return t.masked_fill_(other > 0, _number(draw))
        if name == "index_fill_":
            return t.index_fill_(draw.randrange(-1, 2), _index(torch, draw), _number(draw))
        number = draw.random() < 0.5 and name != "copy_"
        return getattr(t, name)(_number(draw) if number else other)


def _values(t):
    t = t.detach()
    if str(t.dtype).endswith("bfloat16"):
        t = t.float()
    return np.array(t.resolve_conj().resolve_neg().tolist())


LOOSE = {"float16": 5e-3, "bfloat16": 5e-2}


def _alike(ours, theirs, tolerance=0.0):
    if tuple(ours.shape) != tuple(theirs.shape):
        return f"shapes {tuple(ours.shape)} {tuple(theirs.shape)}"
    dtype = str(ours.dtype).rpartition(".")[2]
    if dtype != str(theirs.dtype).rpartition(".")[2]:
        return f"dtypes {ours.dtype} {theirs.dtype}"
    if ours.requires_grad != theirs.requires_grad:
        return f"requires_grad {ours.requires_grad} {theirs.requires_grad}"
    tolerance = max(tolerance, LOOSE.get(dtype, 2e-4))
    a, b = _values(ours), _values(theirs)
    with np.errstate(all="ignore"):
        if not np.allclose(a, b, tolerance, tolerance, equal_nan=True):
            return f"values {a.tolist()} {b.tolist()}"
    return None


def check(seed):
    """Run a seed's chain in both libraries. Gives how many steps were refused; AssertionError with
    the steps where they differ."""
    # Of what is saved PyTorch keeps copies: a write through NumPy's memory spoils its gradients.
    with real.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        return _check(seed, Chain(torchlike, seed), Chain(real, seed))


def _check(seed, ours, theirs):
    steps, refused, halves, unsigned = [], 0, False, False
    for _ in range(ours.length):
        before = [str(t.dtype) + str(tuple(t.shape)) for t in theirs.tensors]
        halves = halves or any("float16" in each for each in before)
        unsigned = unsigned or any("uint8" in each for each in before)
        (name, mine), (_, wanted) = ours.step(), theirs.step()
        steps.append(name)
        where = f"seed {seed}: {steps} {before}"
        if (mine is None) != (wanted is None):
            assert _is_known(mine, wanted), f"{where}: {mine!r} for {wanted!r}"
            KNOWN.append(f"{where}: {mine!r} for {wanted!r}")
            return refused
        if mine is not None:
            refused += 1
            if type(mine).__name__ != type(wanted).__name__:
                OTHER_TYPES.append(f"{where}: {mine!r} for {wanted!r}")
            if name == "indexed x[i]=" or name.startswith("write"):
                break  # PyTorch may have written a part before it raises
        for i, (a, b) in enumerate(zip(ours.tensors, theirs.tensors, strict=True)):
            difference = _alike(a, b)
            if difference is not None and (name in SPECIAL or theirs.overlaps):
                KNOWN.append(f"{where}: {difference}")
                return refused
            assert difference is None, f"{where}: tensor {i}: {difference}"
        for a, b in zip(ours.arrays, theirs.arrays, strict=True):
            np.testing.assert_allclose(a, b, 1e-3, 1e-3, err_msg=where)
    halves = halves or any("float16" in str(t.dtype) for t in theirs.tensors)
    errors = []
    for chain in (ours, theirs):
        wanting = [t for t in chain.tensors if t.requires_grad and t.is_floating_point()]
        try:
            if wanting:
                sum(t.float().sum() for t in wanting).backward()
            errors.append(None)
        except RuntimeError as error:
            errors.append(error)
    if errors[1] is not None and "modified by an inplace" in str(errors[1]):
        return refused  # documented: here the gradient is right
    if (errors[0] is None) != (errors[1] is None):
        assert _is_known(*errors), f"seed {seed}: {steps}: {errors}"
        return refused
    for a, b in zip(ours.leaves, theirs.leaves, strict=True):
        assert (a.grad is None) == (b.grad is None), f"seed {seed}: {steps}"
        if a.grad is not None and errors[0] is None:
            difference = _alike(a.grad, b.grad, LOOSE["bfloat16"] if halves else 0.0)
            known = "number pow" in steps or (
                # PyTorch negates unsigned integers, and divides by elements (infinity by infinity).
                ("binary atan2" in steps and unsigned)
                or ("reduce cumprod" in steps and not b.grad.isfinite().all())
            )
            if difference is not None and known:
                KNOWN.append(f"seed {seed}: {steps}: gradient: {difference}")
                continue
            assert difference is None, f"seed {seed}: {steps}: gradient: {difference}"
    return refused


@pytest.mark.filterwarnings("ignore")
def test_random_chains():
    assert sum(map(check, range(15))) > 5


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_more_random_chains():
    assert sum(map(check, range(15, 100))) > 50


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_many_random_chains():
    assert sum(map(check, range(1000, 6000))) > 5000
