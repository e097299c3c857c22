"""NumPy arrays and buffers as state: what a body does to them is done at each call, or refused."""

import array
import warnings

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

pytestmark = pytest.mark.filterwarnings("ignore:torchlike.jit")


class Counted(np.ndarray):
    n = 0


def zeros(*shape):
    return np.zeros(shape, np.float32)


def writes(a, x):
    a[0] += 1
    return x * 2


def reads_back(a, x):
    a[0] += 1
    return x * float(a.sum())


def by_a_function(a, x):
    np.add.at(a, [0, 1], 1)
    np.multiply(a, 2, out=a)
    return x + torch.tensor(a)


def through_a_view(a, x):
    a[1:][0] += 1
    a.flat[0] += 1
    return x * 2


def sorts(a, x):
    a[:] = a[::-1] - np.arange(3)
    a.sort()
    return x * float(a[0])


def reshapes(a, x):
    a.shape = (3, 1) if a.ndim == 1 else (3,)
    return x * a.ndim


def freezes(a, x):
    a.flags.writeable = not a.flags.writeable
    return x * (1 + a.flags.writeable)


def writes_a_value(a, x):
    a[:] = x.numpy()
    return x * 2


def counts_on_the_array(a, x):
    a.n += 1
    return x * a.n


def writes_what_is_hidden(a, x):
    a.data[1] += 1
    return x * float(a.data[1])


def shows(a, x):
    a.mask[1] = not a.mask[1]
    return x * float(a.sum())


def tensor_adds(a, x):
    t = torch.from_numpy(a)
    t += x
    return t * 2


def tensor_writes_a_part(a, x):
    torch.as_tensor(a)[0] = x[1] + 1
    return x * 2


def out_is_the_array(a, x):
    torch.mul(x, 2, out=torch.from_numpy(a))
    return x * 2


def tensor_of_a_part(a, x):
    torch.asarray(a[:2]).add_(x[:2])
    return x * float(a[0])


def exchanged(a, x):
    torch.from_dlpack(a).copy_(x)
    return x * 2


def in_a_branch(a, x):
    if x.sum() > 4:
        torch.from_numpy(a).add_(x)
    return x * 2


def array_made_inside(a, x):
    b = np.zeros(3, np.float32)
    torch.from_numpy(b).add_(x)
    return x * float(b[0])


def buffer(a, x):
    torch.frombuffer(a, dtype=torch.float32).add_(x)
    return x * 2


def buffer_by_python(a, x):
    a[0] += 1
    return x * a[0]


def returned(a, x):
    return torch.from_numpy(a)


def a_view_returned(a, x):
    return torch.from_numpy(a)[1:]


def nothing_else_holds_it(a, x):
    t = torch.from_numpy(np.zeros(3, np.float32))
    t += x
    return t


def hidden():
    return np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])


BODIES = {
    writes: zeros,
    reads_back: zeros,
    by_a_function: zeros,
    through_a_view: zeros,
    sorts: zeros,
    reshapes: zeros,
    freezes: zeros,
    writes_a_value: zeros,
    counts_on_the_array: lambda n: zeros(n).view(Counted),
    writes_what_is_hidden: lambda n: hidden(),
    shows: lambda n: hidden(),
    tensor_adds: zeros,
    tensor_writes_a_part: zeros,
    out_is_the_array: zeros,
    tensor_of_a_part: zeros,
    exchanged: zeros,
    in_a_branch: zeros,
    array_made_inside: zeros,
    buffer: lambda n: bytearray(4 * n),
    buffer_by_python: lambda n: array.array("f", [0.0] * n),
    returned: zeros,
    a_view_returned: zeros,
    nothing_else_holds_it: zeros,
}
#: By what cannot run eagerly.
REFUSED = {
    tensor_adds,
    tensor_writes_a_part,
    out_is_the_array,
    tensor_of_a_part,
    exchanged,
    in_a_branch,
    array_made_inside,
    buffer,
    returned,
    a_view_returned,
}


def state(a):
    if isinstance(a, np.ndarray):
        own = vars(a).get("n") if isinstance(a, Counted) else getattr(a, "mask", None)
        return np.ndarray.view(a, np.ndarray).tolist(), a.flags.writeable, str(own)
    return bytes(a)


def calls(body, wrap, make, n=4):
    """Return what calls give and leave; a result is written to, as it may be the array."""
    a = make(3)
    f = wrap(lambda x: body(a, x))
    found = []
    for i in range(n):
        y = f(torch.full((3,), float(i + 1)))
        found.append(y.tolist())
        y.add_(1)
        found.append(state(a))
    return found


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_calls_leave_what_eager_calls_leave(body):
    expected = calls(body, lambda f: f, BODIES[body])
    assert calls(body, torch.compile, BODIES[body]) == expected
    if body in REFUSED:
        with pytest.raises(JitCaptureError, match=r"memory that a NumPy array or buffer has too"):
            calls(body, torch.jit, BODIES[body])
    elif body is not writes_a_value:
        assert calls(body, torch.jit, BODIES[body]) == expected


def test_what_is_read_is_compiled_and_compared():
    a, b = hidden(), zeros(3).view(Counted)
    f = torch.compile(lambda x: x * float(a.data[1]) + b.n)
    x = torch.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [f(x).item() for _ in range(3)] == [2.0] * 3
        a.data[1] = 5.0  # behind the mask
        assert [f(x).item() for _ in range(3)] == [5.0] * 3
        b.n = 7
        assert [f(x).item() for _ in range(3)] == [12.0] * 3
    assert f.compiles == 3
