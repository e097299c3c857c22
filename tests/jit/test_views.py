"""Under torchlike.jit views alias as they do eagerly, and tensors from outside keep or get the
geometry and flags that the Python code gives them, or the compiler refuses."""

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


def eager_and_jitted(fn, *arguments):
    """What ``fn`` gives both ways, on clones of the arguments."""
    return [run(*(a.clone() for a in arguments)) for run in (fn, torch.jit(fn))]


def assert_same(fn, *arguments):
    eager, jitted = eager_and_jitted(fn, *arguments)
    assert [t.tolist() for t in eager] == [t.tolist() for t in jitted]


X, AT = torch.arange(6.0).view(3, 2), torch.tensor(1)


def written_through(x, i):
    x = x * 1
    row = x[i]
    row.mul_(10)
    return x, row.clone()


def read_after_a_write(x, i):
    row = x[i]
    x.add_(1)
    return x, row.clone()


def part_of_a_part(x, i):
    x = x * 1
    x[1:][-i][0] += 5
    x[i, None, [1, 0]] = x[0] * 1
    return (x,)


def gradients(x, i):
    w = (x * 1).detach().requires_grad_()
    y = w * 2
    y[i].mul_(w[i - 1])
    (y * y).sum().backward()
    return w.grad, y.detach()


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("fn", [written_through, read_after_a_write, part_of_a_part, gradients])
@pytest.mark.parametrize("i", [1, 0, -1])
def test_a_number_in_a_tensor_selects_a_view(fn, i):
    assert_same(fn, X, torch.tensor(i))


def test_another_index_is_no_other_program():
    f = torch.jit(read_after_a_write)
    rows = [f(X.clone(), torch.tensor(i))[1].tolist() for i in (0, 1, 2)]
    assert rows == [[1, 2], [3, 4], [5, 6]]
    assert f.compiles == 1


def test_out_of_range_it_reads_nan_and_writes_nothing():
    x, row = torch.jit(written_through, checks=False)(X.clone(), torch.tensor(3))
    assert x.tolist() == X.tolist()
    assert row.isnan().all()


def test_where_it_begins_is_known_to_the_program_alone():
    with pytest.raises(JitCaptureError, match="storage_offset"):
        torch.jit(lambda x, i: x[i].storage_offset())(X, AT)
    with pytest.raises(JitCaptureError, match="storage_offset"):
        torch.jit(lambda x, i: x[i].as_strided((1,), (1,)))(X, AT)


def test_requires_grad_of_arguments_and_of_state_is_set_at_each_call():
    state = {"p": torch.ones(2)}

    @torch.jit
    def f(x):
        x.requires_grad_()
        state["p"].requires_grad_()
        (x * state["p"] * x).sum().backward()
        return x * 1

    for _ in range(2):
        x = torch.tensor([1.0, 2.0])
        f(x)
        assert x.requires_grad
        assert x.is_leaf
        assert x.grad.tolist() == [2, 4]
    assert state["p"].requires_grad
    assert state["p"].grad.tolist() == [2, 8]
    state["p"].requires_grad_(False)
    f(torch.ones(2))
    assert state["p"].requires_grad


REFUSED = {
    "argument's geometry": lambda x: x.t_(),
    "geometry of state": lambda x: STATE.unsqueeze_(0),
    "argument's size": lambda x: x.resize_(2),
    "size of state": lambda x: STATE.resize_(2),
    "memory of state that others share": lambda x: ALIAS.resize_(5),
    "result's history": lambda x: x.detach_(),
}
STATE = torch.ones(3)
ALIAS = STATE.detach()


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("fn", REFUSED.values(), ids=REFUSED.keys())
def test_what_would_change_a_tensor_from_outside_only_once_is_refused(fn):
    history = fn is REFUSED["result's history"]
    x = torch.ones(2, 3, requires_grad=True) * 2 if history else torch.ones(2, 3)
    with pytest.raises(JitCaptureError, match="from outside"):
        torch.jit(fn)(x)
    assert (x.shape, STATE.shape, ALIAS.shape) == ((2, 3), (3,), (3,))
    assert (STATE + ALIAS).tolist() == [2, 2, 2]


def test_memory_of_state_grows_as_it_does_eagerly():
    buffer = torch.arange(2.0)
    f = torch.jit(lambda: torch.add(torch.ones(3), 1, out=buffer) * 1)
    with pytest.warns(UserWarning, match="was resized"):
        assert f().tolist() == [2, 2, 2]
    assert buffer.tolist() == [2, 2, 2]
    assert f().tolist() == [2, 2, 2]


def test_memory_from_outside_that_changes_shape_at_each_call():
    buffer = torch.arange(4.0)

    def grow(out):
        out.resize_(2, out.numel() // 2 + 1).fill_(1)
        return buffer.resize_(buffer.numel() + 2).fill_(2) * 1

    f, out = torch.jit(grow), torch.ones(2)
    for n in (6, 8):
        assert f(out).tolist() == buffer.tolist() == [2] * n
        assert out.tolist() == [[1] * (n // 2 - 1)] * 2


def test_an_argument_that_shares_its_memory_does_not_grow():
    f = torch.jit(lambda x: x.resize_(4).fill_(1))
    x = torch.zeros(2)
    rest = x[1:]
    by_numpy = torch.zeros(2)
    array = by_numpy.numpy()
    for argument in (x, by_numpy):
        with pytest.raises(JitCaptureError, match="shares its memory"):
            f(argument)
    assert (x.tolist(), rest.tolist(), array.tolist()) == ([0, 0], [0], [0, 0])
    assert f(torch.zeros(2)).tolist() == [1] * 4


def test_a_size_given_between_calls_is_seen():
    x = torch.arange(6.0)
    rest = x[4:]
    f = torch.jit(lambda: x.sum() + rest.sum())
    assert f().item() == f().item() == 24
    x.resize_(2, 2)
    assert f().item() == 15
    x.resize_(4, 2)[3] = 1
    assert f().item() == 26


def test_views_made_inside_may_change():
    x = torch.arange(6.0).view(2, 3)

    @torch.jit
    def f():
        v = x.detach()
        v.t_()
        return v * 1

    assert f().tolist() == f().tolist() == x.t().tolist()
    assert x.shape == (2, 3)


# -- views of what a function is given, as its result ----------------------------------------------


RESULTS = [
    lambda x: x[:, :2].t(),
    lambda x: x[1],
    lambda x: x[:, 1:3].transpose(0, 1),
    lambda x: x.unbind(0),
    lambda x: x.split(2, 1)[1],
    lambda x: x.chunk(2, 1)[1].unbind(0)[2],
    lambda x: (x.sum(), x.unsqueeze(0)),
    lambda x: x.expand(2, 3, 4),
    lambda x: x.unfold(1, 2, 1),
    lambda x: x.as_strided((2, 2), (1, 2), 1),
    lambda x: x.detach()[0],
    lambda x: x.detach(),
    lambda x: torch.no_grad()(lambda: x.unsqueeze(0))(),
    lambda x: (x + 1, x.permute(1, 0)),
]


def looked_at(call, with_grad, is_view):
    leaf = torch.arange(24.0).reshape(4, 6)[:3, :4] if is_view else torch.arange(12.0).view(3, 4)
    leaf = leaf.detach().requires_grad_(with_grad)
    x = leaf * 1 if with_grad and not is_view else leaf
    found = call(x)
    y = found[-1] if isinstance(found, tuple) else found
    seen = [y.shape, y.stride(), y.storage_offset(), y.requires_grad, y.is_leaf]
    seen.append(y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())
    if y.grad_fn is not None:
        seen += [y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()]
        (y * torch.arange(float(y.numel())).reshape(y.shape)).sum().backward(retain_graph=True)
        seen.append(None if leaf.grad is None else leaf.grad.tolist())
    for t in (y.detach(), y):
        try:
            t.mul_(3)
        except RuntimeError as error:
            seen.append(str(error)[:60])
        seen += [x.tolist(), None if x.grad_fn is None else x.grad_fn.name()]
    return seen


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("is_view", [False, True])
@pytest.mark.parametrize("with_grad", [False, True])
@pytest.mark.parametrize("f", RESULTS)
def test_a_view_of_an_argument_is_one_at_each_call(f, with_grad, is_view):
    jitted = torch.jit(f)
    want = looked_at(f, with_grad, is_view)
    for _ in range(3):
        assert looked_at(jitted, with_grad, is_view) == want
    assert jitted.compiles == 1


def test_a_view_of_a_parameter():
    weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3))
    jitted = torch.jit(lambda k: (weight.t()[1:], k * 2))
    for _ in range(2):
        weight.grad = None
        rows, _ = jitted(torch.ones(1))
        rows.sum().backward()
        assert weight.grad.tolist() == [[0.0, 1.0, 1.0]] * 2
    with torch.no_grad():
        jitted(torch.ones(1))[0].zero_()
    assert weight.tolist() == [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    assert jitted.compiles == 2


def test_what_is_more_than_a_view_is_refused():
    def hooked(x):
        y = x.view(-1)
        y.register_hook(lambda g: g * 2)
        return y

    with pytest.raises(torch.jit.JitCaptureError, match="another history"):
        torch.jit(hooked)(torch.ones(2, 2, requires_grad=True) * 1)


# -- one tensor in several places ------------------------------------------------------------------


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", None)

    def forward(self, x):
        self.last = x.detach() * 2
        y = x * 3
        return y, self.last, {"again": y}


@pytest.mark.parametrize("with_grad", [False, True])
def test_a_tensor_in_several_places_is_one_object(with_grad):
    net = Keeps()
    jitted = torch.jit(net)
    for _ in range(4):
        y, last, found = jitted(torch.ones(2, requires_grad=with_grad))
        assert found["again"] is y
        assert net.last is last
        assert y.requires_grad is with_grad
    assert jitted.compiles <= 2


def base_summed(x):
    return x * 1 if x._base is None else x._base.sum() * x


def told_by_is_view(x):
    return x * 2 if x._is_view() else x * 3


@pytest.mark.parametrize("fn", [base_summed, told_by_is_view])
def test_what_an_argument_is_a_view_of(fn):
    f, b = torch.jit(fn), torch.arange(6.0)
    for x in (b, b[1:3], b[1:3].detach(), b[2:4], b[1:3], b.detach(), b[1:3].clone()):
        assert f(x).tolist() == fn(x).tolist()
    b.mul_(2)
    before = f.compiles
    assert f(b[1:3]).tolist() == fn(b[1:3]).tolist()  # read afresh, by the program of that view
    assert f.compiles == before


def test_writes_and_gradients_through_the_base():
    def add_to_base(x):
        x._base.add_(1)
        return x * 1

    f, b = torch.jit(add_to_base), torch.zeros(4)
    assert [f(b[1:3]).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert b.tolist() == [3, 3, 3, 3]
    squares = torch.jit(lambda x: (x._base**2).sum())
    for _ in range(2):
        w = torch.arange(3.0).requires_grad_()
        squares(w[1:]).backward()
        assert w.grad.tolist() == [0, 2, 4]
