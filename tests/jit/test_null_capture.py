"""What stands in a capture's place where none runs: it does and answers what eager code does."""

import pytest

import torchlike as torch
from torchlike._core import modes, tape
from torchlike._core.modes import EAGER, RunningCapture
from torchlike._jit.trace.subgraph import SubgraphCapture

#: What of a capture is a number, a table or a name, and no method.
FACTS = {name for name in RunningCapture.__annotations__ if not name.startswith("_")}
METHODS = {n for n in vars(RunningCapture) if not n.startswith("_")} - FACTS - {"observer"}


def test_there_is_always_one_to_ask():
    seen = []

    @torch.jit
    def f(x):
        seen.append((modes.running_capture(), modes.is_capturing()))
        return x + 1

    f(torch.ones(2))
    ((inside, capturing),) = seen
    assert capturing
    assert inside is not EAGER
    assert modes.running_capture() is EAGER
    assert not modes.is_capturing()


def test_a_capture_and_one_of_a_branch_have_all_that_the_interface_names(monkeypatch):
    seen, leave = [EAGER], SubgraphCapture.leave
    monkeypatch.setattr(
        SubgraphCapture, "leave", lambda own: seen.extend([own, own.outer]) or leave(own)
    )

    @torch.jit
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,))

    f(torch.ones(2))
    assert len({type(capture) for capture in seen}) == 3
    for capture in seen:
        missing = [name for name in FACTS | METHODS | {"observer"} if not hasattr(capture, name)]
        assert missing == [], type(capture)


def test_eager_code_calls_at_once_what_a_capture_calls_later():
    assert EAGER.per_call_value(lambda: 3) == 3
    assert EAGER.unseen(divmod, 7, 2) == (3, 1)
    assert EAGER.join_ranks(lambda: "ranks") == "ranks"
    with EAGER.outside(), EAGER.paused():
        pass


def test_eager_code_has_no_outside():
    t = torch.ones(2)
    assert EAGER.is_created(t._storage)
    assert EAGER.first_sequence < 0 <= tape.next_sequence()
    assert EAGER.numbers_asked(t, len) is None


def test_eager_code_reads_and_writes_the_cell():
    t = torch.ones(2)
    EAGER.write(t._storage, torch.zeros(2)._read())
    assert EAGER.read(t._storage).tolist() == [0.0, 0.0]
    assert t.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["refuse", "refuse_value", "field_write", "slot_write"])
def test_eager_code_refuses_nothing(name):
    assert getattr(EAGER, name)(torch.ones(1), "another way") is None


def test_a_condition_is_looked_at_by_eager_code_itself():
    with pytest.raises(AssertionError, match="looks at the condition"):
        EAGER.unless(torch.tensor(True))
