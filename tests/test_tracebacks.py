import traceback
from pathlib import Path

import jax
import optax
import pytest

import torchlike
from torchlike._runtime import tracebacks
from torchlike._runtime.tracebacks import trim

PACKAGE = Path(torchlike.__file__).parent
JAX = Path(jax.__file__).parent
OPTAX = Path(optax.__file__).parent


def call_through(*files):
    """Raise ValueError below a chain of frames, one for each file, outermost first."""

    def innermost():
        raise ValueError("wrong")

    call = innermost
    for file in reversed(files):
        namespace = {"call": call}
        exec(compile("def frame():\n    call()", str(file), "exec"), namespace)
        call = namespace["frame"]
    call()


def frames(error):
    return [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]


def trimmed(*files):
    with pytest.raises(ValueError, match="wrong") as raised:
        call_through(*files)
    before = frames(raised.value)
    trim(raised.value)
    here = Path(__file__)
    return before, [file for file in frames(raised.value) if file != here]


USER = Path("user.py")
OURS = PACKAGE / "nn" / "module.py"


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ([USER, OURS], [USER]),
        ([OURS, USER], [USER]),
        ([USER, OURS, USER, OURS], [USER, USER]),
        ([USER, OURS, JAX / "a.py", JAX / "b.py"], [USER]),
        ([USER, OURS, OPTAX / "a.py", JAX / "b.py", USER], [USER, USER]),
        ([USER, JAX / "a.py"], [USER, JAX / "a.py"]),
        ([USER, "<frozen importlib._bootstrap>", OURS], [USER]),
        (
            [USER, "<frozen importlib._bootstrap>", USER],
            [USER, "<frozen importlib._bootstrap>", USER],
        ),
    ],
)
def test_our_frames_and_those_beneath_are_left_out(files, kept):
    assert trimmed(*files)[1] == [Path(file) for file in kept]


def test_line_numbers_stay():
    with pytest.raises(ValueError, match="wrong") as raised:
        call_through(USER, OURS)
    trim(raised.value)
    assert ("user.py", 2) in [
        (frame.filename, frame.lineno) for frame in traceback.extract_tb(raised.value.__traceback__)
    ]


def test_causes_contexts_and_group_members_are_trimmed():
    def caught():
        try:
            call_through(USER, OURS)
        except ValueError as error:
            return error

    outer = caught()
    outer.__cause__ = caught()
    outer.__cause__.__context__ = ExceptionGroup("several", [caught(), caught()])
    family = [outer, outer.__cause__, *outer.__cause__.__context__.exceptions]
    assert all(OURS in frames(error) for error in family)
    trim(outer)
    assert not any(OURS in frames(error) for error in family)
    assert all(USER in frames(error) for error in family)


def test_a_traceback_of_nothing_but_our_frames_stays():
    with pytest.raises(ValueError, match="wrong") as raised:
        exec(compile("raise ValueError('wrong')", str(OURS), "exec"), {})
    error = raised.value
    error.__traceback__ = error.__traceback__.tb_next  # without the frame of this test
    trim(error)
    assert frames(error) == [OURS]


@pytest.mark.parametrize(("files", "left"), [([USER, OURS], ["mine"]), ([USER], ["mine", "jax's"])])
def test_jaxs_note_about_its_frames_goes_with_ours(files, left):
    note = "Set JAX_TRACEBACK_FILTERING=off to include these."
    with pytest.raises(ValueError, match="wrong") as raised:
        call_through(*files)
    raised.value.add_note("mine")
    raised.value.add_note(note)
    trim(raised.value)
    assert [name.replace(note, "jax's") for name in raised.value.__notes__] == left


def test_environment_shows_everything(monkeypatch):
    monkeypatch.setenv("TORCHLIKE_TRACEBACK", "full")
    before, after = trimmed(USER, OURS)
    assert OURS in before
    assert OURS in after


class Shell:
    """What IPython's shell does with an error."""

    def showtraceback(self, exc_tuple=None, tb_offset=None):
        self.shown = exc_tuple, tb_offset


def test_a_notebook_shows_the_users_frames_alone():
    shell = Shell()
    show = tracebacks._shortening_of_shell(shell.showtraceback)
    with pytest.raises(ValueError, match="wrong") as raised:
        call_through(USER, OURS, JAX / "a.py")
    error = raised.value
    show((ValueError, error, error.__traceback__), tb_offset=1)
    assert not {OURS, JAX / "a.py"} & set(frames(error))
    assert shell.shown == ((ValueError, error, error.__traceback__), 1)


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: torchlike.sofmax, "softmax"),
        (lambda: torchlike.ones(3).reshap(3), "reshape"),
        (lambda: torchlike.nothing_like_this, None),
    ],
)
def test_what_was_meant_by_a_name(ask, meant):
    with pytest.raises(AttributeError) as raised:
        ask()
    before = str(raised.value)
    for _ in range(2):  # an error that is shown twice says it once
        tracebacks.add_suggestion(raised.value)
    after = "" if meant is None else f". Did you mean: '{meant}'?"
    assert str(raised.value) == before + after


@pytest.mark.parametrize(
    ("call", "key", "meant", "signature"),
    [
        (
            lambda x: x.sum(dims=1),
            "dims",
            "dim",
            "sum(input, dim=None, keepdim=False, *, dtype=None)",
        ),
        (
            lambda x: x.softmax(dims=0),
            "dims",
            "dim",
            "softmax(input, dim, dtype=None, *, out=None)",
        ),
        (
            lambda x: torchlike.nn.functional.dropout(x, prob=0.1),
            "prob",
            None,
            "dropout(input, p=0.5, training=True, inplace=False)",
        ),
        (
            lambda x: torchlike.nn.functional.relu(x, inplac=True),
            "inplac",
            "inplace",
            "relu(input, inplace=False)",
        ),
        (lambda x: torchlike.einsum(eq="a"), "eq", None, "einsum(equation, *operands)"),
        (
            lambda x: x.sort(dims=0),
            "dims",
            "dim",
            "sort(input, dim=-1, descending=False, *, stable=False, out=None)",
        ),
        (
            lambda x: torchlike.zeros(2, dtyp=torchlike.int32),
            "dtyp",
            "dtype",
            "zeros(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, "
            "pin_memory=False)",
        ),
        (
            lambda x: torchlike.zeros_like(x, shape=2),
            "shape",
            None,
            "zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, "
            "pin_memory=False, memory_format=None)",
        ),
    ],
    ids=[
        "an op",
        "a method that is a Python function",
        "a function",
        "one around an op",
        "any number",
        "arguments taken by hand",
        "sizes",
        "like another tensor",
    ],
)
def test_an_unknown_argument_is_told_with_the_signature(call, key, meant, signature):
    with pytest.raises(TypeError) as raised:
        call(torchlike.ones(2, 3))
    after = "" if meant is None else f". Did you mean: '{meant}'?"
    name = signature.partition("(")[0]
    assert str(raised.value).splitlines() == [
        f"{name}() got an unexpected keyword argument '{key}'{after}",
        f"Its signature: {signature}",
    ]


def test_anomaly_mode_shows_no_frame_of_ours():
    x = torchlike.zeros(1, requires_grad=True)
    with (
        torchlike.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="Traceback of forward call") as told,
        pytest.raises(RuntimeError, match="nan"),
    ):
        ((x - 1).sqrt() * 0).sum().backward()
    text = str(told[0].message)
    assert "((x - 1).sqrt() * 0)" in text
    assert str(PACKAGE) not in text
