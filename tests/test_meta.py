"""The meta device: shapes, dtypes and strides without values."""

import copy
import pickle

import pytest

import torchlike as torch
from torchlike import nn
from torchlike._extensions.meta import MetaArray


def on_meta(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="meta")


def test_creation_takes_no_memory():
    # 4 TB each: anything that computed values would fail.
    made = [
        torch.zeros(1 << 20, 1 << 20, device="meta"),
        torch.full((1 << 40,), 2.0, device="meta"),
        torch.randn(1 << 20, 1 << 20, device="meta"),
        torch.eye(1 << 20, device="meta"),
    ]
    made += [made[0].new_ones(1 << 40), torch.ones_like(made[0]), made[0] + 1, made[0] @ made[0]]
    for t in made:
        assert t.is_meta
        assert t.device == torch.device("meta")
        assert t.numel() == 1 << 40
        assert isinstance(t._storage.cell, MetaArray)


def test_default_device_context():
    with torch.device("meta"):
        layer = nn.Linear(3, 4)
        x = torch.ones(2, 3)
    assert layer.weight.is_meta
    assert x.is_meta
    assert not torch.ones(1).is_meta
    assert layer(x).shape == (2, 4)


PROGRAMS = {
    "promotion": lambda t: t + torch.ones((), dtype=torch.float64),
    "transposed": lambda t: t.t() + 1,
    "comparison": lambda t: t > 0,
    "reduction": lambda t: t.sum(0, keepdim=True),
    "max": lambda t: t.max(1),
    "sort": lambda t: t.sort(descending=True),
    "cat": lambda t: torch.cat([t, t], 1),
    "matmul": lambda t: t @ t.t(),
    "view": lambda t: t.view(3, 2)[1:],
    "view of a view": lambda t: t[1:].t().unsqueeze(0),
    "as_strided": lambda t: t.as_strided((2, 2), (1, 2)),
    "index": lambda t: t[torch.tensor([0, 1, 0])],
    "in-place": lambda t: t.mul_(2).add_(t),
    "in-place on a view": lambda t: t[:, 1:].zero_(),
    "setitem": lambda t: t.__setitem__(0, 1.0) or t,
    "copy_": lambda t: t.copy_(torch.ones(3)),
    "random in-place": lambda t: t.uniform_(),
    "cast": lambda t: t.to(torch.bfloat16),
    "channels last": lambda t: t.view(1, 2, 3, 1).contiguous(memory_format=torch.channels_last),
    "softmax": lambda t: torch.softmax(t, -1),
    "layer_norm": lambda t: nn.functional.layer_norm(t, (3,)),
    "clone": lambda t: t.t().clone(),
    "where": lambda t: torch.where(t > 0, t, 0.0),
    "out": lambda t: torch.add(t, 1, out=torch.empty(0, device=t.device)),
    "deepcopy": copy.deepcopy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_as_on_the_cpu(program):
    """Shape, dtype and strides agree with those of the computed result."""
    results = program(on_meta(2, 3)), program(torch.randn(2, 3))
    pairs = zip(*(r if isinstance(r, tuple) else (r,) for r in results), strict=True)
    for meta, real in pairs:
        assert meta.is_meta
        assert (meta.shape, meta.dtype) == (real.shape, real.dtype)
        assert (meta.stride(), meta.storage_offset()) == (real.stride(), real.storage_offset())


def test_writes_raise_the_version():
    t = on_meta(2, 3)
    t.add_(1)
    t[0].fill_(2)
    assert t._version == 2


def test_backward_and_optimizer():
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(8 * 3 * 3, 5),
            nn.Dropout(),
        )
        x, y = torch.randn(2, 3, 8, 8), torch.zeros(2, dtype=torch.long)
    optimizer = torch.optim.Adam(model.parameters())
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    for p in model.parameters():
        assert p.grad.is_meta
        assert p.grad.shape == p.shape
        assert optimizer.state[p]["exp_avg"].is_meta


def test_fan_in_accumulates():
    t = on_meta(3).requires_grad_()
    (t * 2 + t).sum().backward()
    (t * 2).sum().backward()
    assert t.grad.is_meta
    assert t.grad.shape == (3,)


def test_build_on_meta_then_load():
    source = nn.Linear(2, 3)
    with torch.device("meta"):
        model = nn.Linear(2, 3)
    model.load_state_dict(source.state_dict(), assign=True)
    x = torch.randn(4, 2)
    assert torch.equal(model(x), source(x))
    empty = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    assert not empty.weight.is_meta
    assert empty.weight.shape == (3, 2)


@pytest.mark.parametrize(
    ("kind", "words", "asked"),
    [
        (RuntimeError, r"Tensor.item\(\) cannot be called on meta", lambda t: t[0].item()),
        (RuntimeError, r"Tensor.item\(\) cannot be called on meta", lambda t: bool(t[0])),
        (RuntimeError, r"Tensor.item\(\) cannot be called on meta", lambda t: torch.equal(t, t)),
        (NotImplementedError, "Cannot copy out of meta tensor; no data!", lambda t: t.cpu()),
        (NotImplementedError, "Cannot copy out of meta tensor; no data!", lambda t: t.tolist()),
        (NotImplementedError, "no data!", lambda t: torch.ones(3).copy_(t)),
        (NotImplementedError, "no data!", lambda t: t.nonzero()),
        (NotImplementedError, "no data!", lambda t: t[t > 0]),
        (TypeError, "can't convert meta device type tensor to numpy", lambda t: t.numpy()),
        (RuntimeError, "not on the expected device meta", lambda t: t + torch.ones(3)),
        (RuntimeError, "mat1 and mat2 shapes|size|shape", lambda t: t @ on_meta(4)),
    ],
)
def test_values_are_refused(kind, words, asked):
    with pytest.raises(kind, match=words):
        asked(on_meta(3))


def test_module_to_says_to_empty():
    with pytest.raises(NotImplementedError, match="to_empty"):
        nn.Linear(2, 2, device="meta").to("cpu")


def test_printing():
    t = torch.ones(2, 3, device="meta")
    assert repr(t) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(t[0]) == "tensor(..., device='meta', size=(3,))"
    assert torch.ones(2).to("meta").is_meta
