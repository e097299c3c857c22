"""A captured graph, cut in two and given to ``jax.jit``."""

import pytest

import torchlike as torch


def equations(function, avals):
    return function.trace(*avals).jaxpr.jaxpr.eqns


@pytest.mark.parametrize("differentiated", [False, True])
def test_a_program_is_traced_once(differentiated):
    # As one call, whose equations are those of the capture: traced anew they would stand apart.
    x = torch.ones(3, requires_grad=differentiated)
    compiled = torch.jit(lambda x: (x * 2).sin() + x.exp())
    result = compiled(x)
    program = compiled.latest
    (call,) = equations(program.forward, program.inputs.avals)
    assert len(call.params["jaxpr"].eqns) >= 3
    if differentiated:
        result.sum().backward()
        torch.testing.assert_close(x.grad, 2 * (x.detach() * 2).cos() + x.detach().exp())
