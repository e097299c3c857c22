"""torch.utils.weak and torch.utils._contextlib, against PyTorch."""

import copy
import gc
import importlib

import pytest
from oracle import compare, refused

torch = pytest.importorskip("torch")


def module(t, name):
    return importlib.import_module(f"{t.__name__}.utils.{name}")


def test_keys_are_told_apart_by_identity_and_forgotten():
    def run(t):
        made = module(t, "weak").WeakIdKeyDictionary()
        a, b = t.ones(2), t.ones(2)
        made[a], made[b] = 1, [2]
        said = [len(made), made[a], made[b], a in made, t.ones(2) in made, 3 in made]
        said += [made.get(a), made.get(t.ones(2), "none"), made.setdefault(a, 5)]
        twin, deep = made.copy(), copy.deepcopy(made)
        said += [twin[b] is made[b], deep[b] is made[b], deep[b], made == twin, made == deep]
        said += [sorted(map(str, made.values())), len(list(made.items())), len(made.keyrefs())]
        del a
        gc.collect()
        said += [len(made), list(made.values()), len(twin), made == twin]
        del made[b]
        return [*said, len(made), list(made)]

    compare(run)


def test_unions_and_pops():
    def run(t):
        weak = module(t, "weak")
        a, b = t.ones(1), t.ones(1)
        one, two = weak.WeakIdKeyDictionary({a: 1}), weak.WeakTensorKeyDictionary({a: 2, b: 3})
        said = [(one | two)[a], (two | one)[a], len({b: 9} | one), one.pop(a), one.pop(a, "none")]
        one |= two
        key, value = one.popitem()
        return [*said, len(one), value, key is a or key is b]

    compare(run)


def test_a_key_is_not_there():
    refused(lambda t: module(t, "weak").WeakIdKeyDictionary()[t.ones(2)], words=0)
    refused(lambda t: module(t, "weak").WeakIdKeyDictionary().pop(t.ones(2)), words=0)


def test_entries_may_die_during_a_loop():
    def run(t):
        keys = [t.ones(1) for _ in range(4)]
        made = module(t, "weak").WeakIdKeyDictionary({k: i for i, k in enumerate(keys)})
        seen = []
        for _, value in made.items():
            seen.append(value)
            keys.clear()
        return seen[:1], len(seen) <= 4

    compare(run)


def test_references():
    def run(t):
        weak = module(t, "weak")
        a, b = t.ones(1), t.ones(1)
        one, same, other = weak.WeakIdRef(a), weak.WeakIdRef(a), weak.WeakIdRef(b)
        said = [one == same, one == other, hash(one) == hash(same), one() is a]
        held = weak.TensorWeakRef(a)
        said.append(held() is a)
        del a
        gc.collect()
        return [*said, one == same, one == one, one(), held()]

    compare(run)
    refused(lambda t: module(t, "weak").TensorWeakRef(1))


def test_context_managers_that_decorate():
    def run(t):
        lib = module(t, "_contextlib")
        log = []

        class Logged(lib._DecoratorContextManager):
            def __init__(self, name):
                self.name = name

            def clone(self):
                return type(self)(f"{self.name}'")

            def __enter__(self):
                log.append(f"in {self.name}")

            def __exit__(self, *error):
                log.append(f"out {self.name}")

        class Plain:
            def __enter__(self):
                log.append("plain")

            def __exit__(self, *error):
                log.append("left")

        @Logged("f")
        def f(x):
            log.append(x)
            return x + 1

        @Logged("g")
        def g():
            got = yield 1
            log.append(got)
            yield 2
            return 3

        steps = g()
        found = [f(1), next(steps), steps.send("sent"), next(steps, "end")]
        h = lib.context_decorator(lambda: Logged("h"), lambda: log.append("h"))
        h()
        lib.context_decorator(Plain(), h)()

        class Bare(lib._NoParamDecoratorContextManager):
            def __enter__(self):
                log.append("bare")

            def __exit__(self, *error):
                log.append("end")

        Bare(h)()
        Bare()(h)()
        return found, log

    compare(run)


def test_what_cannot_be_decorated():
    class Both:
        def __enter__(self):
            raise AssertionError

        def __call__(self):
            raise AssertionError

        def __repr__(self):
            return "both"

    refused(lambda t: module(t, "_contextlib").context_decorator(Both(), len))
    refused(lambda t: module(t, "_contextlib").context_decorator(Both, Both))


def test_seeds_of_workers():
    def run(t):
        state = importlib.import_module(f"{t.__name__}.utils.data._utils.worker")._generate_state
        return [state(base, place) for base in (0, 7, 2**40 + 3, 2**63) for place in (0, 1, 12)]

    compare(run)
