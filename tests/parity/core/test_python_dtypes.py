"""Python's float, complex, int and bool where a dtype is taken, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

CASES = """
t.zeros(2, dtype=float)
t.zeros(2, dtype=complex)
t.zeros(2, dtype=int)
t.zeros(2, dtype=bool)
t.empty(2, dtype=complex).dtype
t.tensor([1], dtype=float)
t.tensor([1], dtype=complex)
t.tensor([1.9], dtype=int)
t.tensor([2], dtype=bool)
t.as_tensor([1], dtype=float)
t.as_tensor(np.ones(2, dtype=np.float32), dtype=float)
t.asarray([1], dtype=float)
t.ones(1).new_tensor(1, dtype=float)
t.ones(3).new_zeros(2, dtype=float)
t.zeros_like(t.ones(2), dtype=float)
t.full((2,), 1, dtype=float)
t.full((1,), 3, dtype=bool)
t.scalar_tensor(2, dtype=float)
t.arange(3, dtype=float)
t.arange(3., dtype=int)
t.linspace(0, 1, 3, dtype=float)
t.logspace(0, 1, 3, dtype=float)
t.eye(2, dtype=float)
t.tril_indices(2, 2, dtype=int)
t.frombuffer(bytearray(16), dtype=float)
t.empty_strided((2,), (1,), dtype=float).dtype
t.hann_window(3, dtype=float).dtype
t.fft.fftfreq(3, dtype=float)
t.randn(2, dtype=float).dtype
t.rand_like(t.ones(2), dtype=float).dtype
t.randint(3, (2,), dtype=float).dtype
t.randint_like(t.ones(2), 3, dtype=int).dtype
t.randperm(3, dtype=int).dtype
t.normal(0., 1., (2,), dtype=float).dtype
t.ones(3).sum(dtype=float)
t.ones(3).sum(dtype=int)
t.ones(3).sum(dtype=complex)
t.ones(3).sum(dtype=bool)
t.ones(2).mean(dtype=float)
t.ones(2).prod(dtype=float)
t.ones(2).cumsum(0, dtype=float)
t.ones(2).cumprod(0, dtype=int)
t.nansum(t.ones(2), dtype=float)
t.norm(t.ones(2), dtype=float).dtype
t.linalg.vector_norm(t.ones(2), dtype=float).dtype
t.ones(2).softmax(0, dtype=float)
t.nn.functional.log_softmax(t.zeros(2), 0, dtype=float).dtype
t.nn.Linear(2, 2, dtype=float).weight.dtype
t.ones(3).to(float)
t.ones(3).to(complex)
t.ones(3).to(int)
t.ones(3).to(bool)
t.ones(3).to(dtype=float)
t.ones(3).to('cpu', float)
t.ones(3).to(float, copy=True)
t.ones(3).type(float)
t.ones(3).type(str)
t.ones(3).type(t.int64)
t.ones(3).type(dtype=t.float64)
t.ones(3).type(t.LongTensor)
t.ones(3).type('torch.DoubleTensor')
t.ones(3).type(t.bool).type()
t.zeros(1, dtype=t.uint16).type()
t.zeros(1, dtype=t.float8_e5m2).type()
t.ones(3).type('torch.UInt16Tensor')
t.ones(3).type('torch.NoTensor')
t.ones(2).view(int)
t.ones(2, dtype=t.float64).view(int)
t.ones(2, dtype=t.int64).view(float)
t.ones(2).view(dtype=int)
t.finfo(float).bits
t.finfo(complex).bits
t.finfo(int)
t.iinfo(int).bits
t.iinfo(float)
t.promote_types(float, int)
t.can_cast(float, int)
t.can_cast(int, float)
t.zeros(2, dtype=str)
t.zeros(2, dtype=object)
t.zeros(2, dtype=[1])
t.zeros(2, dtype='float32')
t.zeros(2, dtype=np.float32)
t.zeros(2, dtype=np.dtype('float32'))
t.tensor([1], dtype=np.float32)
t.ones(3).sum(dtype=np.float32)
t.ones(3).to(np.float32)
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


@pytest.mark.parametrize("jit", [False, True])
def test_whatever_the_default_dtype(jit):
    def work(x):
        return x.to(float), x.sum(dtype=complex), torchlike.zeros(1, dtype=float)

    work = torchlike.jit(work) if jit else work
    torchlike.set_default_dtype(torchlike.float16)
    try:
        found = [y.dtype for y in work(torchlike.ones(2))]
    finally:
        torchlike.set_default_dtype(torchlike.float32)
    assert found == [torchlike.float64, torchlike.complex128, torchlike.float64]
