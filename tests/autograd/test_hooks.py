"""Hooks on tensors and nodes: order, replacement, removal; retain_grad."""

import pytest

import torchlike as torch


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def test_hooks_run_in_the_order_of_pytorch():
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append("first"))
    y.grad_fn.register_prehook(lambda gs: seen.append("before the node"))
    y.grad_fn.register_hook(lambda gs, outs: seen.append("after the node"))
    y.register_hook(lambda g: seen.append("second"))
    x.register_hook(lambda g: seen.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    y.sum().backward()
    assert seen == ["first", "second", "before the node", "after the node", "leaf", [2, 2]]


def test_what_a_hook_returns_replaces_the_gradient():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 3).sum().backward()
    assert x.grad.item() == 40
    y = x * 3
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    y.grad_fn.register_hook(lambda gs, outs: tuple(None if g is None else g * 5 for g in gs))
    assert torch.autograd.grad(y.sum(), x)[0].item() == (30 + 1) * 10


def test_removal():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 10)
    with x.register_hook(lambda g: g + 1):
        x.sum().backward()
    assert x.grad.item() == 11
    handle.remove()
    handle.remove()
    x.grad = None
    x.sum().backward()
    assert x.grad.item() == 1


def test_a_hook_may_remove_itself_and_add_others():
    x = leaf(1.0)
    seen = []

    def once(g):
        seen.append("once")
        handle.remove()
        x.register_hook(lambda g: seen.append("later"))

    handle = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert seen == ["once", "later"]


def test_leaf_hooks_outlive_graphs_and_are_kept_by_detach():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 2)
    for total in (2, 4):
        (x * 1).sum().backward()
        assert x.grad.item() == total


def test_hooks_see_tensors_that_can_be_differentiated():
    x = leaf(3.0)
    kept = []
    y = x * x
    x.register_hook(kept.append)
    y.backward(torch.ones(1), create_graph=True)
    (second,) = torch.autograd.grad(kept[0], x)
    assert second.item() == 2


def test_retain_grad_follows_the_tensor_through_writes():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    assert y.retains_grad
    y.mul_(5)
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    assert y.grad.tolist() == [3, 3]
    assert x.grad.tolist() == [60, 60]


def test_retain_grad_of_a_view_and_of_a_dead_tensor():
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y[1:]
    v.retain_grad()
    (y * 1).retain_grad()  # nobody holds it
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3]


@pytest.mark.parametrize(
    ("hook", "error", "words"),
    [
        (lambda g: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: torch.ones(5), RuntimeError, "has changed the size of value"),
    ],
)
def test_wrong_results(hook, error, words):
    x = leaf(1.0)
    x.register_hook(hook)
    with pytest.raises(error, match=words):
        x.sum().backward()
    assert torch.is_grad_enabled()


def test_an_error_in_a_hook_reaches_the_user_and_leaves_grad_mode_alone():
    x = leaf(1.0)

    def broken(g):
        raise KeyError("mine")

    x.register_hook(broken)
    with pytest.raises(KeyError, match="mine"):
        x.sum().backward()
    assert torch.is_grad_enabled()


def test_refusals():
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.ones(1).register_hook(lambda g: g)
    with pytest.raises(RuntimeError, match="requires_grad=False"):
        torch.ones(1).retain_grad()
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(lambda t: None)


def test_node_hooks_see_a_gradient_for_each_operand():
    x, seen = torch.ones(2, requires_grad=True), []
    for y in (x * 3, torch.ones(2) * x, x * x, x.exp()):
        y.grad_fn.register_hook(
            lambda inputs, outputs: seen.append([g is not None for g in inputs])
        )
        y.sum().backward()
    assert seen == [[True, False], [False, True], [True, True], [True]]


def test_a_node_hook_may_replace_the_gradients():
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 10, inputs[1]))
    y.sum().backward()
    assert x.grad.tolist() == [30, 30]


def test_leaves_get_their_gradients_in_the_order_of_the_operands():
    a, b, seen = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True), []
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b"))
    (a * b).backward()
    (b * a).backward()
    assert seen == ["a", "b", "b", "a"]


def test_retain_grad_follows_a_view_whose_base_was_written_to():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    v.sum().backward()
    assert (v.grad.tolist(), x.grad.tolist()) == ([1, 1], [6, 6, 0])


def test_hooks_of_the_node_that_accumulates():
    x, seen = torch.ones(2, requires_grad=True), []
    node = x.view_as(x).grad_fn.next_functions[0][0]
    node.register_prehook(lambda outputs: seen.append(("before", x.grad, outputs[0].tolist())))
    node.register_hook(
        lambda inputs, outputs: seen.append((x.grad.tolist(), inputs, outputs[0].tolist()))
    )
    (x * 3).sum().backward()
    assert seen == [("before", None, [3, 3]), ([3, 3], (), [3, 3])]


def test_a_post_accumulate_hook_gives_nothing_back():
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="post accumulate grad hooks should return None"):
        (x * 2).sum().backward()
