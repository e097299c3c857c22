"""One test for each entry of docs/autograd.md: where torchlike differs from PyTorch, on purpose."""

import gc
import re
import weakref
from pathlib import Path

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError
from torchlike.autograd import data_writes, gradcheck, set_strict_in_place
from torchlike.autograd.function import once_differentiable
from torchlike.autograd.graph import (
    allow_mutation_on_saved_tensors,
    get_gradient_edge,
    save_on_cpu,
    saved_tensors_hooks,
)
from torchlike.utils import checkpoint as checkpoints
from torchlike.utils.checkpoint import checkpoint

PAGE = Path(__file__).parents[2] / "docs" / "autograd.md"


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def gradient(f, *values):
    x = leaf(*values)
    f(x).sum().backward()
    return x.grad.tolist()


def squared_then_overwritten(x):
    y = x * 1
    z = y * y
    y.add_(10)
    return z


def test_overwritten_tensors_have_the_right_gradient():
    assert gradient(squared_then_overwritten, 1.0, 3.0) == [2, 6]
    assert gradient(torch.jit(squared_then_overwritten), 1.0, 3.0) == [2, 6]


@pytest.mark.filterwarnings("ignore:MulBackward0 saved a tensor")
def test_strict_mode_counts_writes_through_data():
    def f(x):
        y = x * 1
        z = y * y
        y.data.add_(10)
        return z

    assert gradient(f, 3.0) == [6]
    with set_strict_in_place(True), pytest.raises(RuntimeError, match="modified by an inplace"):
        gradient(f, 3.0)


def test_strict_mode_watches_what_is_kept():
    def f(x):
        y = x * 1
        z = y.sort()[0]
        y.add_(10)
        return z

    with set_strict_in_place(True), pytest.raises(RuntimeError, match="modified by an inplace"):
        gradient(f, 3.0)


def test_mutation_is_allowed_after_the_context_too():
    x = leaf(3.0)
    with set_strict_in_place(True):
        with allow_mutation_on_saved_tensors():
            z = squared_then_overwritten(x)
        z.sum().backward()
    assert x.grad.tolist() == [6]


def test_pack_hooks_get_a_snapshot():
    seen = []
    x = leaf(3.0)
    with saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        y = x * x
    with torch.no_grad():
        x.add_(10)
    assert [(t.requires_grad, t.is_leaf, t is x, t.item()) for t in seen] == [
        (True, True, False, 3)
    ] * 2
    y.sum().backward()
    assert x.grad.tolist() == [6]


@pytest.mark.parametrize(
    ("f", "count"),
    [
        (lambda x: x.sum(), 0),
        (lambda x: torch.cat([x, x]), 0),
        (lambda x: x[1:].view(1, 1), 0),
        (lambda x: x.exp(), 1),
        (lambda x: x * 3, 0),
        (lambda x: x * x, 2),
    ],
)
def test_hooks_see_what_nodes_keep(f, count):
    seen = []
    with saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        f(leaf(1.0, 2.0))
    assert len(seen) == count


def test_jitted_functions_pack_what_their_programs_keep():
    f = torch.jit(lambda x: (x + 1) * x * 2)
    seen = []
    with saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        x = leaf(3.0)
        y = f(x).sum()
        assert seen
    y.backward()
    assert x.grad.tolist() == [14]
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = f(x).sum()
    with pytest.raises(NotImplementedError, match="saved_tensors_hooks"):
        torch.autograd.grad(y, x, create_graph=True)


def test_nodes_show_what_they_keep():
    largest = leaf(1.0, 2.0).max(-1)[0].grad_fn
    assert largest._saved_dim == -1
    assert not hasattr(largest, "_saved_indices")
    exp, view = leaf(1.0).exp().grad_fn, leaf(1.0).view(1, 1).grad_fn
    assert hasattr(exp, "_raw_saved_result")
    assert not hasattr(view, "_raw_saved_self")
    for node in (exp, view):
        assert not hasattr(node, "_saved_self_sym_sizes")


def test_pin_memory_changes_nothing():
    with save_on_cpu(pin_memory=True):
        assert gradient(lambda x: x * x, 3.0) == [6]


def test_a_checkpointed_tensor_may_be_unpacked_twice():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0] + ctx.saved_tensors[0])

    assert gradient(lambda x: checkpoint(Twice.apply, x, use_reentrant=False), 3.0) == [6]


def test_checkpoint_keeps_tensors_inside_containers():
    def f(x):
        factors = {"w": [torch.full((1,), 2.0)]}
        y = checkpoint(lambda a, d: (a * d["w"][0]).exp(), x, factors, use_reentrant=False)
        factors["w"][0].mul_(100)
        return y

    assert gradient(f, 0.0) == [2]


def test_reentrant_checkpoints_work_with_grad_under_jit():
    @torch.jit
    def f(x):
        return torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=True).sum(), x)[0]

    assert f(leaf(0.0)).tolist() == [1]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("backward_inside", [False, True])
@pytest.mark.parametrize("jitted", [False, True])
def test_checkpoints_write_state_once_under_jit(jitted, backward_inside):
    norm = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)

    def f(x):
        y = checkpoint(lambda a: norm(a).exp(), x, use_reentrant=False).sum()
        if not backward_inside:
            return y
        y.backward()
        return y.detach()

    run = torch.jit(f) if jitted else f
    for _ in range(2):
        y = run(x)
        if not backward_inside:
            y.backward()
    expected = torch.autograd.grad(torch.nn.BatchNorm1d(2)(x).exp().sum(), x)[0]
    torch.testing.assert_close(x.grad, 2 * expected)
    assert norm.num_batches_tracked.item() == (2 if jitted else 4)


def test_checkpoints_inside_torch_func():
    def f(v):
        return checkpoint(lambda a: (a * a).sin(), v, use_reentrant=False).sum()

    x = torch.tensor([[0.3, 0.5], [0.1, 0.2]])
    expected = 2 * x * (x * x).cos()
    torch.testing.assert_close(torch.vmap(torch.func.grad(f))(x), expected)
    torch.testing.assert_close(torch.func.jvp(f, (x,), (torch.ones(2, 2),))[1], expected.sum())


def test_selective_checkpoints_ask_about_recorded_ops():
    asked = []

    def contexts():
        return checkpoints.create_selective_checkpoint_contexts(
            lambda context, op, *operands: asked.append(op)
        )

    x, w = torch.ones(1, 2, 2, requires_grad=True), torch.ones(2, 2)
    inside = lambda x: torch.nn.functional.linear(x, w.exp()).view(4)  # noqa: E731
    checkpoint(inside, x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert asked == [torch.ops.aten.mm.default]  # PyTorch asks about exp, t, view and mm


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g


def test_once_differentiable_is_refused_by_grad_too():
    x = leaf(3.0)
    (g,) = torch.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        torch.autograd.grad(g.sum(), x)


def test_instances_of_functions():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        instance(leaf(1.0))


def test_a_graph_from_outside_under_jit():
    y = (leaf(3.0) * 2).sum()

    @torch.jit
    def f():
        y.backward()

    with pytest.raises(JitCaptureError, match="recorded outside"):
        f()


def test_anomaly_detection_under_jit():
    @torch.jit
    def f(x):
        (x * x).sum().backward()

    with torch.autograd.set_detect_anomaly(True), pytest.raises(JitCaptureError, match="NaN"):
        f(leaf(3.0))
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        f(leaf(3.0))


def test_a_gradient_edge_knows_what_flows_along_it():
    """An attribute says it, and is no part of the edge; the third field is PyTorch's token."""
    edge = get_gradient_edge(leaf(3.0) * 1)
    assert (edge.node.name(), *edge[1:]) == ("MulBackward0", 0, None)
    assert edge.aval == ((1,), torch.float32)
    made = torch.autograd.graph.GradientEdge(edge.node, edge.output_nr)
    assert made == edge
    with pytest.raises(RuntimeError, match="the shape of a GradientEdge that"):
        torch.autograd.grad(made, leaf(1.0))


def test_special_functions_have_gradients():
    x = leaf(0.7)
    torch.special.bessel_j0(x).sum().backward()
    torch.testing.assert_close(x.grad, -torch.special.bessel_j1(x.detach()))


def test_gradchecks_fast_mode_takes_complex_numbers_as_a_whole():
    z = torch.tensor([0.3 + 1j, 0.7], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda z: (z * z).real, (z,), fast_mode=True)


def test_writes_through_data_do_not_reach_what_was_saved(monkeypatch):
    monkeypatch.setattr(data_writes, "_warned", False)  # it tells once
    monkeypatch.setattr(data_writes, "_looked", 0)
    x, eps = leaf(1.0, 2.0), torch.ones(2)
    y = x * eps
    eps.data.add_(1)
    y = y + x * eps
    with pytest.warns(RuntimeWarning, match=r"written to through \.data"):
        y.sum().backward()
    assert x.grad.tolist() == [3, 3]  # PyTorch gives 4, 4


def test_swapped_data_are_not_those_that_were_saved():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data = torch.tensor([5.0, 6.0])
    y.backward()
    assert (x.grad.tolist(), x.tolist()) == ([2, 4], [5, 6])


def test_hooks_of_a_view_that_was_written_to_under_no_grad():
    x, seen = leaf(1.0, 2.0, 3.0), []
    y = x * 2
    v = y[:2]
    v.register_hook(lambda g: seen.append(g.tolist()))
    with torch.no_grad():
        v.mul_(3)
    (y.sum() + v.sum()).backward()
    assert (seen, x.grad.tolist()) == ([[1, 1]], [4, 4, 2])


def test_hooks_of_a_leaf_that_a_view_made_a_result():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    x.register_hook(lambda g: None)
    x.requires_grad_(False)
    x.view(2).add_(y)
    x.register_hook(lambda g: seen.append(g.tolist()))
    with pytest.raises(RuntimeError, match="moved into the graph interior"):
        (x * 3).sum().backward()
    assert seen[0] == [3, 3]


def test_hooks_after_a_change_of_shape_in_place():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: seen.append(g.shape))
    y.unsqueeze_(0)
    y.register_hook(lambda g: seen.append(g.shape))
    y.sum().backward()
    assert (seen, y.grad.shape) == ([(1, 2), (2,)], (1, 2))


@pytest.mark.parametrize("compiled", [False, True])
def test_inference_tensors_that_backward_reads(compiled):
    run = torch.jit if compiled else lambda f: f
    with torch.inference_mode():
        w = torch.tensor([3.0])
    assert gradient(run(lambda x: torch.where(torch.tensor([True]), x * 2, w)), 1.0) == [2]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        gradient(run(lambda x: x * w), 1.0)


def test_the_cycle_of_create_graph_is_freed():
    x = leaf(3.0)
    (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    node = weakref.ref(x.grad.grad_fn)
    del x
    gc.collect()
    assert node() is None


def test_what_a_gradient_does_not_depend_on_gets_zeros():
    x, y = leaf(2.0), leaf(3.0)
    (g,) = torch.autograd.grad(x * y, x, create_graph=True)  # it is y
    gx, gy = torch.autograd.grad(g, [x, y])
    assert (gx.tolist(), gy.tolist()) == ([0], [1])


def test_composed_ops_are_one_node():
    x, w = leaf(1.0, 2.0), torch.ones(2, 2)
    for y, name in (
        (x @ x, "Matmul"),
        (w @ x, "Matmul"),
        (torch.nn.functional.linear(x, w), "Linear"),
        (torch.einsum("i,i->", x, x), "Einsum"),
        (x.sum(0), "Sum"),
    ):
        assert y.grad_fn.name() == f"{name}Backward0"


def test_captured_tensors_may_be_written_to():
    total = torch.zeros(2)

    def f(x):
        with torch.no_grad():
            total.add_(x)
        return (total * x).sum()

    x = torch.tensor([1.0, 2.0])
    assert torch.func.grad(f)(x).tolist() == [1, 2]
    assert total.tolist() == [1, 2]
    total = torch.zeros(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        torch.func.jvp(lambda x: total.add_(x), (x,), (x,))


def test_writes_to_arguments_arrive_at_the_end():
    x, seen = torch.tensor([1.0, 2.0]), []

    def f(a):
        a.detach().mul_(3)
        seen.append(x.tolist())
        return a.sum()

    torch.func.grad(f)(x)
    assert (seen, x.tolist()) == ([[1, 2]], [3, 6])


def test_requires_grad_inside_transforms():
    def f(x):
        y = (x * 2).requires_grad_()
        return (y * x).sum()

    x = torch.tensor([1.0, 2.0])
    assert torch.func.grad(f)(x).tolist() == [4, 8]
    assert torch.func.vmap(f)(x).tolist() == [2, 8]


def test_detach_in_place_lets_go_of_every_level():
    def f(x):
        y = x * 3
        return (y.detach_() * x + x.data * x).sum()

    x = torch.tensor([1.0, 2.0])
    inner = torch.func.grad(f)
    assert inner(x).tolist() == [4, 8]
    assert torch.func.grad(lambda x: inner(x).sum())(x).tolist() == [0, 0]
    for write in (lambda x: x * x.data, lambda x: (x * 1).detach_()):
        with pytest.raises(RuntimeError, match=r"not allowed|Can't detach views in-place"):
            torch.func.vmap(write)(x)


def test_the_mapped_dimension_is_the_first():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            assert (in_dims, x.shape) == ((0,), (3, 2))
            return x * 2, 0

    strides = []

    def f(a):
        strides.append(a.stride())
        return Doubled.apply(a)

    assert torch.func.vmap(f, in_dims=1)(torch.ones(2, 3)).tolist() == [[2, 2]] * 3
    assert strides == [(1,)]


def test_results_of_transforms_are_no_views():
    def first(x):
        return x[:1]

    for run in (
        torch.func.vmap(lambda x: x.detach()),
        lambda x: torch.func.vjp(first, x)[0],
        lambda x: torch.func.jvp(first, (x,), (x,))[0],
    ):
        x = torch.ones(2, 2)
        run(x).zero_()
        assert x.tolist() == [[1, 1], [1, 1]]


def test_hooks_see_gradients_only():
    x = torch.ones(2, requires_grad=True)
    a, b = (x * 1).unbind(0)
    seen = []
    a.register_hook(seen.append)
    (b * 3).backward()
    assert seen == []
    assert x.grad.tolist() == [0.0, 3.0]


def test_backward_through_a_filled_expanded_view():
    x = torch.tensor([-3.0, 2.0], requires_grad=True)
    wide = (-x).expand(2, -1)
    wide.fill_(2.0)
    (wide * 3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_the_page_and_the_tests_agree():
    listed = re.findall(r"^Test: `(\w+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    titles = re.findall(r"^### ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    here = [
        n for n in globals() if n.startswith("test_") and n != "test_the_page_and_the_tests_agree"
    ]
    assert sorted(listed) == sorted(here)
    assert len(titles) == len(listed) == len(set(listed))
