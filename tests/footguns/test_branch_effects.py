"""Side effects in Python inside a branch or a loop on a tensor's value: refused, never done twice.

Both branches are traced, so what one of them does to a list would be done whether it is taken or
not.
"""

import itertools

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

LOG = []


def x():
    return torch.tensor([1.0, 1.0])


def loop_appends():
    def f(x):
        seen = []
        for i in range(3):
            seen.append(i)
            x = x * 2
            if x.sum() > 8:
                break
        return x, len(seen)

    return f, "seen"


def loop_collects_tensors():
    def f(x):
        states = []
        for _ in range(3):
            x = x * 2
            states.append(x)
            if x.sum() > 8:
                break
        return torch.stack(states).sum(0)

    return f, "states"


def loop_writes_a_dictionary():
    def f(x):
        found = {}
        for i in range(3):
            found[i] = x
            x = x + 1
            if x.sum() > 5:
                break
        return x, len(found)

    return f, "found"


def loop_counts_outside():
    n = 0

    def f(x):
        nonlocal n
        for _ in range(3):
            n += 1
            x = x + 1
            if x.sum() > 5:
                break
        return x

    return f, "n"


def branch_after_the_same_change():
    def f(x):
        LOG.append("call")
        if x.sum() > 0:
            LOG.append("positive")
            y = x
        else:
            y = -x
        return y, len(LOG)

    return f, "LOG"


def branch_binds_a_tensor_bound_before():
    state = {"h": torch.zeros(2)}

    def f(x):
        state["h"] = state["h"] + 1
        if x.sum() > 0:
            state["h"] = x * 2
            y = x
        else:
            y = -x
        return y

    return f, "state"


def _advances(make):
    def f(x):
        it = make()
        if x.sum() > 0:
            y = x * next(it)
        else:
            y = -x
        return y, next(it)

    return f, "it"


def _generator():
    yield 1.0
    yield 2.0


def advances_a_list_iterator():
    return _advances(lambda: iter([1.0, 2.0]))


def advances_a_generator():
    return _advances(_generator)


def advances_a_map():
    return _advances(lambda: map(float, (1, 2)))


def advances_a_count():
    return _advances(lambda: itertools.count(1))


def advances_dictionary_keys():
    return _advances(lambda: iter({1.0: 1, 2.0: 2}))


def deeply_nested_list():
    deep = [[[[[[[[]]]]]]]]

    def f(x):
        if x.sum() > 0:
            deep[0][0][0][0][0][0][0].append(1)
            y = x
        else:
            y = -x
        return y

    return f, "deep"


EFFECTS = [
    loop_appends,
    loop_collects_tensors,
    loop_writes_a_dictionary,
    loop_counts_outside,
    branch_after_the_same_change,
    branch_binds_a_tensor_bound_before,
    advances_a_list_iterator,
    advances_a_generator,
    advances_a_map,
    advances_a_count,
    advances_dictionary_keys,
    deeply_nested_list,
]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("effect", EFFECTS, ids=lambda e: e.__name__)
def test_an_effect_in_a_branch_is_refused_and_undone(effect):
    LOG.clear()
    f, name = effect()
    jitted = torch.jit(f)
    words = f"changing `{name}` in a branch|keeping a number that depends on a tensor in `{name}`"
    for _ in range(2):
        with pytest.raises(JitCaptureError, match=words):
            jitted(x())
    assert LOG == []
    f(x())  # and eagerly it still runs: no tracer was left anywhere


@pytest.mark.parametrize("mode", ["the grad mode", "the default dtype"])
def test_a_mode_set_in_a_branch_is_refused(mode):
    @torch.jit
    def f(x):
        if x.sum() > 0:
            if mode == "the grad mode":
                torch.set_grad_enabled(False)
            else:
                torch.set_default_dtype(torch.float64)
            y = x
        else:
            y = -x
        return y

    with pytest.raises(JitCaptureError, match=f"setting {mode} in a branch"):
        f(x())
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_what_a_branch_does_with_its_own_objects_compiles():
    @torch.jit
    def f(x):
        for row in (1.0, 2.0, 3.0):
            if x.sum() > 0:
                parts = [x, x * row]
                parts.append(x)
                y = sum(parts)
            else:
                rows = iter([x, -x])
                y = next(rows) + next(rows)
            x = y
            if x.sum() > 100:
                break
        return x

    assert f(x()).tolist() == [60.0, 60.0]
    assert f(-x()).tolist() == [0.0, 0.0]
    assert f(50 * x()).tolist() == [150.0, 150.0]
    assert f.compiles == 1
