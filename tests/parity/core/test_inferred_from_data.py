"""Which dtype and shape ``torch.tensor`` and its kin infer from nested data, against PyTorch."""

import pytest
from oracle import compare, source

import torchlike

torch = pytest.importorskip("torch")

DATA = """
[t.tensor(1.), 2]
[t.tensor(1), 2.5]
[2.5, t.tensor(1)]
[t.tensor(1., dtype=t.float64), 2]
[t.tensor(1., dtype=t.float16), 2.]
[t.tensor(1, dtype=t.int32), 2]
[t.tensor(1, dtype=t.int32), t.tensor(2, dtype=t.int32)]
[t.tensor(3, dtype=t.uint8), t.tensor(3, dtype=t.int8)]
[t.tensor(3., dtype=t.bfloat16), t.tensor(3., dtype=t.float16)]
[t.tensor(2., dtype=t.bfloat16), 1]
[t.tensor(True), 3]
[t.tensor(2j), 1]
[t.tensor(1., requires_grad=True), 2]
[t.tensor([1.]), t.tensor([2.])]
[t.tensor([[1.]]), t.tensor([[2.]])]
[t.tensor([1.]), 2.]
[2., t.tensor([1.])]
[t.tensor([1., 2]), t.tensor([2., 3])]
[t.tensor([]), t.tensor([])]
[[t.tensor([1., 2])]]
[[1, 2], t.tensor([3, 4])]
[[1, 2], [t.tensor(3), 4.5]]
[t.ones(1, 1, 1), 2.]
[t.nn.Parameter(t.ones(1))]
[np.float64(1), 2]
[np.float32(1), 2]
[np.float32(1), 2.5]
[2.5, np.float64(1)]
[[np.float64(2)]]
(np.float64(1),)
[np.float16(2)]
[np.int32(2)]
[np.int8(2), 3]
[np.uint8(3)]
[np.bool_(True)]
[np.complex64(2)]
[1j, np.float64(2)]
[[np.float32(1), np.float64(2)]]
[np.float64(1e300), 1]
np.float64(2)
np.float32(2)
[np.array([1, 2]), np.array([3, 4])]
[np.array([1., 2], dtype=np.float32), np.array([3, 4.], dtype=np.float32)]
[np.array([1., 2]), [3, 4]]
[[3, 4], np.array([1., 2])]
[np.array([1., 2]), np.array([3, 4., 5])]
[np.array(1.), np.array(2.)]
[np.array([[1.]])]
[np.zeros((0, 3))]
[[], [1]]
[[1], []]
[[], []]
[[[]]]
[[[], []], [[], []]]
[]
[(), ()]
[1, []]
[[], 1]
[[1], 2]
[1, [2]]
[[1, 2], [3]]
[(1, 2), [3, 4]]
[True, 2]
[True, 2.5]
[1j, 2]
range(3)
[range(3), range(3)]
bytearray(b'ab')
memoryview(b'ab')
[2**63]
[t.tensor(1), 2**63]
[t.tensor(1.), 2**63]
[np.int64(1), 2**63]
['a']
'a'
[[1, 'a']]
[1, 'a']
['ab']
['']
b'ab'
[b'a']
[None]
[1, None]
None
[{}]
{}
{1, 2}
""".strip().splitlines()

CALLS = """
t.tensor([t.tensor([1., 2])], dtype=t.float64)
t.tensor([t.tensor(1.5), 2], dtype=t.int32)
t.tensor([np.float64(1.5), 2], dtype=t.int32)
t.tensor([t.tensor(1.)] * 3, dtype=t.float16)
t.tensor([np.float64(1e300), 1], dtype=t.float32)
t.as_tensor([t.tensor(1.), 2])
t.as_tensor([np.float64(1), 2])
t.as_tensor([t.tensor([1.]), t.tensor([2.])])
t.as_tensor(np.float64(2), dtype=t.float32)
t.as_tensor({})
t.asarray([t.tensor(1.), 2])
t.asarray([np.float64(1), 2])
t.asarray([t.tensor([1., 2]), t.tensor([2., 3])])
t.asarray(2.5)
t.asarray('a')
t.ones(1).new_tensor([t.tensor(1), 2])
t.ones(1, dtype=t.int32).new_tensor([1.5, 2])
t.ones(1, dtype=t.int32).new_tensor([np.float64(1), 2])
t.ones(1, dtype=t.float64).new_tensor(np.ones(2, dtype=np.int32))
t.Tensor(np.array([1, 2]))
t.Tensor(np.array([1.5, 2]))
t.Tensor(3.)
t.Tensor(True)
t.Tensor(np.float64(3))
t.Tensor(None)
t.Tensor({})
t.Tensor('a')
t.Tensor(2., 3)
t.Tensor([1, 2], dtype=t.float64)
t.Tensor(data=[1.])
t.Tensor([1.5], device='cpu')
t.Tensor((1, 2))
t.Tensor(t.ones(2))
t.Tensor(2, 3).shape
t.Tensor(np.int64(3)).shape
t.Tensor(t.Size([2, 3])).shape
""".strip().splitlines()


@pytest.mark.parametrize("line", [*(f"t.tensor({d})" for d in DATA), *CALLS])
def test_as_pytorch(line):
    function = source(line)
    compare(function, exact=True, words=0)


@pytest.mark.parametrize(
    "line", ["t.tensor([t.ones(2)])", "t.tensor(['a'])", "t.Tensor(3.)", "t.tensor([{}])"]
)
def test_in_pytorchs_words(line):
    function = source(line)
    compare(function, exact=True)


def test_the_default_dtype_of_another_width():
    lines = [
        "t.tensor([1., 2])",
        "t.tensor([t.tensor(1), 2.])",
        "t.tensor([np.float32(1), 2.])",
        "t.tensor([[], [1]])",
        "t.tensor([1j])",
    ]
    for module in (torch, torchlike):
        module.set_default_dtype(module.float64)
    try:
        for line in lines:
            function = source(line)
            compare(function, exact=True, words=0)
    finally:
        for module in (torch, torchlike):
            module.set_default_dtype(module.float32)
