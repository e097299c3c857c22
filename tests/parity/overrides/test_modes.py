"""What modes see, in which order, and foreign classes, as in PyTorch."""

import pytest

import torchlike
import torchlike.overrides
from torchlike._core import overrides

torch = pytest.importorskip("torch")

from protocol_cases import FUNCTIONAL, TORCH, resolved, shown  # noqa: E402

BOTH = (torch, torchlike)


@pytest.fixture(autouse=True)
def _awake():
    overrides.enable()


def mode_of(t, log, label="mode", passes=True):
    class Mode(t.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((label, resolved(t, func), shown(t, kwargs or {})))
            return func(*args, **(kwargs or {})) if passes else NotImplemented

    return Mode()


MAKERS = {
    "zeros": lambda t: t.zeros(2),
    "ones": lambda t: t.ones(2, 2, dtype=t.float64),
    "full": lambda t: t.full((2,), 3.0),
    "arange": lambda t: t.arange(3),
    "rand": lambda t: t.rand(2),
    "randn": lambda t: t.randn(2),
    "randint": lambda t: t.randint(0, 3, (2,)),
    "tensor": lambda t: t.tensor([1.0]),
    "as_tensor": lambda t: t.as_tensor([1.0]),
    "eye": lambda t: t.eye(2),
    "linspace": lambda t: t.linspace(0, 1, 3),
    "empty": lambda t: t.empty(0),
    "randperm": lambda t: t.randperm(3),
    "tril_indices": lambda t: t.tril_indices(2, 2),
    "scalar_tensor": lambda t: t.scalar_tensor(1.0),
    "hann_window": lambda t: t.hann_window(3),
}


@pytest.mark.parametrize("name", MAKERS)
def test_modes_see_what_makes_tensors(name):
    seen = []
    for t in BOTH:
        log = []
        with mode_of(t, log):
            MAKERS[name](t)
        seen.append(log)
    assert seen[0] == seen[1]
    assert seen[1]


PLAIN = {
    **{
        f"F.{n}": (lambda t, x, f=f: f(t.nn.functional, x))
        for n, f in list(FUNCTIONAL.items())[::3]
    },
    **{f"torch {n}": f for n, f in list(TORCH.items())[::3] if n != "autograd.grad"},
    "x + 1": lambda t, x: x + 1,
    "x.shape": lambda t, x: x.shape,
    "x[0]": lambda t, x: x[0],
    "x.sum().item()": lambda t, x: x.sum().item(),
    "x.T": lambda t, x: x.T,
    "len": lambda t, x: len(x),
    "relu": lambda t, x: t.nn.ReLU()(x),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (2,)),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_modes_see_calls_on_plain_tensors_from_the_innermost_out(name, depth):
    seen = []
    for t in BOTH:
        log = []
        x = t.tensor([[1.0, 2.0], [3.0, 5.0]])
        with mode_of(t, log, "outer"):
            if depth > 1:
                with mode_of(t, log, "middle"):
                    if depth > 2:
                        with mode_of(t, log, "inner"):
                            PLAIN[name](t, x)
                    else:
                        PLAIN[name](t, x)
            else:
                PLAIN[name](t, x)
        seen.append(log)
    assert seen[1] == seen[0]
    assert len({label for label, *_ in seen[1]}) == (depth if seen[1] else 0)


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).split("0x")[0].replace("torchlike", "torch")


def declining(t):
    class Declining(t.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    return t.ones(2, 2).as_subclass(Declining)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.add(x, 1),
        lambda t, x: t.nn.functional.relu(x),
        lambda t, x: x.shape,
        lambda t, x: x + 1,
        lambda t, x: 1 - x,
        lambda t, x: x == 1,
        lambda t, x: x.sum(),
        lambda t, x: x @ x,
        lambda t, x: t.einsum("ij->i", x),
        lambda t, x: t.einsum("ij,jk->ik", [x, x.T]),
        lambda t, x: t.einsum(x, [0, 1], [0]),
        lambda t, x: x.split(1),
    ],
)
def test_what_all_decline_is_an_error(call):
    def said(t):
        found = outcome(lambda: call(t, declining(t)))
        return (found[0], found[1].split("<class")[0]) if isinstance(found, tuple) else found

    assert said(torchlike) == said(torch)


def test_a_mode_that_declines_leaves_it_to_classes():
    def seen(t):
        log = []

        class Asked(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                log.append(resolved(t, func))
                return "class"

        x = t.ones(2).as_subclass(Asked)
        with mode_of(t, log, passes=False):
            return t.add(x, 1), [entry if isinstance(entry, str) else entry[:2] for entry in log]

    assert seen(torchlike) == seen(torch)


def test_subclasses_are_asked_before_their_bases():
    def seen(t):
        log = []

        class Base(t.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                log.append((cls.__name__, [k.__name__ for k in types]))
                return NotImplemented

        class Derived(Base):
            pass

        class Other(Base):
            pass

        b, d, o = (t.ones(2).as_subclass(c) for c in (Base, Derived, Other))
        for args in ((b, d), (d, b), (o, d), (b, o, d)):
            outcome(lambda args=args: t.where(*args) if len(args) == 3 else t.add(*args))
        return log

    assert seen(torchlike) == seen(torch)


def test_objects_that_are_no_tensors():
    def seen(t):
        class Foreign:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return (
                    resolved(t, func),
                    [k.__name__ for k in types],
                    len(args),
                    sorted(kwargs or {}),
                )

        f, x = Foreign(), t.ones(2)
        F = t.nn.functional
        return [
            t.add(f, 1),
            t.add(x, f),
            x + f,
            t.cat([x, f]),
            t.split(f, 1),
            F.relu(f),
            F.gelu(f),
            F.cross_entropy(f, f),
            t.sum(f, dim=0),
            t.linalg.det(f),
            t.fft.fft(f),
            x.mul(f),
            x.add_(f),
            t.special.expm1(f),
            F.conv2d(f, f),
            t.einsum("i->i", f),
            t.einsum("i,j->ij", [x, f]),
            t.meshgrid(f, f, indexing="ij"),
            t.stack([f, f]),
            F.dropout(f),
            t.matmul(f, x),
            t.where(x > 0, f, x),
            F.pad(f, (1, 1)),
        ]

    assert seen(torchlike) == seen(torch)


def test_switching_it_off():
    def seen(t):
        class Kept(t.Tensor):
            pass

        x = t.ones(2).as_subclass(Kept)
        log = []
        with t._C.DisableTorchFunctionSubclass(), mode_of(t, log):
            first = type(x + 1).__name__
        with t._C.DisableTorchFunction(), mode_of(t, log):
            second = type(x + 1).__name__
        return first, second, log, t._C._is_torch_function_enabled()

    assert seen(torchlike) == seen(torch)


def test_a_mode_ends_with_an_exception():
    for t in BOTH:
        with pytest.raises(ZeroDivisionError), mode_of(t, []):
            raise ZeroDivisionError
        assert t.overrides._get_current_function_mode_stack() == []


def test_calling_itself_without_super_recurs():
    class Endless(torchlike.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError):
        torchlike.ones(2).as_subclass(Endless) + 1


def test_jitted_functions_run_eagerly_under_a_mode():
    double = torchlike.jit(lambda x: torchlike.mul(x, 2))
    x = torchlike.ones(2)
    for _ in range(3):
        double(x)
    log = []
    with mode_of(torchlike, log):
        assert double(x).tolist() == [2, 2]
    assert ("mode", "torch.mul", {}) in log


def test_helpers_of_overrides():
    def seen(t):
        o = t.overrides
        return (
            o.is_tensor_method_or_property(t.Tensor.add),
            o.is_tensor_method_or_property(t.add),
            o.is_tensor_method_or_property(t.Tensor.shape.__get__),
            o.is_tensor_like(t.ones(1)),
            o.is_tensor_like(1),
            o.resolve_name(t.Tensor.add),
            o.resolve_name(t.nn.functional.relu),
            o.resolve_name(t.Tensor.shape.__get__),
            o.resolve_name(t.linalg.det),
            o.resolve_name(t.special.erf),
            o.resolve_name(t.split),
            o.has_torch_function((t.ones(1),)),
            t.Tensor.add in o.get_overridable_functions()[t.Tensor],
            t.add in o.get_overridable_functions()[t],
            t.zeros in o.get_ignored_functions(),
            t.Tensor.grad.__get__ in o.get_default_nowrap_functions(),
            o.get_testing_overrides()[t.add](1, 2),
            t.add is t.Tensor.add,
            t.mul is t.multiply,
        )

    assert seen(torchlike) == seen(torch)


def test_wrap_torch_function():
    def seen(t):
        class Foreign:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func is mine

        @t.overrides.wrap_torch_function(lambda x: (x,))
        def mine(x):
            return "own"

        return mine(1), mine(Foreign())

    assert seen(torchlike) == seen(torch)


def test_a_mode_that_leaves_from_its_own_handler_is_refused():
    def said(t):
        class Leaves(t.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.__exit__(None, None, None)

        x = t.ones(2)
        with Leaves(), pytest.raises(RuntimeError) as info:
            t.add(x, 1)
        return str(info.value), float(t.add(x, 1)[0])

    assert said(torchlike) == said(torch)


def test_arguments_by_position_are_the_signatures_though_another_order_is_passed_on():
    seen = []
    for t in BOTH:
        log = []
        q, square, bias = t.zeros(2, 1, 4), t.zeros(4, 4), t.zeros(4)
        first = (q, q, q, 4, 2, t.zeros(12, 4), t.zeros(12), None, None, False, 0.0, square, bias)
        rest = (False, None, True, None, True, square, square, square)
        with mode_of(t, log, passes=False), pytest.raises(TypeError):
            t.nn.functional.multi_head_attention_forward(*first, *rest)
        seen.append(log)
    assert seen[0] == seen[1]
    assert "'use_separate_proj_weight': True" in str(seen[1])
