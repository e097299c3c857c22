"""fully_shard over four processes, and tensor parallelism under it, in compiled steps: one program
gives what PyTorch's ranks give eagerly. The same file runs under PyTorch's torchrun.

Under torchlike each step also runs eagerly, and the two give the same numbers to 1e-6.
"""

import sys

import compiled_sharded_cases as one_dimension
import torch
from two_dimensional_cases import ENDS, SEQUENCE, TENSOR, batch, built, cut, loss_of, mesh_of_two

OWN = "torchlike" in sys.modules

case_fully_shard = one_dimension.case_a_step
case_replicas_of_parts = one_dimension.case_replicas_of_parts


def training(way, net, mesh, micro, steps=3):
    line = mesh["dp"].get_local_rank()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2, eps=1e-3, foreach=False)

    def step(*batches):
        optimizer.zero_grad()
        for x, y in zip(batches[::2], batches[1::2], strict=True):
            loss = loss_of(net, x, y)
            loss.backward()
        optimizer.step()
        return loss.detach()

    run = way(step)
    losses = [
        run(*[t for j in range(micro) for t in batch(i + 100 * j, line)]).item()
        for i in range(steps)
    ]
    return losses, [p.full_tensor().double().sum().item() for p in net.parameters()], run


def trained(*plans, micro=1, **options):
    mesh = mesh_of_two()

    def make():
        return cut(built(), mesh, *plans, **options)

    *eager, _ = training(lambda f: f, make(), mesh, micro)
    if not OWN:
        return eager
    import torchlike

    *found, run = training(torchlike.jit, make(), mesh, micro)
    for a, b in zip(found, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-5)
    assert run.compiles == 1, run.compiles
    return found


def case_tensor_parallel():
    return trained(TENSOR)


def case_sequence_parallel():
    return trained(SEQUENCE, ENDS)


def case_keeping_what_is_gathered():
    return trained(TENSOR, reshard_after_forward=False)


def case_accumulating():
    return trained(SEQUENCE, ENDS, micro=2)
