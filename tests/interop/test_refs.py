"""JAX functions that write to a ``jax.Ref``: once for each call, with gradients and compiled."""

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch


def zeros():
    return jax.new_ref(jnp.zeros(3, jnp.float32))


def accumulate(x, ref):
    ref[...] += jax.lax.stop_gradient(x)
    return x * x


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jitted"])
@pytest.mark.parametrize("outside", [False, True], ids=["argument", "closure"])
def test_a_call_writes_once(compiled, outside):
    ref = zeros()
    op = torch.from_jax_function((lambda x: accumulate(x, ref)) if outside else accumulate)
    call = torch.jit(op) if compiled else op
    for i in range(1, 4):
        call(torch.ones(3), *([] if outside else [ref]))
        assert ref[...].tolist() == [i] * 3


@pytest.mark.parametrize("outside", [False, True], ids=["argument", "closure"])
def test_backward_does_not_write_again(outside):
    ref = zeros()
    op = torch.from_jax_function((lambda x: accumulate(x, ref)) if outside else accumulate)
    x = torch.full((3,), 3.0, requires_grad=True)
    op(x, *([] if outside else [ref])).sum().backward()
    assert ref[...].tolist() == [3.0] * 3
    assert x.grad.tolist() == [6.0] * 3


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jitted"])
def test_a_training_step_writes_once(compiled):
    ref, w = zeros(), torch.nn.Parameter(torch.ones(3))
    op, optimizer = torch.from_jax_function(accumulate), torch.optim.SGD([w], lr=0.25)

    def step():
        optimizer.zero_grad()
        op(w, ref).sum().backward()
        optimizer.step()

    call = torch.jit(step) if compiled else step
    for expected in (1.0, 1.5, 1.75):  # of w = 1, 1/2, 1/4
        call()
        assert ref[...].tolist() == [expected] * 3


def test_a_value_read_from_a_ref_is_the_latest():
    ref = zeros()
    call = torch.jit(lambda x, ref: x + torch.from_jax(ref[...]))
    for i in range(3):
        ref[...] = jnp.full(3, float(i), jnp.float32)
        assert call(torch.ones(3), ref).tolist() == [1.0 + i] * 3


def test_a_write_that_would_need_a_gradient_is_refused():
    def written(x, ref):
        ref[...] = x
        return x * x

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(Exception, match="differentiated value on a non-differentiated array ref"):
        torch.from_jax_function(written)(x, zeros()).sum().backward()


def test_a_partition_spec_is_a_plain_argument():
    P = jax.sharding.PartitionSpec
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))

    @torch.from_jax_function
    def placed(x, spec):
        place = jax.sharding.NamedSharding(mesh, spec)
        return jax.lax.with_sharding_constraint(x * 2, place)

    x = torch.ones(3, requires_grad=True)
    placed(x, P("x")).sum().backward()
    assert x.grad.tolist() == [2.0] * 3
    assert torch.jit(placed)(x.detach(), P(None)).tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="no_such_axis"):
        placed(x, P("no_such_axis"))
