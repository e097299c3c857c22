"""What PyTorch says of tensors on a GPU, asked of both libraries on the same one."""

from __future__ import annotations

import pytest

import torchlike
from torchlike._core import devices

pytest.importorskip("torch")
import torch
from oracle import compare, refused, source

pytestmark = pytest.mark.skipif(
    not (torch.cuda.is_available() and devices.available("cuda")),
    reason="needs a GPU that PyTorch and JAX both have",
)

SAME = [
    "t.ones(2, device='cuda').device.type",
    "str(t.ones(2, device='cuda').device)",
    "str(t.ones(2).cuda().device)",
    "str(t.ones(2, device='cuda:0').to('cpu').device)",
    "t.ones(2, device='cuda').is_cuda, t.ones(2).is_cuda",
    "t.ones(2, device='cuda').get_device(), t.ones(2).get_device()",
    "x = t.ones(2, device='cuda'); x.cuda() is x",
    "x = t.ones(2, device='cuda'); x.to('cuda') is x",
    "x = t.ones(2, device='cuda'); x.to(t.device('cuda', 0)) is x",
    "repr(t.arange(3.0, device='cuda'))",
    "repr(t.ones(2, device='cuda', requires_grad=True) * 2)",
    "t.ones(3, device='cuda').add_(1).tolist()",
    "t.ones(2, device='cuda') + t.tensor(2.0)",
    "t.tensor(2.0) * t.ones(2, device='cuda')",
    "str((t.tensor(2.0) * t.ones(2, device='cuda')).device)",
    "t.arange(6.0, device='cuda')[t.tensor([0, 2])]",
    "x = t.arange(6.0, device='cuda'); x[t.tensor([0, 2])] = 7; x",
    "x = t.arange(6.0, device='cuda'); x[1] = t.tensor(9.0); x",
    "x = t.zeros(2, 3, device='cuda'); x[:, 1].fill_(4); x",
    "x = t.zeros(4, device='cuda'); y = x.view(2, 2); y.t()[0].add_(1); x",
    "x = t.zeros(4, device='cuda'); x.copy_(t.arange(4.0)); x",
    "x = t.zeros(4); x.copy_(t.arange(4.0, device='cuda')); x",
    "t.zeros_like(t.ones(2, device='cuda')).device.type",
    "t.ones(2, device='cuda').new_zeros(3).device.type",
    "t.ones(2, device='cuda').new_tensor([1.0]).device.type",
    "t.tensor([1.0, 2.0], device='cuda').cpu().numpy()",
    "t.as_tensor([1, 2], device='cuda')",
    "t.as_tensor(np.arange(3), device='cuda')",
    "str(t.ones(2, device='cuda').type())",
    "isinstance(t.ones(2, device='cuda'), t.cuda.FloatTensor)",
    "t.nn.Linear(2, 3).cuda().weight.device.type",
    "t.nn.Linear(2, 3, device='cuda').weight.device.type",
    "m = t.nn.Linear(2, 3); w = m.weight; m.cuda(); m.weight is w",
    "next(t.nn.BatchNorm2d(3).to('cuda').buffers()).device.type",
    "x = t.ones(2, requires_grad=True); (x.cuda() * 3).sum().backward(); x.grad",
    "x = t.ones(2, requires_grad=True, device='cuda'); (x.cpu() * 3).sum().backward(); x.grad",
    "x = t.ones(2, requires_grad=True).cuda(); x.is_leaf",
    "t.cuda.is_available(), t.cuda.device_count(), t.cuda.current_device()",
    "t.cuda.get_device_name()",
    "t.cuda.get_device_capability()",
    "t.cuda.get_device_properties(0).name",
    "t.cuda.get_device_properties(0).multi_processor_count",
    "t.cuda.is_bf16_supported()",
    "t.cuda.is_initialized()",
    "t.accelerator.is_available(), str(t.accelerator.current_accelerator())",
    "t.accelerator.device_count(), t.accelerator.current_device_index()",
    "t.cuda.synchronize()",
    "t.cuda.empty_cache()",
    "t.cuda.device_of(t.ones(2, device='cuda')).idx",
    "str(t.get_default_device())",
    "e = t.cuda.Event(enable_timing=True); e.record(); e.synchronize(); e.query()",
    "s = t.cuda.Stream(); s.synchronize(); s.query()",
    "t.Generator('cuda').device.type",
    "t.Generator(device='cuda').manual_seed(3).initial_seed()",
    "t.cuda.manual_seed_all(3); t.cuda.initial_seed()",
    "t.randn(3, device='cuda').shape",
    "t.randperm(5, device='cuda').sort()[0]",
    "t.dropout(t.ones(4, device='cuda'), 0.0, True)",
    "t.unique(t.tensor([3, 1, 1], device='cuda'))",
    "t.nonzero(t.tensor([0, 1, 1], device='cuda'))",
    "t.ones(3, device='cuda')[t.tensor([True, False, True], device='cuda')]",
    "t.linalg.svdvals(t.diag(t.arange(1.0, 4, device='cuda')))",
    "t.linalg.eigvals(t.diag(t.arange(1.0, 4, device='cuda'))).real.sort()[0]",
    "t.fft.rfft(t.arange(8.0, device='cuda')).abs()",
    "t.cumsum(t.arange(5, device='cuda'), 0)",
    "t.bincount(t.tensor([0, 1, 1], device='cuda'))",
    "t.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2), device='cuda').to_dense()",
    "t.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], device='cuda').device.type",
    "t.nn.Linear(2, 2, device='meta').to_empty(device='cuda').weight.device.type",
    "list(t.from_dlpack(t.arange(3.0, device='cuda')).cpu())",
    "t.equal(t.ones(2, device='cuda'), t.ones(2, device='cuda'))",
    "t.cat([t.ones(1, device='cuda'), t.zeros(1, device='cuda')]).device.type",
    "t.where(t.tensor([True, False], device='cuda'), 1.0, 0.0)",
    "t.ones(2, device='cuda').storage().device.type",
    "t.ones(2, device='cuda').untyped_storage().device.type",
    "t.is_autocast_enabled('cuda'), str(t.get_autocast_dtype('cuda'))",
    "hash(t.device('cuda:0')) == hash(t.device('cuda', 0))",
]


@pytest.mark.parametrize("line", SAME)
def test_same(line):
    compare(source(line))


REFUSED = [
    "t.ones(2, device='cuda') + t.ones(2)",
    "t.ones(2, 2, device='cuda') @ t.ones(2, 2)",
    "t.nn.Linear(2, 2).cuda()(t.ones(1, 2))",
    "t.nn.functional.linear(t.ones(1, 2, device='cuda'), t.ones(2, 2))",
    "t.cat([t.ones(1, device='cuda'), t.zeros(1)])",
    "t.ones(2, device='cuda').numpy()",
    "np.asarray(t.ones(2, device='cuda'))",
    "t.ones(2)[t.tensor([0], device='cuda')]",
    "t.ones(2, device='cuda:7')",
    "t.ones(2, device='cuda').pin_memory()",
    "t.equal(t.ones(2, device='cuda'), t.ones(2))",
    "t.stack([t.ones(1, device='cuda'), t.zeros(1)])",
    "t.where(t.tensor([True, False], device='cuda'), t.ones(2), t.zeros(2, device='cuda'))",
    "t.nn.functional.embedding(t.tensor([1]), t.ones(2, 2, device='cuda'))",
    "t.nn.functional.mse_loss(t.ones(2, device='cuda'), t.ones(2))",
    "t.ones(2, device='cuda').add_(t.ones(2))",
    "t.add(t.ones(2, device='cuda'), 1, out=t.ones(2))",
]


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line):
    refused(source(line), words=40)


def test_memory_is_counted():
    before = torchlike.cuda.memory_allocated()
    held = torchlike.zeros(1 << 22, device="cuda")
    held += 1
    torchlike.cuda.synchronize()
    assert torchlike.cuda.memory_allocated() - before >= 4 << 22
    assert torchlike.cuda.max_memory_allocated() >= torchlike.cuda.memory_allocated()
    free, total = torchlike.cuda.mem_get_info()
    assert 0 < free <= total


def test_arrays_are_exchanged_with_pytorch_without_a_copy():
    theirs = torch.arange(4.0, device="cuda")
    ours = torchlike.from_dlpack(theirs)
    assert ours.device.type == "cuda"
    assert ours.tolist() == [0, 1, 2, 3]
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()


def test_float32_products_have_all_bits_unless_told_otherwise():
    rng = torch.Generator().manual_seed(0)
    a, b = (torch.randn(512, 512, generator=rng) for _ in range(2))
    exact = (a.double() @ b.double()).numpy()
    ours = [torchlike.from_numpy(x.numpy()).cuda() for x in (a, b)]

    def error():
        return abs((ours[0] @ ours[1]).cpu().numpy() - exact).max()

    assert error() < 1e-4
    try:
        torchlike.set_float32_matmul_precision("high")
        assert 1e-3 < error() < 0.2
    finally:
        torchlike.set_float32_matmul_precision("highest")
    assert error() < 1e-4
