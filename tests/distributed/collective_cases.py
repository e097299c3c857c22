"""What ranks do with each other's tensors: each function is a case, and gives numbers of its rank.

The same file runs under PyTorch's torchrun and under ``torchlike launch``.
"""

import torch
import torch.distributed as dist

R = dist.ReduceOp


def mine(n=4, dtype=torch.float32, scale=1.0):
    return (torch.arange(n, dtype=torch.float32) * scale + dist.get_rank() + 1).to(dtype)


def all_reduced(op, dtype):
    x = mine(dtype=dtype)
    dist.all_reduce(x, op=op)
    return x.float().tolist()


def _all_reduce_case(op, dtype):
    def case():
        return all_reduced(getattr(R, op), getattr(torch, dtype))

    return case


for _op in ("SUM", "PRODUCT", "MIN", "MAX"):
    for _dtype in ("float32", "float64", "int64", "int32", "uint8", "int8", "float16"):
        globals()[f"case_all_reduce_{_op.lower()}_{_dtype}"] = _all_reduce_case(_op, _dtype)
for _op in ("BAND", "BOR", "BXOR"):
    globals()[f"case_all_reduce_{_op.lower()}"] = _all_reduce_case(_op, "int64")
case_all_reduce_bfloat16 = _all_reduce_case("SUM", "bfloat16")


def case_all_reduce_complex():
    x = torch.complex(mine(), mine(scale=2.0))
    dist.all_reduce(x)
    return torch.view_as_real(x).tolist()


def case_all_reduce_scalar_and_empty():
    x, y = torch.tensor(2.0 * dist.get_rank() + 1), torch.ones(2, 3)[:, :2]
    dist.all_reduce(x)
    dist.all_reduce(y.contiguous())
    return x.item()


def case_all_reduce_of_a_view():
    base = torch.zeros(3, 4) + dist.get_rank() + 1
    dist.all_reduce(base[1])
    return base.tolist()


def case_all_reduce_async():
    xs = [mine(k + 1) for k in range(5)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for work in works:
        work.wait()
    return [x.tolist() for x in xs], [w.is_completed() for w in works]


def case_all_reduce_many_times():
    x = mine()
    for _ in range(30):
        dist.all_reduce(x)
        x /= dist.get_world_size()
    return x.tolist()


def case_all_reduce_coalesced():
    xs = [mine(3), mine(5, scale=3.0)]
    dist.all_reduce_coalesced(xs)
    return [x.tolist() for x in xs]


def case_broadcast():
    found = []
    for src in range(dist.get_world_size()):
        x = mine()
        dist.broadcast(x, src)
        found.append(x.tolist())
    return found


def case_broadcast_keeps_signs_and_bools():
    x = torch.tensor([-0.0, float("inf"), float("-inf")]) if dist.get_rank() == 0 else torch.ones(3)
    dist.broadcast(x, 0)
    flags = torch.tensor([True, False]) if dist.get_rank() == 0 else torch.tensor([False, True])
    dist.broadcast(flags, 0)
    return [str(v) for v in x.tolist()], flags.tolist()


def case_broadcast_a_parameter():
    p = torch.nn.Parameter(mine())
    dist.broadcast(p.data, 1)
    return p.tolist()


def case_reduce():
    x = mine()
    dist.reduce(x, 1)
    return x.tolist() if dist.get_rank() == 1 else None


def case_reduce_max():
    x = mine()
    dist.reduce(x, 0, op=R.MAX)
    return x.tolist() if dist.get_rank() == 0 else None


def case_all_gather():
    x = mine(6).reshape(2, 3)
    out = [torch.zeros(2, 3) for _ in range(dist.get_world_size())]
    dist.all_gather(out, x)
    return [o.tolist() for o in out]


def case_all_gather_coalesced():
    out = [[torch.zeros(4), torch.zeros(2)] for _ in range(dist.get_world_size())]
    dist.all_gather_coalesced(out, [mine(), mine(2)])
    return [[t.tolist() for t in of_rank] for of_rank in out]


def case_all_gather_scalars():
    out = [torch.tensor(0) for _ in range(dist.get_world_size())]
    dist.all_gather(out, torch.tensor(dist.get_rank() + 5))
    return [o.item() for o in out]


def case_all_gather_into_tensor():
    n = dist.get_world_size()
    x = mine(6).reshape(2, 3)
    flat = torch.zeros(2 * n, 3)
    dist.all_gather_into_tensor(flat, x)
    return flat.tolist()


def case_all_gather_async():
    out = [torch.zeros(4) for _ in range(dist.get_world_size())]
    dist.all_gather(out, mine(), async_op=True).wait()
    return [o.tolist() for o in out]


def case_gather():
    here = dist.get_rank() == 1
    out = [torch.zeros(4) for _ in range(dist.get_world_size())] if here else None
    dist.gather(mine(), out, dst=1)
    return [o.tolist() for o in out] if here else None


def case_scatter():
    x = torch.zeros(3)
    n = dist.get_world_size()
    given = [torch.full((3,), float(i + 10)) for i in range(n)] if dist.get_rank() == 0 else None
    dist.scatter(x, given, src=0)
    return x.tolist()


def case_reduce_scatter():
    n = dist.get_world_size()
    out = torch.zeros(3)
    dist.reduce_scatter(out, [mine(3) * (i + 1) for i in range(n)])
    return out.tolist()


def case_reduce_scatter_tensor():
    n = dist.get_world_size()
    out = torch.zeros(2, 3)
    dist.reduce_scatter_tensor(out, mine(6 * n).reshape(2 * n, 3))
    return out.tolist()


def case_reduce_scatter_max():
    n = dist.get_world_size()
    out = torch.zeros(3)
    dist.reduce_scatter(out, [mine(3) * (-1) ** i for i in range(n)], op=R.MAX)
    return out.tolist()


def case_all_to_all_single():
    n = dist.get_world_size()
    out = torch.zeros(2 * n, 2)
    dist.all_to_all_single(out, mine(4 * n).reshape(2 * n, 2) * 10)
    return out.tolist()


def case_all_to_all_single_uneven():
    rank, n = dist.get_rank(), dist.get_world_size()
    send = [rank + i + 1 for i in range(n)]
    receive = [i + rank + 1 for i in range(n)]
    out = torch.zeros(sum(receive))
    dist.all_to_all_single(out, mine(sum(send)), receive, send)
    return out.tolist()


def case_all_to_all():
    rank, n = dist.get_rank(), dist.get_world_size()
    out = [torch.zeros(3) for i in range(n)]
    dist.all_to_all(out, [torch.full((3,), 10.0 * rank + i) for i in range(n)])
    return [o.tolist() for o in out]


def case_send_and_recv():
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        for to in range(1, n):
            dist.send(torch.arange(3) + to, to)
        return None
    x = torch.zeros(3, dtype=torch.int64)
    return dist.recv(x, 0), x.tolist()


def case_ring():
    rank, n = dist.get_rank(), dist.get_world_size()
    x, y = mine(), torch.zeros(4)
    works = [dist.isend(x, (rank + 1) % n), dist.irecv(y, (rank - 1) % n)]
    for work in works:
        work.wait()
    return y.tolist()


def case_tags():
    if dist.get_rank() == 0:
        dist.isend(torch.tensor([1.0]), 1, tag=7).wait()
        dist.isend(torch.tensor([2.0]), 1, tag=8).wait()
    if dist.get_rank() == 1:
        a, b = torch.zeros(1), torch.zeros(1)
        second = dist.irecv(b, 0, tag=8)
        first = dist.irecv(a, 0, tag=7)
        second.wait()
        first.wait()
        return a.item(), b.item()
    return None


def case_recv_from_any():
    if dist.get_rank() == 0:
        x = torch.zeros(2)
        froms = [dist.recv(x) for _ in range(dist.get_world_size() - 1)]
        return sorted(froms)
    dist.send(mine(2), 0)
    return None


def case_batch_isend_irecv():
    rank, n = dist.get_rank(), dist.get_world_size()
    x, y, z = mine(), torch.zeros(4), torch.zeros(4)
    ops = [dist.P2POp(dist.isend, x, (rank + 1) % n), dist.P2POp(dist.irecv, y, (rank - 1) % n)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    ops = [dist.P2POp(dist.irecv, z, (rank + 1) % n), dist.P2POp(dist.isend, y, (rank - 1) % n)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return y.tolist(), z.tolist()


def case_objects():
    rank, n = dist.get_rank(), dist.get_world_size()
    every = [None] * n
    dist.all_gather_object(every, {"rank": rank, "of": [n] * rank})
    gathered = [None] * n if rank == 1 else None
    dist.gather_object(("a", rank), gathered, dst=1)
    sent = ["x", {"y": 2}] if rank == 0 else [None, None]
    dist.broadcast_object_list(sent, src=0)
    own = [None]
    dist.scatter_object_list(own, [i * i for i in range(n)] if rank == 0 else None, src=0)
    return every, gathered, sent, own


def case_objects_sent():
    rank, first, second = dist.get_rank(), [None, None], [None]
    if rank == 0:
        dist.send_object_list(["a", {"b": [rank] * 3}], dst=1)
        dist.send_object_list([("c", 1.5)], dst=1)
    elif rank == 1:
        senders = [dist.recv_object_list(first, src=0), dist.recv_object_list(second, src=0)]
        return senders, first, second
    return None


def case_outside_of_a_group():
    outside = dist.GroupMember.NON_GROUP_MEMBER
    return [dist.new_group([r]) == outside for r in range(dist.get_world_size())]


def case_objects_often():
    found = []
    for i in range(10):
        every = [None] * dist.get_world_size()
        dist.all_gather_object(every, (dist.get_rank(), i))
        found.append(every)
    return found


def case_groups():
    rank = dist.get_rank()
    alone = [dist.new_group([i]) for i in range(dist.get_world_size())]
    pair = dist.new_group([0, 1])
    x = mine()
    dist.all_reduce(x, group=alone[rank])
    if rank < 2:
        dist.all_reduce(x, group=pair)
    ranks = dist.get_process_group_ranks(pair) if rank < 2 else None
    return x.tolist(), ranks, dist.get_rank(pair), dist.get_world_size(pair)


def case_group_of_the_other_order():
    group = dist.new_group([1, 0])
    if dist.get_rank() > 1:
        return None
    x = mine()
    dist.broadcast(x, 1, group=group)
    return x.tolist(), dist.get_rank(group), dist.get_global_rank(group, 1)


def case_subgroups():
    own, every = dist.new_subgroups(1)
    x = mine()
    dist.all_reduce(x, group=own)
    return x.tolist(), len(every)


def case_barriers():
    for _ in range(5):
        dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.monitored_barrier()


def case_functional_all_reduce():
    import torch.distributed._functional_collectives as funcol

    x = mine()
    y = funcol.wait_tensor(funcol.all_reduce(x, "sum", dist.group.WORLD))
    return x.tolist(), y.tolist()


def case_functional_others():
    import torch.distributed._functional_collectives as funcol

    n, world = dist.get_world_size(), dist.group.WORLD
    x = mine(2 * n).reshape(2, n)
    wait = funcol.wait_tensor
    gathered = wait(funcol.all_gather_tensor(x, 1, world))
    scattered = wait(funcol.reduce_scatter_tensor(x, "sum", 1, world))
    sent = wait(funcol.broadcast(x, 1, world))
    exchanged = wait(funcol.all_to_all_single(mine(n), None, None, world))
    return gathered.tolist(), scattered.tolist(), sent.tolist(), exchanged.tolist()


def case_gradients_of_all_reduce():
    import torch.distributed.nn.functional as F

    x = mine().requires_grad_()
    (F.all_reduce(x * x) * (dist.get_rank() + 1)).sum().backward()
    return x.grad.tolist()


def case_gradients_of_all_gather():
    import torch.distributed.nn.functional as F

    x = mine().requires_grad_()
    parts = F.all_gather(x * x)
    sum(p.sum() * (i + 1 + dist.get_rank()) for i, p in enumerate(parts)).backward()
    return x.grad.tolist()


def case_gradients_of_the_others():
    import torch.distributed.nn.functional as F

    found, rank, n = [], dist.get_rank(), dist.get_world_size()
    x = mine().requires_grad_()
    (F.broadcast(x * 2, 1) * (rank + 1)).sum().backward()
    found.append(x.grad.tolist())
    x = mine().requires_grad_()
    (F.reduce(x * 2, 0) * (rank + 1)).sum().backward()
    found.append(x.grad.tolist())
    xs = [mine(scale=i + 1.0).requires_grad_() for i in range(n)]
    (F.scatter([x * 3 for x in xs], 0) * (rank + 1)).sum().backward()
    found.append([x.grad.tolist() for x in xs] if rank == 0 else None)
    xs = [mine(scale=i + 1.0).requires_grad_() for i in range(n)]
    out = F.reduce_scatter(torch.zeros(4), [x * x for x in xs])
    (out * (rank + 1)).sum().backward()
    found.append([out.tolist(), [x.grad.tolist() for x in xs]])
    x = mine(n).requires_grad_()
    (F.all_to_all_single(torch.zeros(n), x * x) * (rank + 1)).sum().backward()
    found.append(x.grad.tolist())
    return found


def case_errors():
    """Types of what wrong arguments raise, before anybody is met."""
    rank, n = dist.get_rank(), dist.get_world_size()
    found = []
    for wrong in (
        lambda: dist.all_reduce([1]),
        lambda: dist.all_gather([torch.zeros(4)] * n, [1]),
        lambda: dist.send(torch.zeros(1), rank),
        lambda: dist.new_group(list(range(n + 1))),
        lambda: dist.new_group([n + 3]),
        lambda: dist.gather(torch.zeros(1), None, dst=rank),
        lambda: dist.init_process_group("gloo"),
        lambda: dist.P2POp(dist.send, torch.zeros(1), 0),
        lambda: dist.batch_isend_irecv([]),
    ):
        try:
            wrong()
            found.append(None)
        except Exception as error:
            found.append(type(error).__name__)
    return found


def case_stores():
    from datetime import timedelta

    store = dist.TCPStore(
        "127.0.0.1",
        int(PORT),
        dist.get_world_size(),
        dist.get_rank() == 0,
        timeout=timedelta(seconds=20),
    )
    prefixed = dist.PrefixStore("p", store)
    if dist.get_rank() == 0:
        prefixed.set("k", "v0")
        store.append("log", "a")
    value = prefixed.get("k").decode()
    total = 0
    store.add("sum", dist.get_rank() + 1)
    dist.barrier()
    total = store.add("sum", 0)
    swapped = store.compare_set("k2", "", "first")
    store.wait(["k2"], timedelta(seconds=5))
    try:
        store.wait(["never"], timedelta(seconds=0.1))
        late = None
    except Exception as error:
        late = type(error).__name__
    found = value, total, swapped.decode(), store.check(["p/k"]), store.check(["zz"]), late
    dist.barrier()  # rank 0 serves the store until then
    return found


PORT = "0"
