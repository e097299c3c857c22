"""Lists and dictionaries among the arguments: a compiled function changes the caller's own."""

import copy
import io
from collections import OrderedDict, defaultdict

import pytest

import torchlike as torch
from torchlike import nn

WRAPS = pytest.mark.parametrize("wrap", [torch.jit, torch.compile], ids=["jit", "compile"])


def row(i):
    return torch.tensor([1.0, 2.0]) * i


def _append(x, c):
    c.append(x * 2)


def _extend(x, c):
    c.extend([x, x + 1])


def _insert_and_pop(x, c):
    c.insert(0, x * 3)
    c.pop()


def _item(x, c):
    c[0] = c[0] + x


def _slice(x, c):
    c[1:] = [x, c[0]]


def _iadd(x, c):
    c += [x + 1]


def _reverse(x, c):
    c.reverse()
    c[0] = c[0] * x


def _clear(x, c):
    total = sum(c)
    c.clear()
    c.append(total + x)


def _delete(x, c):
    del c[0]
    c.append(x)
    c.append(x * 2)


def _swap(x, c):
    c[0], c[1] = c[1], c[0]
    c[0].add_(x)


LISTS = [_append, _extend, _insert_and_pop, _item, _slice, _iadd, _reverse, _clear, _delete, _swap]


def _set(x, d):
    d["k"] = torch.cat([d["k"], x])[2:]


def _new_key(x, d):
    d[f"k{len(d)}"] = x


def _pop_key(x, d):
    d["k"] = d.pop("v") + x
    d["v"] = x


def _update(x, d):
    d.update(v=x, w=d["k"] * 2)


def _setdefault(x, d):
    d.setdefault("rows", []).append(x)


def _delete_key(x, d):
    del d["k"]
    d["k"] = x


def _counter(x, d):
    d["n"] = d.get("n", 0) + 1
    d["k"] = d["k"] * d["n"]


def _popitem(x, d):
    key, value = d.popitem()
    d[key] = value + x


def _or(x, d):
    d |= {"k": x * 5}


DICTS = [_set, _new_key, _pop_key, _update, _setdefault, _delete_key, _counter, _popitem, _or]


def shown(c):
    """Values, nesting and classes."""
    if isinstance(c, torch.Tensor):
        return c.tolist()
    if isinstance(c, dict):
        return type(c), [(k, shown(v)) for k, v in c.items()]
    return (type(c), [shown(v) for v in c]) if isinstance(c, (list, tuple)) else c


def check(wrap, change, make, calls=4):
    """Every call does to the very container what eager execution does."""

    def f(x, c):
        change(x, c)
        return x + 1

    compiled, found = wrap(f), []
    for function in (f, compiled):
        c = make()
        for i in range(calls):
            function(row(i), c)
        found.append(shown(c))
    assert found[0] == found[1]
    assert not compiled.fell_back
    return compiled


@WRAPS
@pytest.mark.parametrize("change", LISTS, ids=lambda f: f.__name__)
def test_a_list(wrap, change):
    check(wrap, change, lambda: [row(1), row(2)])


@WRAPS
@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("change", DICTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda d: defaultdict(list, d)])
def test_a_dictionary(wrap, change, kind):
    check(wrap, change, lambda: kind({"k": row(1), "v": row(2)}))


@WRAPS
@pytest.mark.parametrize(
    "change",
    [
        lambda x, c: c[0].append(x),
        lambda x, c: c[1]["rows"].append(x),
        lambda x, c: c[1].update(n=[x, {"y": x}]),
        lambda x, c: c[2][1].insert(0, x),
        lambda x, c: [layer[0].append(x) for layer in c[2:3]],
    ],
)
def test_nested(wrap, change):
    check(wrap, change, lambda: ([row(1)], {"rows": []}, ([], [row(2)])))


@WRAPS
def test_one_program_where_the_shapes_stay(wrap):
    assert check(wrap, _or, lambda: {"k": row(1), "v": row(2)}, calls=8).compiles == 1
    assert check(wrap, _slice, lambda: [row(1), row(2)], calls=8).compiles <= 3


@WRAPS
def test_a_key_value_cache(wrap):
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def decode(x, cache):
        cache["k"] = torch.cat([cache["k"], x], 1) if "k" in cache else x
        out, _ = attention(x, cache["k"], cache["k"], need_weights=False)
        return out, cache

    compiled, found = wrap(decode), []
    xs = torch.randn(3, 5, 1, 8)
    for function in (decode, compiled):
        cache = {}
        with torch.no_grad():
            for x in xs:
                out, same = function(x, cache)
                assert same is cache
        found.append((out, cache["k"]))
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-6)
    assert compiled.compiles == 3


@WRAPS
def test_one_container_under_two_names_stays_one(wrap):
    @wrap
    def f(x, a, b):
        a.append(x)
        return len(b), a is b

    one, two = [], []
    for i in range(3):
        assert f(row(i), one, one) == (i + 1, True)
        assert f(row(i), two, []) == (0, False)
    assert shown(one) == shown(two) == (list, [row(i).tolist() for i in range(3)])


@WRAPS
def test_one_container_in_two_others_stays_one(wrap):
    @wrap
    def f(x, held):
        held[0]["log"].append(x)
        return len(held[1])

    log = []
    held = ({"log": log}, log)
    assert [f(row(i), held) for i in range(3)] == [1, 2, 3]
    assert held[0]["log"] is held[1] is log


@WRAPS
def test_what_is_put_in_twice_is_one(wrap):
    @wrap
    def f(x, d):
        new = [x]
        d["a"], d["b"] = new, new
        d["t"] = x
        return new, x

    for _ in range(3):
        d = {}
        new, x = f(row(2), d)
        assert d["a"] is d["b"] is new
        assert d["t"] is x is new[0]


@WRAPS
def test_containers_given_move_as_themselves(wrap):
    @wrap
    def f(x, a, b):
        a["b"] = b
        b.append(x)
        return [a, b, (b,)]

    for i in range(3):
        a, b = {}, []
        found = f(row(i), a, b)
        assert found[0] is a
        assert found[1] is found[2][0] is a["b"] is b
        assert shown(b) == (list, [row(i).tolist()])


@WRAPS
def test_a_container_that_is_only_returned_is_the_callers(wrap):
    @wrap
    def f(x, c):
        return c, x + 1

    for _ in range(3):
        c = [row(1), {}]
        found, _ = f(row(1), c)
        assert found is c
        assert found[1] is c[1]


@WRAPS
def test_tensors_that_stay_are_the_callers(wrap):
    @wrap
    def f(x, c):
        c.append(c[0])
        c.append(x)

    for _ in range(3):
        t, x = row(1), row(2)
        c = [t]
        f(x, c)
        assert c[0] is c[1] is t
        assert c[2] is x


@WRAPS
def test_by_keyword_and_with_other_keywords(wrap):
    @wrap
    def f(x, *, cache, scale=2.0, **rest):
        cache.append(x * scale)
        rest["other"] = x
        return len(rest)

    cache = []
    assert [f(row(i), cache=cache, one=1) for i in range(3)] == [2, 2, 2]
    assert len(cache) == 3


@WRAPS
def test_gradients_pass_through_what_was_put_in(wrap):
    def f(w, c):
        c.append(w * w)
        return w.sum()

    grads = []
    for function in (f, wrap(f)):
        w, c = row(3).requires_grad_(), []
        for _ in range(2):
            function(w, c)
        (c[0].sum() + 2 * c[1].sum()).backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1] == [18.0, 36.0]


def test_gradients_of_gradients():
    @torch.jit
    def f(w, c):
        c.append(w**3)
        return w.sum()

    w, c = row(1).requires_grad_(), []
    f(w, c)
    (g,) = torch.autograd.grad(c[0].sum(), w, create_graph=True)
    (g.sum()).backward()
    assert w.grad.tolist() == [6.0, 12.0]


def test_traced_numbers_go_on():
    @torch.jit
    def f(x, d):
        d["n"] += 1
        d["half"] = d["n"] / 2
        return x * d["n"]

    d = {"n": 0, "half": 0.0}
    for i in range(8):
        assert f(row(1), d).tolist() == (row(1) * (i + 1)).tolist()
    assert d == {"n": 8, "half": 4.0}
    assert type(d["n"]) is int
    assert f.compiles < 6


@WRAPS
def test_a_failing_call_changes_nothing(wrap):
    @wrap
    def f(x, c):
        c.append(x)
        return x.view(3, 3)

    c = []
    with pytest.raises(RuntimeError, match="shape"):
        f(row(1), c)
    assert len(c) == (1 if wrap is torch.compile else 0)  # eagerly, it is done before the error


def test_the_calls_from_the_second_on_are_written_out():
    @torch.jit
    def f(x, d):
        d["k"] = d["k"] + x
        return d

    d = {"k": row(0)}
    for _ in range(4):
        assert f(row(1), d) is d
    assert d["k"].tolist() == [4.0, 8.0]
    assert f.compiles == 1
    assert f.latest.state.call.__module__ == "torchlike._jit.program.generated_call"
    assert f.latest.state.call.__name__ == "call"


GLOBAL = []


def _through_a_global(x, c):
    c.append(x)
    return x * len(GLOBAL)


class _Keeper:
    kept = None


keeper = _Keeper()


def _kept(x, c):
    c.append(x)
    keeper.kept = c
    return x


def _tensor_key(x, d):
    d[x] = 1
    return x


def _in_a_branch(x, c):
    if x.sum() > 0:
        c.append(x)
    return x


@pytest.mark.parametrize(
    ("function", "container", "what"),
    [
        (_through_a_global, GLOBAL, "is also reached as `GLOBAL`"),
        (_kept, [], "keeping a list"),
        (_tensor_key, {}, "a tensor or traced number as a new key"),
        (_in_a_branch, [], "changing `c` in a branch"),
    ],
)
def test_what_cannot_be_written_back_names_the_line_that_changes_it(function, container, what):
    first = function.__code__.co_firstlineno
    before = copy.copy(container)
    with pytest.raises(torch.jit.JitCaptureError, match=what) as caught:
        torch.jit(function)(row(1), container)
    assert f"test_given.py:{first + 1}" in str(caught.value)
    assert container == before
    if function is _kept:  # a function that may fall back puts the caller's own there
        f, others = torch.compile(function), []
        f(row(1), container)
        assert keeper.kept is container
        f(row(1), others)
        assert keeper.kept is others
        assert (f.compiles, f.ran_eagerly) == (1, False)
    else:
        with pytest.warns(RuntimeWarning, match="runs eagerly"):
            torch.compile(function)(row(1), container)
    assert len(container) == 1
    container.clear()


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def test_a_registered_class_that_is_changed_is_refused():
    torch.utils._pytree.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts)
    )

    def f(x, pair):
        pair.a = x
        return pair.b

    with pytest.raises(torch.jit.JitCaptureError, match="changing a Pair that was passed"):
        torch.jit(f)(row(1), Pair(row(1), row(2)))


def test_a_list_that_holds_itself():
    @torch.jit
    def f(x, held):
        held.append(x)
        return x + len(held[0])

    ring = []
    ring.append(ring)
    assert f(torch.ones(2), ring).tolist() == [3.0, 3.0]
    assert ring[0] is ring
    assert len(ring) == 2


def test_a_file_has_no_callers_list():
    def f(x, c):
        c.append(x)
        return x

    traced = torch.jit.trace(f, (row(1), [row(2)]))
    with pytest.raises(RuntimeError, match="list or dictionary"):
        torch.jit.save(traced, io.BytesIO())
