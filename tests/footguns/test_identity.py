"""Which object an argument is: a body that asks finds what it finds eagerly.

Arguments reach a capture as stand-ins. Where code compares objects, an argument that it can also
reach by itself (a global, an attribute, an element) is captured as itself, and calls with that
tensor and with others are different programs.
"""

import weakref

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

GLOBAL = torch.ones(2)


def is_global(x):
    return x * 2 if x is GLOBAL else x * 3


def is_not_global(x):
    return x * 3 if x is not GLOBAL else x * 2


both = pytest.mark.parametrize("compiler", [torch.jit, torch.compile], ids=["jit", "compile"])


def calls(compiler, f, *arguments):
    """Results of the compiled function, which are the eager ones; and how often it compiled."""
    compiled = compiler(f)
    for given in arguments * 2:
        assert compiled(*given).tolist() == f(*given).tolist()
    return compiled.compiles


@both
@pytest.mark.parametrize("f", [is_global, is_not_global])
def test_a_global(compiler, f):
    assert calls(compiler, f, (GLOBAL,), (torch.ones(2),)) == 2
    assert calls(compiler, f, (torch.ones(2),), (torch.full((2,), 5.0),), (GLOBAL,)) == 2


@both
def test_the_same_memory_is_not_the_same_object(compiler):
    assert calls(compiler, is_global, (GLOBAL,), (GLOBAL.detach(),)) == 2


@both
def test_an_attribute(compiler):
    class Holder:
        def __init__(self):
            self.held = torch.ones(2)

    def f(x, holder):
        return x * 2 if x is holder.held else x * 3

    holder = Holder()
    assert calls(compiler, f, (torch.ones(2), holder), (holder.held, holder)) == 2
    compiled = compiler(f)
    former = holder.held
    assert compiled(former, holder).tolist() == [2.0, 2.0]
    holder.held = torch.zeros(2)
    assert compiled(former, holder).tolist() == [3.0, 3.0]


@both
def test_one_of_a_modules_parameters(compiler):
    net = torch.nn.Linear(2, 2).requires_grad_(False)

    def f(x):
        return x * 2 if any(x is p for p in net.parameters()) else x * 3

    assert calls(compiler, f, (net.weight,), (torch.ones(2, 2),)) == 2


@both
def test_an_element_of_a_list(compiler):
    known = [torch.zeros(2), torch.ones(2)]

    def f(x):
        return x * sum(i + 1 for i, t in enumerate(known) if t is x)

    assert calls(compiler, f, *((t,) for t in known), (torch.ones(2),)) == 3


@both
def test_what_a_module_was_last_called_with(compiler):
    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            again = x is self.last
            self.last = x
            return x * (0 if again else 2)

    a, b = torch.ones(1), torch.ones(1)
    net = Last()
    compiled = compiler(net)
    found = [compiled(x).item() for x in (a, a, b, b, a, a, a)]
    assert found == [2, 0, 2, 0, 2, 0, 0]
    assert net.last is a


@both
@pytest.mark.parametrize("look", ["get", "in", "index"])
def test_a_key(compiler, look):
    known, other = torch.ones(2), torch.ones(2)
    table = {known: 5, other: 7}

    def f(x):
        if look == "get":
            return x * table.get(x, 3)
        if look == "in":
            return x * 2 if x in table else x * 3
        return x * table[x]

    assert calls(compiler, f, (known,), (other,)) == 2


@both
def test_a_reference(compiler):
    def f(reference, x):
        return x * 2 if reference() is x else x * 3

    x = torch.ones(2)
    reference = weakref.ref(x)
    assert calls(compiler, f, (reference, x), (reference, torch.ones(2))) == 2


@both
def test_what_is_not_asked_of_is_no_guard(compiler):
    """A tensor that the code can reach is one argument among others where nothing is compared."""
    data = [torch.ones(2), torch.zeros(2), torch.ones(2)]

    def f(x):
        return x * len(data)

    assert calls(compiler, f, *((x,) for x in data)) == 1


@both
def test_comparisons_with_constants_are_none(compiler):
    data = [torch.ones(2), torch.zeros(2)]
    options = {"scale": 2}

    def f(x, y=None):
        scale = options["scale"] if "scale" in options else len(data)
        return x * scale if y is None else y

    assert calls(compiler, f, *((x,) for x in data)) == 1


@both
def test_two_arguments(compiler):
    def f(x, y):
        return x * 2 if x is y else x * 3

    x = torch.ones(2)
    assert calls(compiler, f, (x, x), (x, torch.ones(2))) == 2


def test_state_by_parameter_in_a_training_step():
    p = torch.nn.Parameter(torch.ones(2))
    rates = {p: 0.5}

    def step(q):
        q.grad = None
        (q * q).sum().backward()
        with torch.no_grad():
            q -= rates[q] * q.grad

    compiled = torch.jit(step)
    for _ in range(3):
        compiled(p)
    assert p.tolist() == [0.0, 0.0]
    assert compiled.compiles == 1


@both
def test_a_new_leaf_that_nothing_else_depends_on(compiler):
    @compiler
    def f(x):
        leaf = torch.ones(2, requires_grad=True)
        (leaf * 4).sum().backward()
        return leaf, leaf.grad, x * 2

    for _ in range(2):
        leaf, grad, _ = f(torch.ones(2, requires_grad=True))
        assert leaf.requires_grad
        assert grad.tolist() == [4.0, 4.0]
    assert f.compiles == 1


def test_how_often_an_argument_was_written():
    def f(x):
        return x * x._version

    x = torch.ones(2)
    x.add_(1)
    with pytest.raises(JitCaptureError, match="_version of a tensor from outside"):
        torch.jit(f)(x)
    compiled = torch.compile(f)
    with pytest.warns(RuntimeWarning, match="_version of a tensor from outside"):
        assert compiled(x).tolist() == [2.0, 2.0]
    x.add_(1)
    assert compiled(x).tolist() == [6.0, 6.0]


@both
def test_how_often_the_body_wrote(compiler):
    def f(x):
        y = x * 2
        before = y._version
        y.add_(1)
        return y * (y._version - before)

    assert calls(compiler, f, (torch.ones(2),)) == 1


@pytest.mark.parametrize("ask", [id, hash])
def test_the_number_of_an_argument(ask):
    known = torch.ones(2)
    table = {ask(known): 5}

    def by_id(x):
        return x * table.get(id(x), 3)

    def by_hash(x):
        return x * table.get(hash(x), 3)

    f = by_id if ask is id else by_hash
    with pytest.raises(JitCaptureError, match=rf"{ask.__name__}\(x\) of an argument"):
        torch.jit(f)(known)
    compiled = torch.compile(f)
    with pytest.warns(RuntimeWarning, match="of an argument cannot be compiled"):
        assert compiled(known).tolist() == [5.0, 5.0]
    assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]


@both
def test_the_number_of_an_attribute_named_as_an_argument(compiler):
    class Holder:
        x = object()

    holder = Holder()
    numbers = {id(Holder.x): 4}

    def f(x):
        return x * numbers[id(holder.x)]

    assert calls(compiler, f, (torch.ones(2),), (torch.zeros(2),)) == 1


@both
def test_the_number_of_something_else(compiler):
    class Layer:
        pass

    layer = Layer()
    numbers = {id(layer): 4}

    def f(x):
        return x * numbers[id(layer)]

    assert calls(compiler, f, (torch.ones(2),), (torch.zeros(2),)) == 1
