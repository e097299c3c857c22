"""What code says to TorchScript changes nothing."""

import torchlike as torch


def test_decorators_give_the_function_back():
    def f():
        return 1

    jit = torch.jit
    for marked in (
        jit.ignore(f),
        jit.ignore(drop=True)(f),
        jit.ignore()(f),
        jit.unused(f),
        jit.export(f),
        jit.script_if_tracing(f),
    ):
        assert marked is f
    assert torch.jit.annotate(int, 3) == 3


def test_is_tracing_while_capturing():
    @torch.jit
    def f(x):
        return x + int(torch.jit.is_tracing()) + 10 * int(torch.jit.is_scripting())

    assert f(torch.zeros(1)) == 1
    assert not torch.jit.is_tracing()
