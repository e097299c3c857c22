"""`Partial` as a placement of results: which operations make terms, which keep them, what each
process holds, gradients. The same file runs under PyTorch's torchrun."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

X = torch.arange(16.0).reshape(4, 4)
W = torch.arange(16.0).reshape(4, 4) / 10
PLACES = {"R": Replicate(), "S0": Shard(0), "S1": Shard(1)}


def line():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def on(t, placement):
    return distribute_tensor(t, line(), [placement])


def terms(t, how="sum"):
    return DTensor.from_local(t * (dist.get_rank() + 1), line(), [Partial(how)])


def said(t):
    t = t.detach()
    return [str(t.placements), t.to_local().tolist(), t.full_tensor().tolist()]


def all_said(*tensors):
    return [said(t) for t in tensors]


def pairs(f, left=PLACES, right=PLACES):
    return {a + b: said(f(on(X, p), on(W, q))) for a, p in left.items() for b, q in right.items()}


def case_products():
    return pairs(lambda x, w: x @ w)


def case_products_of_three_dimensions():
    x, w = on(X[None], Shard(2)), on(W, Shard(0))
    return all_said(x @ w, torch.bmm(x, on(W[None], Shard(1))), torch.einsum("bij,jk->bik", x, w))


def case_products_with_a_vector():
    v = on(W[0], Shard(0))
    return all_said(on(X, Shard(1)) @ v, on(X, Replicate()) @ v, v @ v, v @ on(X, Shard(0)))


def case_linear_layers():
    w, bias = on(W, Shard(1)), on(W[0], Replicate())
    made = [
        f for p in PLACES.values() for f in (F.linear(on(X, p), w), F.linear(on(X, p), w, bias))
    ]
    return all_said(*made, torch.addmm(on(W, Replicate()), on(X, Shard(1)), on(W, Shard(0))))


def case_sums():
    found = {}
    for name, p in PLACES.items():
        x = on(X, p)
        found[name] = all_said(x.sum(), x.sum(0), x.sum(1, keepdim=True), x.mean(), x.mean(0))
    return found


def case_other_reductions():
    found = {}
    for name, p in PLACES.items():
        x = on(X + 1, p)
        made = x.max(), x.min(), x.prod(), x.amax(0), x.amin(1), (x > 3).any(), (x > 3).all()
        found[name] = all_said(*made)
    return found


def case_counts():
    return all_said((on(X, Shard(0)) > 3).sum(), on(X.long(), Shard(1)).sum())


def case_losses():
    return pairs(F.mse_loss, {"S0": Shard(0)}, {"S0": Shard(0)}), pairs(
        F.l1_loss, {"S1": Shard(1)}, {"S1": Shard(1)}
    )


def case_sums_of_terms():
    a, b = terms(X), terms(W)
    return all_said(a + b, a - b, torch.add(a, b, alpha=2), -a, a + b + b)


def case_terms_and_numbers():
    a = terms(X)
    return all_said(a * 2, 2 * a, a / 2, a + 1, 1 - a, a**2, a.double())


def case_terms_beside_values():
    found = {}
    for name, p in PLACES.items():
        a, r = terms(X), on(W + 1, p)
        found[name] = all_said(a + r, a * r, a / r, r - a, r * a)
    return found


def case_terms_of_terms():
    a, b = terms(X), terms(W + 1)
    return all_said(a * b, a / b, a @ b, a @ on(W, Replicate()), on(W, Replicate()) @ a)


def case_products_of_terms_and_parts():
    a = terms(X)
    parts = on(W, Shard(0)), on(W, Shard(1))
    return all_said(*[a @ w for w in parts], *[w @ a for w in parts])


def case_sums_over_terms():
    a = terms(X)
    return all_said(a.sum(), a.sum(0), a.sum(1, keepdim=True), a.mean(), a.max())


def case_views():
    a = terms(X)
    made = a.t(), a.view(2, 8), a.reshape(-1), a[0], a[:, 1:], a.unsqueeze(0), a.permute(1, 0)
    return all_said(*made, a[None].expand(2, 4, 4), a.flatten(), a.chunk(2, 1)[1])


def case_views_beside_terms():
    a, b = terms(X), terms(W)
    return all_said(a.t() + b, a.view(2, 8) * 2, (a[0] + b[1]).sum())


def case_moved_elements():
    a, b = terms(X), terms(W)
    rows = on(torch.tensor([0, 1]), Replicate())
    made = torch.cat([a, b]), torch.stack([a, b]), a.roll(1, 0), a.flip(0)
    return all_said(*made, a.index_select(0, rows), a[rows])


def case_not_linear():
    a = terms(X)
    made = F.relu(a), a.exp(), a.abs(), a.softmax(1), a.cumsum(0), F.layer_norm(a, (4,)), a.triu()
    return all_said(*made, a == a, a > 0, torch.where(a > 3, a, a))


def case_copies():
    a = terms(X)
    return all_said(a.clone(), a.detach(), a.t().contiguous(), torch.zeros_like(a))


def case_means_of_terms():
    a, b = terms(X, "avg"), terms(W, "avg")
    return all_said(a + b, a * 2, a + 1, a.sum(), a.t())


def case_greatest_of_terms():
    a, b = terms(X, "max"), terms(W, "max")
    return all_said(a * 2, a + b, a.t(), a.max(), a.view(-1), a[0])


def case_written_terms():
    made = terms(X).mul_(2), terms(X).add_(terms(W)), terms(X).add_(on(W, Replicate()))
    return all_said(*made)


def case_redistributed():
    y = on(X, Shard(1)) @ on(W, Shard(0))
    return all_said(*[y.redistribute(placements=[p]) for p in PLACES.values()], y)


def case_gradients_of_products():
    x, w = on(X, Shard(1)).requires_grad_(), on(W, Shard(0)).requires_grad_()
    y = (x @ w) * 2 + terms(W)
    y.redistribute(placements=[Replicate()]).tanh().sum().backward()
    return all_said(x.grad, w.grad)


def case_gradients_of_own_terms():
    x, w = on(X, Shard(1)).requires_grad_(), on(W, Shard(0)).requires_grad_()
    (x @ w).to_local().sin().sum().backward()
    return all_said(x.grad, w.grad)


def case_gradients_of_a_mean():
    x = on(X, Shard(0)).requires_grad_()
    loss = (x * x).mean()
    found = said(loss)
    loss.backward()
    return found, said(x.grad)


def case_an_all_reduce_of_own_terms():
    own = (on(X, Shard(1)) @ on(W, Shard(0))).to_local()
    dist.all_reduce(own)
    return own.tolist()


def case_printed():
    return repr(terms(X[0])), repr(on(X, Shard(0)).sum())
