"""User-defined operators: under jit and transforms, in colliding namespaces, refusals."""

import pytest

import torchlike as torch
from torchlike import Tensor
from torchlike.library import Library, custom_op, define, opcheck, register_autograd
from torchlike.testing import assert_close


@custom_op("tests::cube", mutates_args=())
def cube(x: Tensor, k: float = 1.0) -> Tensor:
    """``k * x³``."""
    return k * x * x * x


@cube.register_fake
def _(x, k=1.0):
    return torch.empty_like(x)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.k = inputs[1]


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 3 * ctx.k * x * x, None


cube.register_autograd(backward, setup_context=keep)


@pytest.mark.parametrize("call", [cube, torch.ops.tests.cube, torch.ops.tests.cube.default])
def test_eager_and_compiled(call):
    def step(x):
        y = call(x, 2.0)
        y.sum().backward()
        return y.detach()

    results = []
    for fn in (step, torch.jit(step)):
        x = torch.tensor([1.0, -2.0], requires_grad=True)
        results.append((fn(x), x.grad))
    assert_close(results[0][0], torch.tensor([2.0, -16.0]), check_stride=False)
    assert_close(results[0][1], torch.tensor([6.0, 24.0]))
    for eager, compiled in zip(*results, strict=True):
        assert_close(eager, compiled)


def test_it_is_one_node():
    y = cube(torch.ones(2, requires_grad=True))
    assert y.grad_fn.name() == "GeneratedBackwardFor_tests_cube_defaultBackward"
    assert cube.__doc__ == torch.ops.tests.cube.__doc__ == "``k * x³``."


def test_double_backward_through_the_formula():
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(cube(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12.0, 12.0)


def test_transforms_map_kernel_and_formula():
    x = torch.arange(6.0).reshape(2, 3)
    assert_close(torch.vmap(cube)(x), x**3)
    gradients = torch.vmap(torch.func.grad(lambda v: cube(v).sum()))(x)
    assert_close(gradients, 3 * x**2)
    assert_close(torch.func.grad(lambda v: torch.vmap(cube)(v).sum())(x), 3 * x**2)


def test_the_body_is_not_recorded():
    weight = torch.ones(2, requires_grad=True)

    @custom_op("tests::reads_a_weight", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x * weight

    assert not op(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not cube(weight).requires_grad


def test_a_library_without_formula_is_differentiated_through_its_kernel():
    lib = Library("tests_lib", "FRAGMENT")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    torch.ops.tests_lib.twice(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
    register_autograd("tests_lib::twice", lambda ctx, g: g * 5)
    x.grad = None
    torch.ops.tests_lib.twice(x).sum().backward()
    assert x.grad.tolist() == [5, 5]
    lib._destroy()
    with pytest.raises(AttributeError, match="'tests_lib' object has no attribute 'twice'"):
        _ = torch.ops.tests_lib.twice


def test_overloads_are_chosen_by_their_arguments():
    lib = Library("tests_overloads", "DEF")
    lib.define("add(Tensor x, Tensor y) -> Tensor")
    lib.define("add.number(Tensor x, int y) -> Tensor")
    lib.impl("add", lambda x, y: x + y)
    lib.impl("add.number", lambda x, y: x + 10 * y)
    packet = torch.ops.tests_overloads.add
    assert packet.overloads() == ["default", "number"]
    assert packet(torch.ones(1), torch.ones(1)).item() == 2
    assert packet(torch.ones(1), 1).item() == packet.number(torch.ones(1), 1).item() == 11
    lib._destroy()


def test_namespaces_called_like_families_of_ops():
    lib = Library("loss", "FRAGMENT")
    lib.define("mine(Tensor x) -> Tensor")
    lib.impl("mine", lambda x: x + 1)
    assert torch.ops.loss.mine(torch.ones(1)).item() == 2
    lib.define("cross_entropy(Tensor x) -> Tensor")
    assert torch.ops.loss.cross_entropy is not torch.nn.functional.cross_entropy
    lib._destroy()
    assert not hasattr(torch.ops.loss, "mine")


def test_unknown_names():
    assert (
        repr(torch.ops.nobody_has_this) == "<module 'torch.ops.nobody_has_this' from 'torch.ops'>"
    )
    assert not hasattr(torch.ops.nobody_has_this, "op")
    assert not hasattr(torch.ops, "_private")


def test_a_disabled_kernel():
    @custom_op("tests::switched", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return x + 1

    op.register_kernel("cpu", lambda x: x + 2)
    assert op(torch.zeros(1)).item() == 2
    with op.set_kernel_enabled("cpu", False):
        assert op(torch.zeros(1)).item() == 1
    assert op(torch.zeros(1)).item() == 2


def test_opcheck_finds_code_that_does_not_compile():
    @custom_op("tests::reads_values", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() * 2)

    op.register_fake(torch.empty_like)
    found = opcheck(op, (torch.ones(2),), raise_exception=False)
    assert [k for k, v in found.items() if v != "SUCCESS"] == ["test_aot_dispatch_dynamic"]
    with pytest.raises(ValueError, match="test_utils"):
        opcheck(op, (torch.ones(2),), test_utils="all")


@pytest.mark.parametrize("name", ["triton_op", "wrap_triton", "get_kernel"])
def test_what_there_is_not(name):
    with pytest.raises(NotImplementedError, match=f"torch.library.{name}.*Use instead"):
        getattr(torch.library, name)()


def test_refusals():
    for name in ("nons", "a::b::c", "::x", "a::"):
        with pytest.raises(ValueError, match="namespace::name"):
            custom_op(name, abs, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="namespace of your own"):
        Library("aten", "IMPL")
    lib = Library("tests_keys", "FRAGMENT")
    lib.define("op(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="dispatch key Functionalize"):
        lib.impl("op", abs, "Functionalize")
    lib._destroy()
    for schema in ("(Tensor x", "(Widget x) -> Tensor", "(Tensor x=oops) -> Tensor"):
        with pytest.raises(RuntimeError, match="schema"):
            define("tests_keys::bad", schema)
    define("tests_keys::named", "(*, Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor"):
        register_autograd("tests_keys::named", backward)
