"""``torch._foreach_*`` against PyTorch's, eager and jitted."""

import numpy as np
import pytest
from oracle import compare

import torchlike

torch = pytest.importorskip("torch")

#: Eager and jitted.
WAYS = (False, True)
UNARY = sorted(
    n
    for n in dir(torch)
    if n.startswith("_foreach_")
    and not n.endswith("_")
    and n.removeprefix("_foreach_")
    in {
        "abs",
        "acos",
        "asin",
        "atan",
        "ceil",
        "clone",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "expm1",
        "floor",
        "frac",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "max",
        "neg",
        "norm",
        "powsum",
        "reciprocal",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    }
)


def lists(t, n=3):
    r = np.random.default_rng(0)
    return [
        [t.tensor(r.uniform(0.1, 0.9, s).astype("f")) for s in ((2, 3), (4,), ())] for _ in range(n)
    ]


def numbers(result):
    return [x.detach().numpy() for x in result]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", UNARY)
def test_of_one_list(name):
    compare(lambda t: getattr(t, name)(lists(t)[0]), jitted=WAYS)
    if hasattr(torch, f"{name}_"):
        compare(lambda t: getattr(t, f"{name}_")(lists(t)[0]), jitted=WAYS)


BINARY = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_min", "clamp_max")


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("suffix", ["", "_"])
@pytest.mark.parametrize("name", BINARY)
def test_of_two(name, suffix):
    function = f"_foreach_{name}{suffix}"
    compare(lambda t: getattr(t, function)(*lists(t, 2)), jitted=WAYS)
    compare(lambda t: getattr(t, function)(lists(t)[0], 0.5), jitted=WAYS)
    compare(lambda t: getattr(t, function)(lists(t)[0], [0.5, 2, 1.5]), jitted=WAYS)
    if name in ("add", "mul", "div"):
        compare(lambda t: getattr(t, function)(lists(t)[0], t.tensor(0.5)), jitted=WAYS)
    if name in ("add", "sub"):
        compare(lambda t: getattr(t, function)(*lists(t, 2), alpha=3), jitted=WAYS)
    if name == "pow" and not suffix:
        compare(lambda t: t._foreach_pow(2.0, lists(t)[0]), jitted=WAYS)


@pytest.mark.parametrize("suffix", ["", "_"])
def test_of_three(suffix):
    for name in ("addcmul", "addcdiv"):
        function = f"_foreach_{name}{suffix}"
        compare(lambda t, f=function: getattr(t, f)(*lists(t)), jitted=WAYS)
        compare(lambda t, f=function: getattr(t, f)(*lists(t), value=2), jitted=WAYS)
        compare(lambda t, f=function: getattr(t, f)(*lists(t), [1.0, 2.0, 3.0]), jitted=WAYS)
    lerp = f"_foreach_lerp{suffix}"
    compare(lambda t: getattr(t, lerp)(*lists(t, 2), 0.3), jitted=WAYS)
    compare(lambda t: getattr(t, lerp)(*lists(t, 2), [0.3, 0.2, 0.1]), jitted=WAYS)
    compare(lambda t: getattr(t, lerp)(*lists(t)), jitted=WAYS)


def test_of_integers_and_other_rules():
    compare(lambda t: t._foreach_add([t.tensor([1])], 1.5), jitted=WAYS)
    compare(lambda t: t._foreach_sqrt([t.tensor([4])]), jitted=WAYS)
    compare(lambda t: t._foreach_norm(lists(t)[0], float("inf"), dtype=t.float64), jitted=WAYS)
    compare(lambda t: t._foreach_zero_(lists(t)[0]), jitted=WAYS)
    compare(lambda t: t._foreach_copy_(*lists(t, 2)), jitted=WAYS)
    compare(lambda t: t._foreach_mm([t.ones(2, 3)], [t.ones(3, 4)]), jitted=WAYS)


def test_in_place_gives_the_list_and_writes_to_it():
    for t in (torch, torchlike):
        given = lists(t)[0]
        assert t._foreach_mul_(given, 0.0) is given
        assert all(not x.any() for x in given)
        assert isinstance(t._foreach_neg(given), tuple)


def test_gradients():
    def run(t):
        leaves = [x.requires_grad_() for x in lists(t)[0]]
        made = t._foreach_mul(t._foreach_add(leaves, leaves, alpha=2), leaves)
        sum(x.sum() for x in made).backward()
        return [x.grad for x in leaves]

    compare(run, jitted=WAYS)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._foreach_add(lists(t)[0], [1.0]),
        lambda t: t._foreach_add(lists(t)[0], lists(t)[1][:1]),
        lambda t: t._foreach_add([], 1),
        lambda t: t._foreach_abs([]),
        lambda t: t._foreach_add(lists(t)[0], t.ones(2)),
        lambda t: t._foreach_addcdiv(lists(t)[0], lists(t)[1], lists(t)[2][:1]),
        lambda t: t._foreach_lerp_(lists(t)[0], lists(t)[1][:1], 0.5),
        lambda t: t._foreach_add([3], 1),
        lambda t: t._foreach_abs(t.ones(2)),
        lambda t: t._foreach_add_([t.tensor([1])], 1.5),
        lambda t: t._foreach_norm([t.zeros(0)], float("inf")),
        lambda t: t._foreach_zero_([t.ones(1, requires_grad=True)]),
    ],
)
def test_refusals(call):
    said = []
    for t in (torch, torchlike):
        with pytest.raises((RuntimeError, TypeError)) as error:
            call(t)
        said.append((error.type, str(error.value)))
    assert said[0] == said[1]


def test_other_arguments_are_type_errors():
    for t in (torch, torchlike):
        for wrong in ((lists(t)[0], "x"), (3, 1), (lists(t)[0],)):
            with pytest.raises(TypeError):
                t._foreach_add(*wrong)


def test_groups_by_device_and_dtype():
    def grouped(t):
        a, b, c = t.ones(1), t.ones(1, dtype=t.float64), t.ones(2)
        util = t.utils._foreach_utils
        answer = []
        for lists_, asked in (([[a, b, c]], True), ([[a, b], [None, c]], False), ([[a], []], True)):
            found = util._group_tensors_by_device_and_dtype(lists_, with_indices=asked)
            answer.append(
                sorted(
                    (
                        str(device),
                        str(dtype),
                        [[None if x is None else x.tolist() for x in row] for row in rows],
                        indices,
                    )
                    for (device, dtype), (rows, indices) in found.items()
                )
            )
        with pytest.raises(RuntimeError):
            util._group_tensors_by_device_and_dtype([[a, b], [c]])
        return answer

    import torch.utils._foreach_utils

    import torchlike.utils._foreach_utils

    assert grouped(torch) == grouped(torchlike)


def test_alpha_is_for_lists_of_tensors():
    def refused(t, name, *others):
        with pytest.raises(TypeError):
            getattr(t, name)([t.ones(1)], *[t.tensor(o) if o == 5 else o for o in others], alpha=2)

    for t in (torch, torchlike):
        refused(t, "_foreach_add", 3.0)
        refused(t, "_foreach_add", [3.0])
        refused(t, "_foreach_sub", 3)
        refused(t, "_foreach_sub", 5)
        assert t._foreach_add([t.ones(1)], [t.ones(1)], alpha=2)[0].item() == 3
        assert t._foreach_add([t.ones(1)], t.tensor(5.0), alpha=2)[0].item() == 11
