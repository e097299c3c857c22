"""Control flow on tensors' values in jitted code: values, gradients, one program; clear errors."""

import itertools

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError
from torchlike._jit.trace.statements import bound_names

W = [
    torch.tensor([0.5, -1.5, 1.0], requires_grad=True),
    torch.tensor([1.5, 0.25, -1.0], requires_grad=True),
]
T = torch.tensor
UP, DOWN, BIG = T([1.0, 2.0, 3.0]), T([-1.0, -2.0, 0.5]), T([10.0, 20.0, 30.0])


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(f, calls, params=(), compiles=1):
    jitted = torch.jit(f)
    for args in calls:
        seen = []
        for call in (f, jitted):
            for p in params:
                p.grad = None
            out = as_list(call(*args))
            loss = [
                (o.double() ** 2).sum()
                for o in out
                if isinstance(o, torch.Tensor) and o.requires_grad
            ]
            if loss:
                sum(loss).backward()
            seen.append((out, [0.0 if p.grad is None else p.grad.numpy() for p in params]))
        for a, b in zip(seen[0][0], seen[1][0], strict=True):
            assert type(a) is type(b)
            if isinstance(a, torch.Tensor):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5)
            else:
                assert a == b
        for a, b in zip(seen[0][1], seen[1][1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert jitted.compiles == compiles


def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def if_alone(x):
    y = x
    if x.sum() > 0:
        y = x * 2
        temporary = y + 1
        y = temporary * y
    return y


def early_returns(x):
    if x.sum() > 10:
        return x * 2
    if x.sum() > 0:
        x = x + 1
        if x.max() > 3:
            return x * 3
        x = x + 2
    z = x + 1
    return z  # noqa: RET504


def elifs(x):
    if x.sum() > 10:
        k = 0.1
    elif x.sum() > 0:
        k = 0.2
    else:
        k = 0.3
    return x * k, k


def ternaries_and_booleans(x):
    a = 3 if not (x.sum() > 0) else 4
    b = x * 2 if 0 < x.sum() < 10 else x
    c = x[0] > 0 and x[1] > 0
    d = x[0] > 0 or x[2] > 5
    if (x.sum() > 0 and x.max() < 5) or not x.min() > -5:
        b = b + a
    return a, b, c, d


def calls_of_bool(x):
    a = x * 2 if bool(x.sum() > 0) else x
    if not bool((x > 2).any()) or bool(x[0] > 5 and x[1] > 5):
        a = a + 1
    k = 0
    while bool(a.max() < 50) and bool(k < 9):
        a = a * 2
        k += 1
    return a, k


def a_bool_of_its_own(x):
    def bool(t):
        return t.sum() < 0

    return x * 2 if bool(x) else x


def while_counts(x):
    i = 0
    while x.sum() < 100 and i < 20:
        x = x * 2
        i += 1
    return x, i


def break_in_for(x):
    for k in range(6):
        x = x + k
        if x.sum() > 12:
            break
    else:
        x = x * 0
    return x


def continue_in_for(x):
    total = torch.zeros(())
    for v in x:
        if v < 0:
            continue
        total = total + v
    return total


def return_in_while(x):
    while True:
        x = x * 1.5
        if x.max() > 10:
            return x, "up"
        if x.min() < -10:
            return -x, "up"


def return_in_for(x):
    for k in range(4):
        if x[0] > k:
            return x * k
    return x - 1


def nested_loops(x):
    n = 0
    while x.max() < 20:
        for _ in range(3):
            if x.sum() > 15:
                break
            x = x + 1
            n += 1
        x = x * 2
        if n > 30:
            break
    return x, n


def nested_function(x):
    def inner(y):
        if y.sum() > 0:
            return y
        return -y

    return inner(x) + inner(-x * 2)


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    "f",
    [
        if_else,
        if_alone,
        early_returns,
        elifs,
        ternaries_and_booleans,
        calls_of_bool,
        a_bool_of_its_own,
        while_counts,
        break_in_for,
        continue_in_for,
        return_in_while,
        return_in_for,
        nested_loops,
        nested_function,
    ],
)
def test_values(f):
    check(f, [(UP,), (DOWN,), (BIG,), (UP * 0.7,)])


def test_lambdas_on_one_line():
    pair = (lambda x: x if x.sum() > 0 else -x, lambda x: x * 2 if x.sum() > 0 else x * 3)
    for f in pair:
        check(f, [(UP,), (DOWN,)])


def a_choice_of_weights(x, prev_loss):
    w = W[0] if prev_loss < 5.0 else W[1]
    return ((x * w) ** 2).sum()


def a_branch_with_no_grad(x):
    if x.sum() > 0:
        with torch.no_grad():
            scale = W[0] * 2
        y = W[0] * scale * x
    else:
        y = W[1].detach() * W[0] + x
    return y


def a_loop_with_weights(x):
    h = x
    while h.norm() > 1.0:
        h = (h * W[0]).tanh() * 0.5 + h * 0.25 * W[1].tanh()
    return h


def a_loop_that_returns(x):
    for k in range(5):
        x = x * W[0] + k
        if x.sum() > 3:
            return x * W[1]
    return x


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (a_choice_of_weights, [(UP, T(3.0)), (UP, T(7.0))]),
        (a_branch_with_no_grad, [(UP,), (DOWN,)]),
        (a_loop_with_weights, [(UP,), (DOWN,), (BIG,), (T([0.01, 0.02, 0.03]),)]),
        (a_loop_that_returns, [(UP,), (DOWN,), (BIG,)]),
    ],
)
def test_gradients(f, calls):
    check(f, calls, W)


class Base(torch.nn.Module):
    def scale(self, x):
        return x * 2


class Gated(Base):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.__offset = 2.0

    def gate(self, x):
        if x.mean() > self.__offset - 2:
            return self.a(x)
        return self.b(x)

    def scale(self, x):
        if x.mean() > 0:
            x = super().scale(x)
        return x

    def forward(self, x):
        h = self.scale(self.gate(x))
        return h.relu() if h.sum() > 0 else h.tanh()


@pytest.mark.exhaustive
def test_modules_methods_private_names_and_super():
    torch.manual_seed(0)
    m = Gated()
    check(lambda x: m(x), [(UP,), (DOWN,)], tuple(m.parameters()))
    assert Gated.gate.__code__.co_consts == Gated.gate.__code__.co_consts
    assert "__torchlike" not in str(Gated.gate.__code__.co_varnames)


def test_a_range_of_a_tensor():
    def f(x, n):
        s = torch.zeros(())
        for i in range(n):
            if x[i] < 0:
                continue
            s = s + x[i] * i
        return s

    check(f, [(DOWN, T(3)), (UP, T(2)), (UP, T(0))])


def test_a_training_step_that_branches_on_the_last_loss():
    opt = torch.optim.SGD(W, lr=0.05)
    start = [w.detach().clone() for w in W]

    def step(x, prev_loss):
        opt.zero_grad()
        w = W[0] if prev_loss < 5.0 else W[1]
        loss = ((x * w) ** 2).sum()
        loss.backward()
        opt.step()
        return loss

    def losses(run):
        with torch.no_grad():
            for w, s in zip(W, start, strict=True):
                w.copy_(s)
        loss, seen = T(9.0), []
        for _ in range(5):
            loss = run(UP, loss)
            seen.append(loss.item())
        return seen + W[0].tolist() + W[1].tolist()

    np.testing.assert_allclose(losses(torch.jit(step)), losses(step), rtol=1e-5)
    with torch.no_grad():
        for w, s in zip(W, start, strict=True):
            w.copy_(s)


def appends(x):
    outs = []
    if x.sum() > 0:
        outs.append(x)
    return outs


def other_shape(x):
    if x.sum() > 0:
        y = x[:1]
    else:
        y = x
    return y


def one_sided(x):
    if x.sum() > 0:
        y = x
    return y


def refuse():
    raise ValueError("bad")


def raises(x):
    if x.sum() > 0:
        refuse()
    return x


def in_place(x):
    y = x * 1
    if x.sum() > 0:
        y += 1
    return y


def draws(x):
    if x.sum() > 0:
        x = torch.rand(3)
    return x


def other_kind(x):
    return 1 if x.sum() > 0 else None


def changes_in_loop(x):
    while x.sum() < 10:
        x = torch.cat([x, x])
    return x


COUNT = [0]


def counts(x):
    if x.sum() > 0:
        bump()
    return x


def bump():
    COUNT[0] += 1


def endless(x):
    for k in itertools.count():
        x = x + k
        if x.sum() > 1000:
            break
    return x


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (appends, r"changing `outs`.*test_rewriting\.py:\d+"),
        (endless, r"test_rewriting\.py:\d+.*more than 256 turns"),
        (other_shape, r"test_rewriting\.py:\d+.*`y` is .*\[1\].*\[3\].*(?s:.)*torchlike.where"),
        (one_sided, "'y'(?s:.)*in one branch"),
        (raises, r"ValueError.*test_rewriting\.py:\d+.*: bad"),
        (in_place, r"in place.*x = x \+ 1 for x \+= 1|in place(?s:.)*x = x \+ 1 for x \+= 1"),
        (draws, "random numbers"),
        (other_kind, "a Python int where the test holds and None"),
        (changes_in_loop, r"`x` is .*\[3\].* before a turn and .*\[6\]"),
        (counts, "changing `COUNT`"),
    ],
)
def test_errors_name_the_line_and_the_rewrite(f, words):
    with pytest.raises(JitCaptureError, match=words):
        torch.jit(f)(UP * 0.1)
    assert COUNT == [0]


def test_what_has_no_source_keeps_the_plain_error():
    space = {}
    exec("def f(x):\n    if x.sum() > 0:\n        return x\n    return -x\n", space)
    with pytest.raises(JitCaptureError, match="source cannot be found"):
        torch.jit(space["f"])(UP)


def test_a_function_made_anew_by_each_capture_is_refused_in_the_end():
    @torch.jit
    def f(x):
        inner = {"a": lambda: float(x.sum()) if bool(x.any()) else 0.0}
        return x * inner["a"]()

    with pytest.raises(JitCaptureError, match="float"):
        f(torch.ones(3))


def test_converted_functions_have_their_own_code_afterwards():
    before = if_else.__code__
    f = torch.jit(if_else)
    f(UP)
    f(DOWN.double())
    assert if_else.__code__ is before
    assert f.compiles == 2


def test_python_branches_stay_python():
    def f(x, mode):
        if mode == "a":
            out = [x]
            out.append(x)
        else:
            out = [x * 2]
        if x.sum() > 0:
            x = x + 1
        for k in range(len(out)):
            x = x + k * out[k]
        return x

    check(f, [(UP, "a"), (UP, "b"), (DOWN, "b")], compiles=2)


def test_fallback_runs_eagerly_and_says_so():
    f = torch.jit(appends, fallback="eager")
    with pytest.warns(RuntimeWarning, match=r"runs eagerly.*test_rewriting\.py:\d+"):
        assert len(f(UP)) == 1
    assert f(DOWN) == []
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        found = torch.jit.explain(torch.jit(appends, fallback="eager"))(UP)
    assert "changing `outs`" in found.not_kept


def test_bound_names():
    import ast

    tree = ast.parse(
        "a = 1\nfor b in c: d += 1\nwith e as f: import g.h\n(i := 2)\n"
        "[j for j in k]\ndef l(): m = 1\ndel n\nx[0] = 1"
    )
    assert set(bound_names(tree.body)) == {"a", "b", "d", "f", "g", "i", "l", "n"}
