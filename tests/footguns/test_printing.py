"""``print`` in a compiled function: at each call under torch.compile, once per compile under
torchlike.jit. And nothing is told of a branch that is not taken."""

import contextlib
import io
import logging
import pickle
import sys
import threading
import types
import warnings

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

# ruff: noqa: T201


def one():
    return torch.ones(2)


def doubled(x):
    print("doubling", tuple(x.shape))
    return x * 2


def by_sign(x):
    print("which?")
    if x.sum() > 0:
        print("positive")
        y = x
    else:
        print("negative")
        y = -x
    return y


def test_once_per_compilation_under_jit(capsys):
    f = torch.jit(doubled)
    for _ in range(3):
        f(one())
    assert capsys.readouterr().out == "doubling (2,)\n"


def test_at_each_call_under_compile(capsys):
    f = torch.compile(doubled)
    for n in (2, 2, 3, 2):
        f(torch.ones(n))
    assert capsys.readouterr().out == "".join(f"doubling ({n},)\n" for n in (2, 2, 3, 2))
    assert f.compiles == 2


def test_parts_and_streams(capsys):
    @torch.compile
    def f(x):
        print("a", 1, sep="-", end=";")
        print(file=sys.stderr)
        print("b", flush=True)
        return x + 1

    for _ in range(2):
        f(one())
    assert capsys.readouterr() == ("a-1;b\n" * 2, "\n\n")


def test_into_a_stream_of_the_body(capsys):
    found = []

    @torch.compile
    def f(x):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            print("inside")
        found.append(text.getvalue())
        return x + 1

    f(one())
    assert found == ["inside\n"]
    assert capsys.readouterr().out == ""


def test_a_module_that_trains(capsys):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x):
            print("forward", self.training)
            return self.layer(x)

    net = torch.compile(Net())
    for _ in range(3):
        net(one()).sum().backward()
    net.eval()(one())
    assert capsys.readouterr().out == "forward True\n" * 3 + "forward False\n"


def test_a_number_that_differs(capsys):
    @torch.compile
    def f(x, n):
        print("n", n)
        return x * n

    for n in (1, 2, 3, 4, 3):
        assert f(one(), n).tolist() == [n, n]
    assert capsys.readouterr().out == "n 1\nn 2\nn 3\nn 4\nn 3\n"


def test_values_of_a_tensor(capsys):
    """Under torchlike.jit no made-up numbers; torch.compile runs the function eagerly."""

    def f(x):
        print(x)
        return x * 2

    torch.jit(f)(one())
    assert "<captured>" in capsys.readouterr().out
    compiled = torch.compile(f)
    with pytest.warns(RuntimeWarning, match="runs eagerly.*print of a tensor"):
        compiled(one())
    compiled(one() + 1)
    assert capsys.readouterr().out == "tensor([1., 1.])\ntensor([2., 2.])\n"


def test_in_a_branch_on_a_value(capsys):
    with pytest.raises(JitCaptureError, match="print in a branch on a tensor's value"):
        torch.jit(by_sign)(one())
    capsys.readouterr()
    f = torch.compile(by_sign)
    with pytest.warns(RuntimeWarning, match="runs eagerly.*print in a branch"):
        f(one())
    f(-one())
    assert capsys.readouterr().out == "which?\npositive\nwhich?\nnegative\n"


def test_in_a_loop_on_a_value(capsys):
    def f(x):
        while x.sum() < 8:
            print("turn")
            x = x * 2
        return x

    with pytest.raises(JitCaptureError, match="print in a loop"):
        torch.jit(f)(one())
    capsys.readouterr()
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert torch.compile(f)(one()).tolist() == [4.0, 4.0]
    assert capsys.readouterr().out == "turn\nturn\n"


def test_a_body_that_raises(capsys):
    @torch.compile
    def f(x):
        print("before")
        raise ValueError("bad")

    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            f(one())
    assert capsys.readouterr().out == "before\nbefore\n"


def test_other_threads_print_meanwhile(capsys):
    @torch.compile
    def f(x):
        other = threading.Thread(target=print, args=("from another thread",))
        other.start()
        other.join()
        return x + 1

    f(one())
    assert capsys.readouterr().out == "from another thread\n"
    assert isinstance(print, types.BuiltinFunctionType)


def test_print_is_pickled_as_itself_meanwhile():
    @torch.compile
    def f(x):
        assert pickle.dumps(print) == pickled
        return x + 1

    pickled = pickle.dumps(print)
    f(one())
    assert isinstance(print, types.BuiltinFunctionType)


LOG = logging.getLogger(__name__)


def guarded_print():
    with contextlib.suppress(Exception):  # as careless scripts do
        print("not a number")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("tell", "by"),
    [
        (lambda: warnings.warn("not a number", stacklevel=1), "warnings.warn"),
        (lambda: LOG.warning("not a number"), "logging"),
        (lambda: logging.getLogger().error("not a number"), "logging"),
        (lambda: sys.stdout.write("not a number"), "write of a file"),
        (guarded_print, "print"),
    ],
)
def test_alarms_of_a_branch_that_is_not_taken(tell, by, capsys, caplog):
    def f(x):
        if x.isnan().any():
            tell()
        return x * 2

    with pytest.raises(JitCaptureError, match=f"{by} in a branch on a tensor's value"):
        torch.jit(f)(one())
    with pytest.warns(RuntimeWarning, match=f"runs eagerly.*{by} in a branch"):
        assert torch.compile(f)(one()).tolist() == [2.0, 2.0]
    assert capsys.readouterr().out == ""
    assert not caplog.records


def test_logs_below_the_level_and_questions_are_no_effect():
    @torch.jit
    def f(x):
        if x.isnan().any() and not sys.stdout.closed and sys.stdout.writable():
            LOG.debug("not a number")
            sys.stdout.flush()
        return x * 2

    LOG.setLevel(logging.INFO)
    assert f(one()).tolist() == [2.0, 2.0]
    assert f.compiles == 1
