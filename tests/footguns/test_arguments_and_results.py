"""What goes in and comes out: aliasing, containers, views, structure, kinds of callables."""

import dataclasses
import functools
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


def agree(f, *calls, compiles=None):
    """``f`` eagerly and jitted on fresh arguments of each call; arguments are compared after."""
    jitted = torch.jit(f)
    for make in calls:
        a, b = make(), make()
        eager, got = f(*a), jitted(*b)
        assert plain(got) == plain(eager)
        assert plain(b) == plain(a)
    if compiles is not None:
        assert jitted.compiles == compiles
    return jitted


def plain(x):
    if isinstance(x, torch.Tensor):
        return (list(x.shape), str(x.dtype), x.stride(), x.requires_grad, repr(x.tolist()))
    if isinstance(x, dict):
        return type(x), [(k, plain(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x), [plain(v) for v in x]
    if dataclasses.is_dataclass(x):
        return type(x), [plain(v) for v in vars(x).values()]
    return x


def ones(*shape):
    return torch.ones(*shape)


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Output:
    loss: torch.Tensor
    extra: dict
    note: str = "fine"


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.arange(6.0).reshape(2, 3).t(),),
        lambda: (torch.arange(6.0)[1::2],),
        lambda: (torch.arange(3.0).expand(2, 3),),
        lambda: (torch.arange(12.0).reshape(3, 4)[1:, 2],),
        lambda: (torch.tensor(3.0),),
        lambda: (torch.empty(0, 3),),
        lambda: (torch.tensor([np.nan, np.inf, -np.inf, -0.0]),),
        lambda: (torch.tensor([2**62, -1]),),
        lambda: (torch.tensor([1e300], dtype=torch.float64),),
        lambda: (torch.arange(6.0).reshape(1, 2, 3, 1).to(memory_format=torch.channels_last),),
    ],
    ids=[
        "transposed",
        "strided",
        "expanded",
        "view",
        "0-dim",
        "empty",
        "nan",
        "int64",
        "float64",
        "channels_last",
    ],
)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2,
        lambda x: x + x.mean() if x.is_floating_point() else x + 1,
        lambda x: (x, x),
        lambda x: x.reshape(-1) * 1,
        lambda x: torch.cat([x.reshape(-1), x.reshape(-1)]),
    ],
    ids=["mul", "mean", "itself twice", "reshape", "cat"],
)
def test_arguments_of_every_layout(f, make):
    agree(f, make, make, compiles=1)


def test_the_same_tensor_twice_and_views_of_each_other():
    def f(a, b):
        a.add_(1)
        return a * 10 + b

    def shared():
        x = ones(2)
        return x, x

    def view_first():
        x = ones(4)
        return x[:2], x[1:3]

    def whole_and_view():
        x = ones(2)
        return x, x.view(2)

    agree(f, shared, lambda: (ones(2), ones(2)), view_first, whole_and_view, shared, view_first)


def test_in_place_on_an_argument_is_seen_by_the_caller():
    def f(x):
        x.mul_(3)
        x[0] = 7
        return x.sum()

    agree(f, lambda: (ones(3),), lambda: (ones(3),), compiles=1)


def test_in_place_on_a_view_of_an_argument():
    def f(x):
        x[1:].add_(5)
        x.t().mul_(2) if x.dim() > 1 else x.view(-1).mul_(2)

    agree(f, lambda: (ones(3),), lambda: (ones(2, 3),), lambda: (ones(3),))


def test_an_expanded_argument_written_in_place_is_refused_as_in_eager():
    def f(x):
        x.add_(1)

    x = torch.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="single memory location") as eager:
        f(x)
    with pytest.raises(RuntimeError, match="single memory location") as jitted:
        torch.jit(f)(x)
    assert type(eager.value) is type(jitted.value)


def test_returning_an_argument_gives_the_argument():
    f = torch.jit(lambda x, y: (y, x, x))
    for _ in range(2):
        a, b = ones(2), ones(2)
        got = f(a, b)
        assert got[0] is b
        assert got[1] is a
        assert got[2] is a


def test_returning_the_same_new_tensor_twice_shares_memory():
    def f(x):
        y = x * 2
        return y, y, y.view(-1)

    jitted = torch.jit(f)
    for _ in range(2):
        a, b, c = jitted(ones(2))
        a.add_(1)
        assert b.tolist() == c.tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_view_of_an_argument_as_result_shares_its_memory():
    f = torch.jit(lambda x: x[1:])
    for _ in range(4):
        x = ones(3)
        view = f(x)
        view.fill_(9)
        assert x.tolist() == [1, 9, 9]


def test_a_closure_tensor_as_result_is_that_tensor():
    w = ones(2)
    f = torch.jit(lambda x: w)
    assert f(ones(1)) is w
    assert f(ones(1)) is w


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {"b": x, "a": [x * 1, (x * 2, None)], "s": "text", "n": 3},
        lambda x: Pair(x * 1, [x * 2]),
        lambda x: OrderedDict([("z", x * 1), ("a", x * 2)]),
        lambda x: defaultdict(list, z=[x * 1]),
        lambda x: Output(x * 1, {"k": x * 2}),
        lambda x: [],
        lambda x: None,
        lambda x: "only a string",
        lambda x: (x.shape, x.dtype, x.device),
        lambda x: {1: x * 1, "one": x * 2, None: x * 3},
    ],
    ids=[
        "nested",
        "namedtuple",
        "OrderedDict",
        "defaultdict",
        "dataclass",
        "empty",
        "None",
        "string",
        "facts",
        "mixed keys",
    ],
)
def test_results_of_every_structure(f):
    agree(f, lambda: (ones(2),), lambda: (ones(2) * 3,), compiles=1)


def test_results_are_new_objects_at_each_call():
    f = torch.jit(lambda x: Output(x * 1, {"k": x * 2}))
    first, second = f(ones(1)), f(ones(1) * 5)
    assert first is not second
    assert first.loss.item() == 1
    assert second.extra["k"].item() == 10


def test_dictionaries_keep_their_order():
    def f(d):
        return torch.cat(list(d.values())), list(d)

    agree(f, lambda: ({"b": ones(1), "a": ones(1) * 2},), lambda: ({"a": ones(1), "b": ones(1)},))


def test_dictionaries_with_keys_that_cannot_be_sorted():
    agree(lambda d: d[1] + d["x"], lambda: ({1: ones(1), "x": ones(1)},))


def test_keyword_arguments_in_any_order():
    def f(x, a, b=1.0, **more):
        return x * a - b + sum(more.values())

    jitted = torch.jit(f)
    x = ones(1)
    for kwargs in ({"a": 2, "b": 3}, {"b": 3, "a": 2}, {"a": 3, "b": 2}, {"a": 2, "c": 5}):
        assert jitted(x, **kwargs).item() == f(x, **kwargs).item()


def test_keyword_arguments_are_seen_in_the_order_given():
    f = torch.jit(lambda **kw: torch.cat(list(kw.values())))
    assert f(b=ones(1), a=ones(1) * 2).tolist() == [1, 2]
    assert f(a=ones(1) * 2, b=ones(1)).tolist() == [2, 1]


def test_varargs_and_containers_of_arguments():
    def f(*xs, scale=(1.0, 2.0)):
        return sum(xs) * scale[1]

    agree(f, lambda: (ones(1),), lambda: (ones(1), ones(1)), lambda: (ones(1),))
    agree(lambda p: p.first + p.second[0], lambda: (Pair(ones(1), [ones(1)]),))


def test_a_container_changed_between_calls_is_another_argument():
    f = torch.jit(lambda xs: sum(xs))
    xs = [ones(1), ones(1)]
    assert f(xs).item() == 2
    xs.append(ones(1) * 5)
    assert f(xs).item() == 7
    xs[0] = 10.0
    assert f(xs).item() == 16


def test_a_module_as_argument_is_itself():
    model = torch.nn.Linear(2, 2)

    def f(m, x):
        m.weight.grad = None
        m(x).sum().backward()
        return m

    jitted = torch.jit(f)
    for _ in range(2):
        assert jitted(model, ones(1, 2)) is model
        assert model.weight.grad.tolist() == [[1, 1], [1, 1]]
    assert jitted.compiles == 2  # the first call found no gradient to read


def test_two_modules_as_arguments_are_two_programs():
    a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    f = torch.jit(lambda m, x: m(x))
    x = ones(1, 2)
    for m in (a, b, a, b):
        np.testing.assert_allclose(f(m, x).detach(), m(x).detach(), rtol=1e-6)
    assert f.compiles == 2


class Model:
    calls = ()

    def __init__(self, k):
        self.k = k

    @torch.jit
    def decorated(self, x):
        return x * self.k

    @staticmethod
    @torch.jit
    def static(x):
        return x * 2

    @classmethod
    def of_class(cls, x):
        return x * 2 + len(cls.calls)

    def method(self, x):
        return x * self.k

    __call__ = method


def test_bound_methods():
    a, b = Model(2.0), Model(3.0)
    f, g = torch.jit(a.method), torch.jit(b.method)
    assert (f(ones(1)).item(), g(ones(1)).item()) == (2, 3)
    a.k = 5.0
    assert (f(ones(1)).item(), g(ones(1)).item()) == (5, 3)


def test_a_jitted_method_is_one_program_for_each_instance():
    a, b = Model(2.0), Model(3.0)
    assert [m.decorated(ones(1)).item() for m in (a, b, a, b)] == [2, 3, 2, 3]
    a.k = 7.0
    assert [m.decorated(ones(1)).item() for m in (a, b)] == [7, 3]


def test_static_and_class_methods_callables_partials_and_lambdas():
    assert Model.static(ones(1)).item() == 2
    f = torch.jit(Model.of_class)
    assert f(ones(1)).item() == 2
    Model.calls = (1,)
    assert f(ones(1)).item() == 3
    Model.calls = ()
    m = Model(2.0)
    called = torch.jit(m)
    assert called(ones(1)).item() == 2
    m.k = 3.0
    assert called(ones(1)).item() == 3
    part = torch.jit(functools.partial(lambda k, x: x * k, 4.0))
    assert part(ones(1)).item() == 4


def test_a_bound_method_as_argument():
    a, b = Model(2.0), Model(3.0)
    f = torch.jit(lambda fn, x: fn(x))
    assert [f(m.method, ones(1)).item() for m in (a, b, a)] == [2, 3, 2]
    a.k = 9.0
    assert f(a.method, ones(1)).item() == 9


def test_a_function_as_argument():
    k = 2.0

    def double(x):
        return x * k

    f = torch.jit(lambda fn, x: fn(x))
    assert f(double, ones(1)).item() == 2
    k = 3.0
    assert f(double, ones(1)).item() == 3
    assert f(torch.relu, ones(1)).item() == 1


def test_recursion():
    depth = 3

    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2

    f = torch.jit(lambda x: power(x, depth))
    assert f(ones(1)).item() == 8
    depth = 4
    assert f(ones(1)).item() == 16


def test_a_jitted_function_that_calls_itself():
    @torch.jit
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2

    assert power(ones(1), 3).item() == 8
    assert power(ones(1), 4).item() == 16


def test_nested_jit_sees_the_inner_functions_values():
    k = 2.0
    inner = torch.jit(lambda x: x * k)
    outer = torch.jit(lambda x: inner(x) + 1)
    assert outer(ones(1)).item() == 3
    k = 3.0
    assert outer(ones(1)).item() == 4
    assert inner(ones(1)).item() == 3


def test_a_generator_as_result_is_refused():
    def f(x):
        yield x * 2

    with pytest.raises(JitCaptureError, match="generator"):
        torch.jit(f)(ones(1))


def test_numpy_arrays_as_arguments_are_refused():
    with pytest.raises(TypeError, match="from_numpy"):
        torch.jit(lambda x: x)({"a": np.ones(2)})


def test_a_user_attribute_of_an_argument():
    f = torch.jit(lambda x: x * x.scale)
    for scale in (2.0, 3.0):
        x = ones(1)
        x.scale = scale
        assert f(x).item() == scale


def test_tensor_subclasses_are_kept():
    p = torch.nn.Parameter(ones(2))
    f = torch.jit(lambda x: (x, x * 2))
    same, doubled = f(p)
    assert same is p
    assert type(doubled) is torch.Tensor
    assert doubled.requires_grad


def test_a_result_on_the_meta_device_is_refused_in_our_words():
    """It reached JAX, which does not know such a value; within the function it may be made."""
    x = torch.ones(2)
    assert torch.jit(lambda x: x + torch.zeros(2, device="meta").numel())(x).tolist() == [3.0, 3.0]
    with pytest.raises(JitCaptureError, match="a result on the meta device cannot be compiled"):
        torch.jit(lambda x: (x, torch.zeros(2, device="meta")))(x)
    held = torch.zeros(2, device="meta")
    with pytest.raises(JitCaptureError, match="a result on the meta device"):
        torch.jit(lambda x: held.add_(x.numel()))(x)
    assert held.is_meta
