"""Strings in the arguments of a compiled function: those that nobody reads cost no program."""

import pytest

import torchlike as torch
from torchlike import nn

torch.manual_seed(0)
NET = nn.Linear(8, 3)
X = torch.randn(6, 4, 8)
KEPT = []


def batch(i):
    names = [f"{i}-{j}.png" for j in range(3)]
    return {"x": X[i], "kind": "ab"[i % 2], "names": names}


def called(x, kind, *, name):
    return NET(x).sum()


def not_read(b):
    return NET(b["x"]).sum()


def as_arguments(b):
    return called(b["x"], b["kind"], name=b["names"][0])


def handed_on(b):
    moved = {k: v.to("cpu") if isinstance(v, torch.Tensor) else v for k, v in b.items()}
    return NET(moved["x"]).sum()


def given_back(b):
    return {"sum": NET(b["x"]).sum(), "names": b["names"]}


def taken_out(b):
    b.pop("kind")
    return NET(b["x"]).sum()


def compared(b):
    return NET(b["x"]).sum() * (2 if b["kind"] == "a" else 1)


def formatted(b):
    return NET(b["x"]).sum() + (f"{b['kind']}!" == "a!")


def read_in_a_try(b):
    try:
        n = len(b["kind"] * (1 if b["kind"] < "b" else 2))
    except Exception:
        n = 100
    return NET(b["x"]).sum() + n


def joined(b):
    return NET(b["x"]).sum() + len("".join(b["names"]))


def one_given_back(b):
    return NET(b["x"]).sum(), b["names"][0]


def kept(b):
    KEPT.append(b["names"][1])
    return NET(b["x"]).sum()


def asked_for_its_class(b):
    return NET(b["x"]).sum() + (type(b["kind"]) is str)


def apart(found):
    """The number in a result, and what else is in it."""
    if isinstance(found, dict):
        return found["sum"].item(), found["names"]
    return (found[0].item(), found[1]) if isinstance(found, tuple) else (found.item(), None)


@pytest.mark.parametrize(
    ("f", "compiles"),
    [
        (not_read, 2),  # the first has its strings
        (as_arguments, 2),
        (handed_on, 2),
        (given_back, 2),
        (taken_out, 2),
        (compared, 3),
        (formatted, 3),
        (read_in_a_try, 3),
        (joined, 6),
        (one_given_back, 6),
        (kept, 6),
        (asked_for_its_class, 6),
    ],
)
def test_a_string_that_is_not_read_is_any(f, compiles):
    compiled = torch.compile(f, options={"warmup": 0})
    for i in range(6):
        KEPT.clear()
        expected, known = apart(f(batch(i))), list(KEPT)
        KEPT.clear()
        given = batch(i)
        number, other = apart(compiled(given))
        assert number == pytest.approx(expected[0], rel=1e-5, abs=1e-6)
        assert other == expected[1]
        assert known == KEPT
        assert type(given["names"][0]) is str
        assert ("kind" in given) is (f is not taken_out)
    assert compiled.compiles == compiles


def test_arguments_by_themselves():
    compiled = torch.compile(lambda x, kind, name: x * 2, options={"warmup": 0})
    for i in range(5):
        assert compiled(torch.ones(2), "ab"[i % 2], name=f"{i}.png").tolist() == [2.0, 2.0]
    assert compiled.compiles == 2
