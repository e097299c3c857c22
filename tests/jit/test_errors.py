"""What errors and warnings of a capture say, and where."""

import linecache
import os
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn

X = torch.tensor([1.0, 2.0])


def a_float(x):
    return x * float(x.sum())


def an_int(x):
    return x[int(x[0]) :]


def an_item(x):
    return x / x.max().item()


def a_list(x):
    return x * len(x.tolist())


def an_array(x):
    return x * x.numpy().mean()


def a_format(x):
    return x, f"{x.sum():.3f}"


def refuse():
    raise ValueError("positive")


def an_error_in_a_branch(x):
    y = x
    if x.sum() > 0:
        y = x * 2
        refuse()
    return y


def an_early_return(x):
    for i in range(3):
        if x.sum() > i:
            return [1]
    return x


def a_comprehension(x):
    return [v for v in x if v > 0]


CASES = [
    (a_float, 1, "float(tensor)", "the tensor itself"),
    (an_int, 1, "int(tensor)", "the tensor itself"),
    (an_item, 1, ".item()", "the tensor itself"),
    (a_list, 1, ".tolist()", "operations on the whole tensor"),
    (an_array, 1, ".numpy()", "jax.pure_callback"),
    (a_format, 1, "format(tensor)", "return it and format it"),
    (an_error_in_a_branch, 2, "ValueError while a branch", "Raise errors"),
    (an_early_return, 1, "a branch on a tensor's value", "Make them alike"),
    (a_comprehension, 1, "bool(tensor)", "torchlike.where"),
]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("function", "line", "asked", "advice"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_an_error_names_the_line_and_what_helps_there(function, line, asked, advice):
    with pytest.raises(torch.jit.JitCaptureError) as caught:
        torch.jit(function)(X)
    said, at = str(caught.value), function.__code__.co_firstlineno + line
    assert f"test_errors.py:{at}" in said
    assert asked in said
    assert advice in said
    assert "__torchlike" not in said
    # The traceback shows that very line last, and nothing of ours.
    frames = traceback.extract_tb(caught.value.__traceback__)
    users = [f for f in frames if f.filename == __file__]
    assert users[-1].lineno == at
    assert users[-1].name in (function.__name__, "<listcomp>")
    ours = os.path.dirname(torch.__file__)
    assert not [f.name for f in frames if f.filename.startswith(ours)]
    shown = "".join(traceback.format_exception(caught.value))
    assert linecache.getline(__file__, at).strip() in shown
    assert "__torchlike" not in shown


def test_what_is_refused_behind_the_body_names_where_it_begins():
    def keeps(x):
        y = x.clone().requires_grad_() * 2
        y.retain_grad()
        return y

    with pytest.raises(torch.jit.JitCaptureError) as caught:
        torch.jit(keeps)(X)
    assert f"test_errors.py:{keeps.__code__.co_firstlineno})" in str(caught.value)


def test_an_array_is_refused_by_a_plain_type_error():
    with pytest.raises(TypeError, match="NumPy array was passed") as caught:
        torch.jit(lambda x, a: x)(X, np.ones(2))
    assert type(caught.value) is TypeError


def test_the_fallback_warns_once_for_a_line_and_at_the_users():
    f = torch.compile(an_item)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in (1, 2, 3):
            f(torch.ones(n))  # the line
        f(X.double())
    (one,) = told
    assert one.filename == __file__
    assert linecache.getline(__file__, one.lineno).strip().endswith("# the line")


class _Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        return y / y.max().item()


class _Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = _Inner()

    def forward(self, x):
        return self.inner(x)


def test_modules_inside_do_not_tell_it_again():
    model = torch.compile(_Outer())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in (1, 2, 3, 4):
            model(torch.ones(n, 2))
    assert len(told) == 1
    assert told[0].filename == __file__


def test_another_line_is_told_too():
    @torch.compile
    def f(x, k):
        return x * x.max().item() if k else x * x.min().item()

    with pytest.warns(RuntimeWarning, match=r"\.item\(\)") as told:
        f(X, 0)
    assert len(told) == 1


SCRIPT = """\
import threading
import torchlike as torch

def wrong(x):
    return x + torch.ones(3)

def step(x):
    return x * x.sum().item()

def thread():
    wrong(torch.ones(2))

t = threading.Thread(target=thread)
t.start()
t.join()
try:
    torch.jit(step)(torch.ones(2))
except RuntimeError as error:
    raise KeyError("in its place")
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("full", [False, True])
def test_a_script_shows_no_frames_of_ours_unless_asked(tmp_path, full):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ours = os.path.dirname(torch.__file__)
    # The torchlike that runs the tests, which need not be the one that is installed.
    path = os.pathsep.join([os.path.dirname(ours), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "TORCHLIKE_TRACEBACK": "full" if full else "", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 1, done.stderr
    assert (ours in done.stderr) is full, done.stderr
    for line in ("x + torch.ones(3)", "x.sum().item()", "in its place"):
        assert line in done.stderr
