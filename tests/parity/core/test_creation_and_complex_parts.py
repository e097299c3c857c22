"""Arguments and errors of creation, views and parts of complex tensors, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
t.newaxis
t.ones(2)[t.newaxis]
t.ones(2)[:, t.newaxis]
t.arange(end=3)
t.arange(start=1, end=3)
t.arange(end=3.)
t.arange(end=5, start=1, step=2, dtype=t.float32)
t.arange()
t.arange(6).view(size=(6,))
t.arange(6).view(size=(2, 3))
t.arange(2).expand(size=(3, 2))
t.arange(2).expand(size=(3, 2), implicit=True)
t.arange(2).expand(3, 2)
t.ones(2, 2)[..., ...]
t.ones(2, 2)[..., 0, ...]
t.ones(2, 2)[0, ..., ...]
t.ones(2, 3)[..., None, ...]
x = t.zeros(2, 3); x[..., 0, ...] = 1; x
t.zeros(2, 3)[..., t.tensor([0]), ...]
z = t.zeros(2, dtype=t.cfloat); z.real = 7; z
z = t.zeros(2, dtype=t.cfloat); z.imag = t.tensor([1., 2.]); z
z = t.zeros(2, dtype=t.cfloat); z.imag = t.ones(2, requires_grad=True); z
z = t.zeros(2, dtype=t.cfloat).conj(); z.imag = 1.; z
z = t.zeros(2); z.real = 7; z
z = t.zeros(2); z.real = t.tensor([1., 2.]); z
z = t.zeros(2); z.imag = 7; z
z = t.zeros(2); z.real = t.ones(3); z
z = t.zeros(2, dtype=t.cfloat); z.real = 1j; z
z = t.zeros(2, dtype=t.cfloat); z.real = 'a'; z
z = t.zeros(2, dtype=t.cfloat, requires_grad=True); z.real = 3; z
t.Size([1.5])
t.Size(['a'])
t.Size([None])
t.Size([np.float64(2)])
t.Size([t.tensor(2)])
t.Size([True])
t.Size(3)
t.Size(n for n in [1, 2])
t.Size((1, 2))[0:1]
t.Size((1, 2)) * 2
t.asarray(np.ones(2), dtype=t.float32, copy=False)
x = np.ones(2); y = t.asarray(x, copy=False); y[0] = 4; x
x = np.ones(2); y = t.asarray(x); y[0] = 4; x
x = np.ones(2); y = t.asarray(x, copy=True); y[0] = 4; x
t.asarray([1, 2], copy=False)
t.asarray(2., copy=False)
t.asarray(t.ones(2), dtype=t.float64, copy=False)
t.asarray(t.ones(2), device='meta', copy=False)
t.asarray(t.ones(2), device='cpu', copy=False)
x = t.ones(2); y = t.asarray(x); y is x
x = t.ones(2, requires_grad=True); y = t.asarray(x); (y is x, y)
x = t.ones(2, requires_grad=True); y = t.asarray(x, requires_grad=False); (y is x, x)
x = t.ones(2, requires_grad=True) * 2; y = t.asarray(x, requires_grad=False); (y is x, y)
x = t.ones(2, requires_grad=True) * 2; y = t.asarray(x); (y is x, y)
x = t.ones(2, requires_grad=True); y = t.asarray(x, copy=True); (y is x, y)
x = t.ones(2); y = t.asarray(x, requires_grad=True); (y is x, y)
t.asarray([1.], requires_grad=True)
t.asarray([1.], requires_grad=True, dtype=int)
t.asarray(np.ones(2), requires_grad=True)
t.asarray(bytearray(8), dtype=t.float32)
t.asarray(b'abcd', dtype=t.uint8)
t.zeros('a')
t.zeros(True)
t.zeros(2.)
t.zeros([2.])
t.zeros((True, 2))
t.zeros(None)
t.ones('a')
t.full('a', 1)
t.rand('a')
t.ones(2).new_zeros('a')
t.ones(2).reshape('a')
t.ones(2).reshape(True)
t.ones(2).reshape(2.)
t.ones(2).reshape((2.,))
t.ones(2).view('a')
t.ones(2).view((2.,))
t.ones(2).expand('a')
t.ones(2).permute('a')
t.ones(2).repeat('a')
t.full((2,), 'a')
t.full((2,), None)
t.full((2,), [1])
t.full((2,), np.float64(2))
t.full((2,), np.int32(2))
t.full((1,), True)
t.full((1,), 1j)
t.full((2,), t.tensor(2., dtype=t.float64))
t.full((1,), t.tensor(3, dtype=t.int32))
t.full((1,), t.tensor(True))
t.full((1,), t.tensor(1j, dtype=t.cdouble))
t.full((1,), t.ones(2))
t.full_like(t.ones(2), 'a')
t.full_like(t.ones(2), np.float64(3))
t.ones(2).new_full((2,), 'a')
t.linspace(0, 1j, 3)
t.linspace(1 + 1j, 3, 3)
t.linspace(1 + 1j, 3, 1)
t.linspace(1 + 1j, 3, 0)
t.linspace(0, 1, 3, dtype=t.cfloat)
t.linspace(0, 1j, 4, dtype=t.cdouble)
t.linspace(0, 1j, 3, dtype=t.float32)
t.linspace(0, 1j, 3, dtype=t.int64)
t.linspace(t.tensor(0), t.tensor(1j), 3)
t.logspace(1 + 1j, 2, 3).dtype
t.logspace(0, 1j, 3, dtype=t.float32)
float(t.tensor(1j))
int(t.tensor(1j))
float(t.tensor(1 + 0j))
int(t.tensor(1 + 0j))
complex(t.tensor(1 + 2j))
bool(t.tensor(1j))
float(t.ones(2))
t.ones(2).__delitem__(0)
x = t.ones(2); del x[0]; x
t.empty(2, 3, 4, 5, memory_format=t.channels_last).stride()
t.empty((1, 2, 3, 4, 5), memory_format=t.channels_last_3d).stride()
t.empty(0, 3, 4, 5, memory_format=t.channels_last).stride()
t.empty(2, 3, memory_format=t.contiguous_format).stride()
t.empty(2, 3, 4, 5, memory_format=t.channels_last, device='meta').stride()
t.empty(2, 3, memory_format=t.channels_last)
t.empty(2, 3, memory_format=t.preserve_format)
t.empty(2, 3, memory_format=3)
t.zeros(2, 3, memory_format=t.contiguous_format)
t.ones_like(t.ones(2, 3), memory_format=t.channels_last)
t.zeros_like(t.ones(2, 3, 4, 5), memory_format=t.channels_last_3d)
t.ones(2, 3).clone(memory_format=t.channels_last)
t.ones(2, 3).to(memory_format=t.channels_last)
t.ones(2, 3, 4, 5).to(memory_format=t.channels_last).stride()
t.ones(2, 3).contiguous(memory_format=t.channels_last)
t.ones(2, 3).is_contiguous(memory_format=t.channels_last)
t.ones(2, 3, 4, 5).is_contiguous(memory_format=t.channels_last_3d)
t.ones(2).new_zeros(2, foo=3)
t.ones(2).new_empty((2, 3, 4, 5), memory_format=t.channels_last)
t.zeros_like(t.ones(2), foo=3)
bool(t.tensor([]))
t.tensor(np.arange(6.).reshape(2, 3).T)
t.tensor(np.arange(24.).reshape(2, 3, 4).transpose(2, 1, 0)[::2], dtype=t.float32)
t.tensor(np.broadcast_to(np.ones(3), (2, 3)))
t.tensor(t.ones(2, 3).t(), dtype=t.int32)
t.ones(2).new_tensor(np.ones((2, 3)).T)
t.tensor(np.ones(3)[::-1])
t.tensor(np.ones(3, dtype='>f8'))
t.from_numpy(np.ones(3, dtype='>f8'))
t.from_numpy(np.ones(3)[::-1])
t.tensor(.5).unfold(0, 0, 1)
t.tensor(.5).unfold(0, 1, 2)
t.tensor(.5).unfold(0, 2, 1)
x = t.tensor(.5); x.unfold(0, 1, 1).fill_(2); x
x = t.tensor(.5); x.unfold(0, 0, 1).fill_(2); x
t.ones(2, 2).flip(0, 1)
t.ones(2).flip(dims=[0])
t.ones(2, 3).permute(dims=(1, 0))
t.ones(2, 3).reshape(shape=(6,))
t.ones(2).tile(dims=(2,))
t.nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True)._flat_weights_names
""".strip().splitlines()
WORDS = [
    "t.zeros('a')",
    "t.zeros(True)",
    "t.zeros([2.])",
    "t.full('a', 1)",
    "t.rand('a')",
    "t.ones(2).reshape('a')",
    "t.ones(2).reshape((2.,))",
    "t.ones(2).expand('a')",
    "t.ones(2).permute('a')",
    "t.ones(2).new_zeros('a')",
    "t.full((2,), 'a')",
    "t.full_like(t.ones(2), 'a')",
    "t.Size([1.5])",
    "float(t.tensor(1j))",
    "int(t.tensor(1j))",
    "t.asarray([1, 2], copy=False)",
    "t.linspace(0, 1j, 3, dtype=t.float32)",
    "t.asarray(np.ones(2), dtype=t.float32, copy=False)",
    "x = t.ones(2); del x[0]; x",
    "t.empty(2, 3, memory_format=t.channels_last)",
    "t.empty(2, 3, memory_format=3)",
    "t.empty(2, 3, memory_format=t.preserve_format)",
    "t.ones(2, 3).clone(memory_format=t.channels_last)",
    "bool(t.tensor([]))",
    "t.ones(7).unfold(0, -1, 1)",
    "t.ones(7).unfold(0, 8, 1)",
    "t.ones(2).flip()",
    "t.ones(2).permute()",
    "t.ones(2).tile()",
    "t.ones(2).reshape()",
    "t.flip(t.ones(2))",
    "t.ones(2).flip(0, dims=[0])",
    "t.ones(2).permute(0, dims=[0])",
]


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


@pytest.mark.parametrize("line", WORDS)
def test_in_pytorchs_words(line):
    function = source(line)
    compare(function, exact=True)


@pytest.mark.parametrize("ends", [(0, 1j, 7), (1 + 1j, 2, 4), (2j, 0.5 - 1j, 5)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_powers(ends, dtype):
    for name in ("linspace", "logspace"):
        ours, theirs = (
            getattr(t, name)(*ends, dtype=getattr(t, dtype)) for t in (torchlike, torch)
        )
        tolerance = {"complex64": 2e-6, "complex128": 1e-14}[dtype]  # PyTorch's powers round more
        theirs = torchlike.tensor(theirs.tolist(), dtype=ours.dtype)
        torchlike.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_through_a_part_that_is_assigned(jit):
    def gradient(t, z, part):
        w = z * 1
        w.real = part
        w.imag = w.imag * 2
        loss = (w.real**2 + 3 * w.imag**2).sum()
        return t.autograd.grad(loss, (z, part))

    found = []
    for t in (torchlike, torch):
        z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        part = t.tensor([5.0, 6.0], requires_grad=True)
        run = t.jit(gradient) if jit and t is torchlike else gradient
        found.append([g.tolist() for g in run(t, z, part)])
    assert found[0] == found[1]
