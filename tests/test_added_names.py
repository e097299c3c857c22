"""Names that a later release of PyTorch added are there whichever release is followed."""

import json
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.tape import NodeType
from torchlike._higher_order_ops import scan, switch
from torchlike.autograd.graph import node_creation_hook
from torchlike.fx.experimental.const_fold import split_const_subgraphs
from torchlike.fx.experimental.proxy_tensor import make_fx

GOLDEN = Path(__file__).parent / "golden"
RECORDED = json.loads((GOLDEN / "added_names.json").read_text())


def leaves(x):
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in leaves(part)]
    return [x]


@pytest.fixture(scope="module")
def found():
    sys.path.insert(0, str(GOLDEN))
    try:
        import make_added_names
    finally:
        sys.path.remove(str(GOLDEN))
    return make_added_names.probes(torch)


@pytest.mark.parametrize("name", RECORDED)
def test_it_gives_what_the_release_gave(found, name):
    ours, theirs = leaves(found[name]), leaves(RECORDED[name])
    assert [type(x) for x in ours] == [type(x) for x in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert a == b if isinstance(b, str) else a == pytest.approx(b, rel=1e-6, abs=1e-9)


def test_a_node_is_complete_when_its_hook_is_told():
    """Whichever kind of node is made: after inference mode, and under hooks on saved tensors."""
    x, told = torch.ones(2, requires_grad=True), []
    with torch.inference_mode(), torch.no_grad():
        torch.ones(2) * 2
    with node_creation_hook(lambda node: told.append(len(node.next_functions))):
        kept = x * 2  # and with it the node of the leaf
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x * 3
    assert told == [0, 2, 2]
    assert kept.grad_fn is not None


@pytest.mark.parametrize("name", ["polar", "matrix_sqrth"])
def test_roots_of_batches_compiled(name):
    function = getattr(torch.linalg, name)
    a = torch.randn(4, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a = (a @ a.mT + torch.eye(3)).requires_grad_()

    def values_and_gradient(a):
        out = function(a)
        outs = out if isinstance(out, tuple) else (out,)
        (gradient,) = torch.autograd.grad(sum(o.sin().sum() for o in outs), a)
        return (*outs, gradient)

    eager, compiled = values_and_gradient(a), torch.compile(values_and_gradient)(a)
    for x, y in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=1e-9, atol=1e-12)
    whole = eager[0] @ (eager[0] if name == "matrix_sqrth" else eager[1])
    np.testing.assert_allclose(whole.detach().numpy(), a.detach().numpy(), rtol=1e-9)


def test_roots_write_to_out():
    a = torch.eye(2) * 4
    u, h, root = torch.empty(2, 2), torch.empty(2, 2), torch.empty(2, 2)
    torch.linalg.polar(a, out=(u, h))
    torch.linalg.matrix_sqrth(a, out=root)
    assert (u.tolist(), h.tolist()) == ([[1, 0], [0, 1]], [[4, 0], [0, 4]])
    assert root.tolist() == [[2, 0], [0, 2]]


def test_a_switch_in_a_compiled_function_chooses_at_each_call(compilations):
    branches = (torch.sin, lambda x: x * x, torch.exp)

    @torch.compile
    def gradient(i, x):
        y = switch(i, branches, (x,))
        return torch.autograd.grad(y.sum(), x)[0]

    x = torch.tensor([0.5, 2.0], requires_grad=True)
    expected = [x.detach().cos(), 2 * x.detach(), x.detach().exp()]
    for _ in range(2):  # the first call runs eagerly
        gradient(torch.tensor(0), x)
    compilations.clear()
    for i, e in zip((-1, 1, 2, 5), (expected[0], *expected[1:], expected[2]), strict=True):
        np.testing.assert_allclose(gradient(torch.tensor(i), x).numpy(), e.numpy(), rtol=1e-6)
    assert not compilations


def test_a_scan_of_a_length_compiled():
    run = torch.compile(lambda c: scan(lambda c, x: (c * 2, c + 1), c, None, length=4))
    carry, ys = run(torch.ones(2))
    assert (carry.tolist(), ys[:, 0].tolist()) == ([16, 16], [2, 3, 5, 9])
    with pytest.raises(NotImplementedError, match="length 0 without xs"):
        scan(lambda c, x: (c, c), torch.ones(2), None, length=0)
    with pytest.raises(RuntimeError, match="length=3 does not match xs size along dim=0: 2"):
        scan(lambda c, x: (c, x), torch.ones(2), torch.ones(2, 2), length=3)
    with pytest.raises(RuntimeError, match="must be a non-negative integer, got True"):
        scan(lambda c, x: (c, c), torch.ones(2), None, length=True)


def test_hooks_of_new_nodes_see_what_is_saved_and_may_refuse():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    saved = []
    with node_creation_hook(lambda n: saved.append(getattr(n, "saved_tensors", None))):
        y = Scaled.apply(x)
    assert saved[0] is None
    assert torch.equal(saved[1][0], x)
    assert "__call__" not in vars(NodeType)
    with node_creation_hook(lambda n: 1 / 0), pytest.raises(ZeroDivisionError):
        y.sin()
    with (
        node_creation_hook(lambda n: x * 2),
        pytest.raises(RuntimeError, match="got a new node of type MulBackward0 while a hook"),
    ):
        y.sin()
    with pytest.raises(TypeError, match="must be callable, not int"):
        node_creation_hook(3).__enter__()


def test_hooks_of_new_nodes_may_hook_the_node():
    x = torch.ones(2, requires_grad=True)
    ran = []
    with node_creation_hook(lambda n: n.register_prehook(lambda g: ran.append(n.name()))):
        y = (x * 2).exp()
    y.sum().backward()
    assert ran == ["ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]


def test_memory_that_others_may_only_read():
    t = torch.ones(2)
    array = np.from_dlpack(torch.utils.dlpack.ReadOnlyTensorWrapper(t))
    assert not array.flags.writeable
    t[0] = 5
    assert array.tolist() == [5, 1]
    back = torch.from_dlpack(torch.utils.dlpack.ReadOnlyTensorWrapper(t))
    assert type(back) is torch.Tensor
    assert back.data_ptr() == t.data_ptr()
    leaf = torch.utils.dlpack.ReadOnlyTensorWrapper(torch.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(leaf)


def test_a_gamma_of_a_generator():
    gamma = torch.distributions.Gamma(torch.tensor([0.5, 3.0]), torch.tensor([1.0, 2.0]))
    draws = [gamma.sample((3,), generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert torch.equal(*draws)
    assert draws[0].shape == (3, 2)
    again = gamma.rsample((3,), torch.Generator().manual_seed(7))
    assert torch.equal(again, draws[0])


@pytest.fixture
def world_of_one():
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist
    dist.destroy_process_group()


def test_gathering_into_one_tensor_and_the_timeout_of_a_group(world_of_one):
    dist = world_of_one
    out = torch.zeros(1, 2)
    dist.gather_single(torch.tensor([1.0, 2.0]), out, dst=0)
    assert out.tolist() == [[1, 2]]
    with pytest.warns(FutureWarning, match="use `torch.distributed.gather_single`"):
        dist.gather_into_tensor(torch.tensor([3.0, 4.0]), out)
    assert out.tolist() == [[3, 4]]
    with pytest.raises(ValueError, match="must be specified on the destination rank"):
        dist.gather_single(torch.ones(2))
    with pytest.raises(RuntimeError, match="must be contiguous"):
        dist.gather_single(torch.ones(2, 2), torch.zeros(2, 2).t())
    dist.set_timeout(timedelta(seconds=7))
    assert dist.group.WORLD.timeout == timedelta(seconds=7)
    with pytest.raises(TypeError, match=r"must be a datetime\.timedelta, not int"):
        dist.set_timeout(7)


def test_states_of_accelerators_generators():
    random = torch.accelerator.random
    if torch.accelerator.is_available():
        assert len(random.get_rng_state_all()) == torch.accelerator.device_count()
        assert random.get_rng_state().tolist() == random.get_rng_state_all()[0].tolist()
    else:
        assert random.get_rng_state_all() == []
        with pytest.raises(RuntimeError, match="none is available"):
            random.initial_seed()


def test_what_only_tells_the_compiler():
    assert torch.compiler.nonstrict_trace(torch.sin) is torch.sin
    assert torch.compiler.cudagraph_mark_warmup_incomplete() is None


def test_sequences_on_a_mesh(world_of_one):
    tensor = torch.distributed.tensor
    mesh = tensor.init_device_mesh("cpu", (1,))
    placements = [tensor.Shard(0)]
    made = tensor.linspace(0, 1, 5, device_mesh=mesh, placements=placements)
    assert torch.equal(made.full_tensor(), torch.linspace(0, 1, 5))
    made = tensor.logspace(0, 2, 3, 2.0, device_mesh=mesh, placements=placements)
    assert torch.equal(made.full_tensor(), torch.logspace(0, 2, 3, 2.0))


def test_a_symbolic_number_tells_what_is_known_of_it():
    told = []

    def f(x):
        n = x.shape[0]
        numbers = n, n * 2 + 1, n / 4
        told.extend((s.has_hint(), s.hint, s.constant) for s in numbers)
        return x + n

    graph = make_fx(f, tracing_mode="symbolic")(torch.ones(6))
    assert told == [(True, 6, None), (True, 13, None), (True, 1.5, None)]
    assert graph(torch.ones(3)).tolist() == [4, 4, 4]  # asking kept no guard


def test_what_the_caller_calls_impure_stays_in_a_folded_graph():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            x * 3
            return x + (self.w + 1)

    def left(**how):
        return [n.name for n in split_const_subgraphs(Model(), **how).graph.nodes]

    assert "mul" not in left()
    assert "mul" in left(is_impure_node=lambda n: n.is_impure() or n.name == "mul")
