"""Backward hooks and what modules give back, against PyTorch."""

import warnings
from collections import OrderedDict, namedtuple

import pytest

import torchlike

torch = pytest.importorskip("torch")

Pair = namedtuple("Pair", "mean spread")


def two(t, made):
    """A module of the library ``t`` whose output is ``made(x)``."""

    class Two(t.nn.Module):
        def forward(self, x):
            return made(x)

    return Two()


def seen(t, made):
    """The class of the output, the warnings, and the gradients that hooks saw."""
    log = []
    module = two(t, made)
    module.register_full_backward_pre_hook(lambda m, out: log.append([g.tolist() for g in out]))
    module.register_full_backward_hook(lambda m, into, out: log.append([g.tolist() for g in into]))
    x = t.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = module(x)
    parts = result.values() if isinstance(result, dict) else result
    sum(part.sum() for part in parts).backward()
    return type(result), [str(w.message) for w in said], log


MADE = {
    "named": lambda x: Pair(x * 2, x * 3),
    "tuple": lambda x: (x * 2, x * 3),
    "list": lambda x: [x * 2],
    "dict": lambda x: {"y": x * 2},
}


@pytest.mark.parametrize("name", ["named", "tuple", "list", "dict"])
def test_outputs_with_backward_hooks(name):
    assert seen(torchlike, MADE[name]) == seen(torch, MADE[name])


def test_named_fields_survive_jit():
    module = two(torchlike, MADE["named"])
    module.register_full_backward_hook(lambda m, into, out: (into[0] * 10,))
    x = torchlike.tensor([1.0, 2.0], requires_grad=True)
    result = torchlike.jit(module)(x)
    assert type(result) is Pair
    result.spread.sum().backward()
    assert x.grad.tolist() == [30.0, 30.0]


#: What a forward does, and its arguments: what the old kind of hook misses of each.
MISSED_BY_THE_OLD_KIND = {
    "a list of inputs": (lambda two: (two[0].clone(), two[1].clone()), lambda a, b: ([a, b],)),
    "a list of outputs": (lambda a, b: [a.clone(), b.clone()], lambda a, b: (a, b)),
    "outputs of two nodes": (lambda a, b: (a.clone(), b.clone()), lambda a, b: (a, b)),
    "two nodes": (lambda a: a.clone().clone(), lambda a, b: (a.exp(),)),
    "nothing": (lambda a: a.clone(), lambda a, b: (a.exp(),)),
    "nothing of several outputs": (lambda a: a.unbind(), lambda a, b: (a.exp(),)),
    "no gradients": (lambda a: a.detach(), lambda a, b: (a,)),
}


@pytest.mark.parametrize("case", MISSED_BY_THE_OLD_KIND)
def test_the_old_kind_of_backward_hook_says_what_it_misses(case):
    forward, arguments = MISSED_BY_THE_OLD_KIND[case]

    def warned(t):
        class Forward(t.nn.Module):
            def forward(self, *args):
                return forward(*args)

        module = Forward()
        module.register_backward_hook(lambda *args: None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module(*arguments(*t.ones(2, 2, requires_grad=True).unbind()))
        return [(w.category, str(w.message)) for w in caught]

    assert warned(torchlike) == warned(torch)


def test_removing_a_hook_forgets_what_it_takes():
    module = torchlike.nn.Linear(1, 1)
    before = module.register_forward_pre_hook(lambda m, args, kwargs: None, with_kwargs=True)
    after = module.register_forward_hook(
        lambda m, args, kwargs, out: None, with_kwargs=True, always_call=True
    )
    assert before.hooks_dict_ref() is module._forward_pre_hooks
    before.remove()
    after.remove()
    assert not module._forward_pre_hooks_with_kwargs
    assert not module._forward_hooks_with_kwargs
    assert not module._forward_hooks_always_called


def test_a_handle_of_the_users_own_tables():
    def left(t):
        hooks, names = OrderedDict(), OrderedDict()
        handle = t.utils.hooks.RemovableHandle(hooks, extra_dict=names)
        hooks[handle.id], names[handle.id], hooks["other"] = print, "print", len
        handle.remove()
        return hooks, names

    assert left(torchlike) == left(torch) == ({"other": len}, {})
