"""Views alias as NumPy's do: random programs of views and writes against a reference on strides,
and the geometry and errors of each view kind."""

import contextlib
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import torchlike
import torchlike as torch

# The programs are shared with the comparison with PyTorch.
sys.path.append(str(Path(__file__).parent / "parity"))
from programs import strided
from programs.compare import Comparison
from programs.program import Program, Run, programs
from programs.statements import WITHOUT_AUTOGRAD

COMMON = {
    "deadline": None,
    "database": None,
    "derandomize": True,
    "print_blob": False,
    "suppress_health_check": list(HealthCheck),
}
PROGRAMS = programs(strided, contextlib.nullcontext, WITHOUT_AUTOGRAD)


def check(program: Program) -> None:
    ours, theirs = (Run(library, contextlib.nullcontext) for library in (torchlike, strided))
    Comparison(program, ours, theirs, autograd=False).run()


@pytest.mark.exhaustive
@settings(max_examples=120, **COMMON)
@given(PROGRAMS)
def test_random_programs_alias_as_numpy_does(program):
    check(program)


@pytest.mark.full
@settings(max_examples=1500, **{**COMMON, "derandomize": False})
@given(PROGRAMS)
def test_many_random_programs_alias_as_numpy_does(program):
    check(program)


def base():
    """[[0, 1, 2], [3, 4, 5]], and how to see a write to it."""
    return torch.arange(6.0).view(2, 3) * 1


KINDS = {
    "view": (lambda x: x.view(3, 2), (3, 2), (2, 1), 0),
    "view -1": (lambda x: x.view(-1), (6,), (1,), 0),
    "t": (lambda x: x.t(), (3, 2), (1, 3), 0),
    "T": (lambda x: x.T, (3, 2), (1, 3), 0),
    "permute": (lambda x: x.permute(1, 0), (3, 2), (1, 3), 0),
    "movedim": (lambda x: x.movedim(0, 1), (3, 2), (1, 3), 0),
    "select": (lambda x: x.select(1, 2), (2,), (3,), 2),
    "narrow": (lambda x: x.narrow(1, 1, 2), (2, 2), (3, 1), 1),
    "step": (lambda x: x[:, ::2], (2, 2), (3, 2), 0),
    "index": (lambda x: x[1], (3,), (1,), 3),
    "index tensor": (lambda x: x[torch.tensor(1)], (3,), (1,), 3),
    "None": (lambda x: x[:, None, 1:], (2, 1, 2), (3, 3, 1), 1),
    "ellipsis": (lambda x: x[..., 0], (2,), (3,), 0),
    "diagonal": (lambda x: x.diagonal(1), (2,), (4,), 1),
    "unfold": (lambda x: x.unfold(1, 2, 2), (2, 1, 2), (3, 2, 1), 0),
    "squeeze": (lambda x: x[:1].squeeze(), (3,), (1,), 0),
    "unsqueeze": (lambda x: x.unsqueeze(1), (2, 1, 3), (3, 3, 1), 0),
    "flatten": (lambda x: x.flatten(), (6,), (1,), 0),
    "unflatten": (lambda x: x.unflatten(1, (3, 1)), (2, 3, 1), (3, 1, 1), 0),
    "split": (lambda x: x.split([1, 2], 1)[1], (2, 2), (3, 1), 1),
    "chunk": (lambda x: x.chunk(2)[1], (1, 3), (3, 1), 3),
    "unbind": (lambda x: x.unbind(1)[1], (2,), (3,), 1),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2), 1), (2, 2), (1, 2), 1),
    "detach": (lambda x: x.detach(), (2, 3), (3, 1), 0),
    "chain": (lambda x: x.t()[1:].view(2, 2, 1)[:, 1], (2, 1), (1, 3), 4),
    "views of views": (lambda x: x.view(6).view(3, 2).t().permute(1, 0).t(), (2, 3), (1, 2), 0),
}


@pytest.mark.parametrize(("view", "size", "stride", "offset"), KINDS.values(), ids=KINDS.keys())
def test_each_kind_has_the_geometry_of_pytorch_and_shares_memory(view, size, stride, offset):
    x = base()
    v = view(x)
    assert (tuple(v.shape), v.stride(), v.storage_offset()) == (size, stride, offset)
    expected = np.lib.stride_tricks.as_strided(
        np.arange(6.0, dtype=np.float32)[offset:], size, [4 * s for s in stride]
    )
    assert v.tolist() == expected.tolist()
    assert v.data_ptr() == x.data_ptr() + 4 * offset
    assert v.untyped_storage() == x.untyped_storage()
    v.fill_(-1)
    memory = np.arange(6.0)
    np.lib.stride_tricks.as_strided(memory[offset:], size, [8 * s for s in stride])[...] = -1
    assert x.flatten().tolist() == memory.tolist()
    x.mul_(2)
    assert v.tolist() == np.full(size, -2.0).tolist()


ERRORS = {
    "view size is not compatible": lambda x: x.t().view(6),
    r"shape '\[4\]' is invalid for input of size 6": lambda x: x.view(4),
    "only one dimension can be inferred": lambda x: x.view(-1, -1),
    r"start \(1\) \+ length \(3\) exceeds dimension size": lambda x: x.narrow(0, 1, 3),
    "index 2 is out of bounds for dimension 0 with size 2": lambda x: x[2],
    "index 5 out of range": lambda x: x.select(1, 5),
    "Dimension out of range": lambda x: x.transpose(0, 2),
    "too many indices": lambda x: x[0, 0, 0],
    "step must be greater than zero": lambda x: x[::-1],
    "expanded size of the tensor": lambda x: x.expand(4, 3),
    "diagonal dimensions cannot be identical": lambda x: x.diagonal(0, 1, 1),
    "maximum size for tensor at dimension": lambda x: x.unfold(0, 3, 1),
    "split_sizes to sum exactly": lambda x: x.split([1, 1], 1),
    "out of bounds for storage": lambda x: x.as_strided((4, 2), (2, 1)),
    "only supported for complex": torch.view_as_real,
    "last dimension of size 2": torch.view_as_complex,
    "more than one element of the written-to tensor": lambda x: x[:1].expand(2, 3).add_(1),
    "some elements of the input tensor": lambda x: x.view(6)[1:].copy_(x.view(6)[:-1]),
    "doesn't match the broadcast shape": lambda x: x[0].add_(x * 1),
}


@pytest.mark.parametrize(("words", "wrong"), ERRORS.items(), ids=range(len(ERRORS)))
def test_errors_in_pytorchs_words(words, wrong):
    x = base()
    with pytest.raises((RuntimeError, IndexError, ValueError), match=words):
        wrong(x)
    assert x.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def test_view_as_complex_does_not_mind_the_stride_of_dimensions_of_size_one():
    windows = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).unfold(1, 2, 1)
    assert windows.stride() == (2, 1, 1)
    z = torch.view_as_complex(windows)
    assert (z.tolist(), z.stride()) == ([[1 + 2j], [3 + 4j]], (1, 0))
    with pytest.raises(RuntimeError, match="stride divisible by 2"):
        torch.view_as_complex(torch.zeros(9).as_strided((2, 2), (3, 1)))


def test_parts_of_a_complex_element_of_a_slice():
    x = torch.arange(8.0).view(4, 2).clone().requires_grad_()
    z = torch.view_as_complex(x[1:])[0]
    pair = torch.view_as_real(z)
    assert pair.tolist() == [2, 3]
    (pair * torch.tensor([5.0, 7.0])).sum().backward()
    assert x.grad.tolist() == [[0, 0], [5, 7], [0, 0], [0, 0]]


def test_overlap_is_a_matter_of_bytes():
    x = torch.arange(8.0).view(4, 2)
    z = torch.view_as_complex(x)
    z[1:] += x.diagonal(1)
    assert z.tolist() == [1j, 3 + 3j, 5 + 5j, 7 + 7j]
    with pytest.raises(RuntimeError, match="some elements of the input tensor"):
        z.add_(x.view(8)[2:3])


def test_windows_of_size_zero():
    assert torch.zeros(1, 3).diagonal(-1).unfold(0, 0, 1).tolist() == [[]]
    assert torch.zeros(4).unfold(0, 0, 2).shape == (3, 0)


def test_what_writes_one_number_may_write_it_twice():
    x = torch.arange(4.0)
    x.as_strided((2, 2), (1, 1)).expand(2, 2, 2).zero_()
    assert x.tolist() == [0, 0, 0, 3]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.expand(2, 4).neg_()


def test_an_empty_part_of_expanded_memory_may_be_written():
    x = torch.arange(4.0)
    x[:1].expand(3, 1)[:, 1:].add_(1)
    x[:1].expand(3, 1)[:, 1:] = 7.0
    assert x.tolist() == [0, 1, 2, 3]


def test_as_strided_says_what_it_cannot_do():
    gaps = torch.from_numpy(np.arange(6.0).reshape(3, 2)[::2])
    with pytest.raises(NotImplementedError, match="gaps"):
        gaps.as_strided((2,), (1,))


def test_as_strided_of_memory_as_another_dtype():
    pairs = torch.view_as_real(torch.tensor([1j, 2.0]))
    part = pairs.as_strided((2,), (2,), 1)
    assert part.tolist() == [1.0, 0.0]
    part.fill_(5.0)
    assert pairs.tolist() == [[0.0, 5.0], [2.0, 5.0]]


def test_an_expand_that_repeats_nothing_is_written_through_in_another_dtype():
    x = torch.tensor([[-3.0, 2.0], [0.0, -2.0]])
    same = x.expand((-1, -1))
    assert same.stride() == (2, 1)
    torch.view_as_complex(same).add_(2.0)
    assert x.tolist() == [[-1.0, 2.0], [2.0, -2.0]]
    torch.view_as_complex(x.expand(1, -1, -1)).mul_(2.0)
    assert x.tolist() == [[-2.0, 4.0], [4.0, -4.0]]
    parts = torch.zeros(4)
    torch.view_as_complex(parts.unfold(0, 2, 2)).add_(1.0)
    torch.view_as_complex(parts[:2].unfold(0, 2, 1)).add_(1.0)  # one window
    assert parts.tolist() == [2.0, 0.0, 1.0, 0.0]
    with pytest.raises(NotImplementedError, match="write into the base tensor"):
        torch.view_as_complex(torch.zeros(2).expand(3, 2))[0].add_(1.0)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.complex64])
@pytest.mark.parametrize("shape", [(128, 256), (256, 128), (130, 128), (127, 128), (128, 130)])
def test_large_matrices_are_transposed(shape, dtype):
    x = torch.arange(shape[0] * shape[1]).reshape(shape).remainder(251).to(dtype)
    expected = x.numpy(force=True).T
    y = x.clone()
    assert (y.t().contiguous().numpy() == expected).all()
    assert y.t().contiguous().is_contiguous()
    assert ((y.t() + 1).numpy() == expected + 1).all()
    y.t()[3] = 7  # written through, and read anew
    assert (y.t()[3].numpy() == 7).all()
    assert (torch.jit(lambda y: y.t().contiguous())(x).numpy() == expected).all()


PARTS = {
    "as_strided": lambda b: b.as_strided((2, 3), (3, 1), 1),
    "gaps": lambda b: b.as_strided((2, 2), (4, 2)),
    "expand": lambda b: b.expand(1, 8),
    "unfold": lambda b: b.unfold(0, 2, 3),
}
#: What is seen of a part, and how a write of ones through it changes the part's own elements.
SEEN = {
    "conj": (lambda v: v.conj(), lambda z: z + 2 - 1j),
    "conj of conj": (lambda v: v.conj().conj(), lambda z: z + 2 + 1j),
    "real": (lambda v: v.real, lambda z: z + 2),
    "imag": (lambda v: v.imag, lambda z: z + 2j),
    "imag of conj": (lambda v: v.conj().imag, lambda z: z - 2j),
    "pairs": (lambda v: torch.view_as_real(v), lambda z: z + 2 + 2j),
}


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seen", SEEN)
def test_writes_through_changed_values_of_strided_parts(part, seen, jitted):
    see, changed = SEEN[seen]
    base = torch.arange(8).to(torch.complex64) * (1 + 0.5j)
    expected = base.clone()
    inside = PARTS[part](torch.arange(8)).reshape(-1)
    expected[inside] = changed(expected[inside])

    def write(base):
        v = see(PARTS[part](base))
        v.add_(2 + 1j if v.is_complex() else 2)

    run = torch.jit(write) if jitted else write
    run(base)
    assert base.tolist() == expected.tolist()


@pytest.mark.parametrize("jitted", [False, True])
def test_views_that_begin_behind_an_empty_memory(jitted):
    def run(x):
        view = x[:, 1:]
        view.add_(1)
        x[:, 2:] = 3
        return view * 2, view.clone(), view[:, 1:].t()

    x = torch.zeros(0, 3)
    found = (torch.jit(run) if jitted else run)(x)
    assert [tuple(t.shape) for t in found] == [(0, 2), (0, 2), (1, 0)]
    assert x[:, 1:].tolist() == []
    assert x[:, 1:].numpy().shape == (0, 2)
