"""What `functional_call` puts in the place of what a module has, against PyTorch."""

import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")


def scale(t, x):
    """A module that reads `x`, its plain attribute unless it is None."""

    class Scale(t.nn.Module):
        def __init__(self):
            super().__init__()
            if x is not None:
                self.x = x

        def forward(self, inp):
            return inp * self.x

    return Scale()


#: What the module has, and what it is given.
CASES = {
    "a plain attribute": lambda t: (t.ones(1), {"x": t.full((1,), 3.0)}),
    "nothing of that name": lambda t: (None, {"x": t.full((1,), 3.0)}),
    "no tensor": lambda t: (3, {"x": t.ones(1)}),
    "given no tensor": lambda t: (t.ones(1), {"x": 3}),
    "no such submodule": lambda t: (t.ones(1), {"y.x": t.ones(1)}),
    "no submodule": lambda t: (t.ones(1), {"x.y": t.ones(1)}),
    "no name": lambda t: (t.ones(1), {"": t.ones(1)}),
    "strict": lambda t: (t.ones(1), {"x": t.ones(1)}),
}


@pytest.mark.parametrize("case", CASES)
def test_names_that_are_not_registered(case):
    def call(t):
        x, given = CASES[case](t)
        module = scale(t, x)
        strict = case == "strict"
        out = t.func.functional_call(module, given, t.full((1,), 2.0), strict=strict)
        assert vars(module).get("x") is x
        return out

    compare(call, exact=True)


def test_a_parameter_in_the_place_of_a_plain_attribute():
    """PyTorch leaves the attribute among the parameters."""
    held, given = torchlike.ones(1), torchlike.nn.Parameter(torchlike.full((1,), 3.0))
    module = scale(torchlike, held)
    out = torchlike.func.functional_call(module, {"x": given}, torchlike.ones(1))
    out.backward()
    assert given.grad.tolist() == [1.0]
    assert module.x is held
    assert not list(module.parameters())


def test_what_the_module_binds_is_given_back():
    def call(t):
        class Counting(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("bound", t.zeros(1))
                self.register_buffer("written", t.zeros(1))
                self.plain = t.zeros(1)

            def forward(self, x):
                self.bound = self.bound + x
                self.written += x
                self.plain = self.plain + x
                return x

        module = Counting()
        given = {name: t.full((1,), 5.0) for name in ("bound", "written", "plain")}
        t.func.functional_call(module, given, t.ones(1))
        return (*given.values(), module.bound, module.written, module.plain)

    compare(call, exact=True, words=0)


def test_a_module_that_holds_itself():
    def call(t):
        module = t.nn.Linear(1, 1)
        module.around = t.nn.Module()
        module.around.linear = module
        given = {"around.linear.weight": t.full((1, 1), 3.0), "bias": t.zeros(1)}
        return t.func.functional_call(module, given, t.ones(1, 1), tie_weights=False)

    compare(call, exact=True, words=0)


def test_plain_attributes_in_a_compiled_function():
    held = torchlike.ones(1)
    module = scale(torchlike, held)
    call = torchlike.jit(lambda w, x: torchlike.func.functional_call(module, {"x": w}, x))
    for w in (3.0, 4.0):
        assert call(torchlike.full((1,), w), torchlike.full((1,), 2.0)).tolist() == [2 * w]
        assert module.x is held
