"""``ReduceOp``: what it is an instance of, equal to, and copied as."""

import copy
import pickle

import pytest

import torchlike
from tests.parity.oracle import compare

NAMES = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


@pytest.mark.parametrize("name", NAMES)
def test_a_way_of_reducing(name):
    def of(t):
        kind = t.distributed.ReduceOp
        op = getattr(kind, name)
        alone = kind(op)
        copies = [
            copy.copy(op),
            copy.deepcopy(op),
            copy.copy(alone),
            copy.deepcopy(alone),
            pickle.loads(pickle.dumps(op)),
            pickle.loads(pickle.dumps(alone)),
        ]
        return (
            [isinstance(o, kind) for o in (op, alone, 3)],
            [c == op for c in copies],
            repr(op),
            str(op),
            op.name,
            op.value,
            int(op),
            alone == op,
            alone == kind(op),
            alone != op,
            hash(alone) == hash(op),
            isinstance(alone, kind.RedOpType),
            alone.op == op,
            getattr(kind.RedOpType, name) == op,
            alone == kind.MAX,
            alone == 3,
            list(kind.RedOpType.__members__).index(name),
            kind(alone.op) == op,
        )

    compare(of)


@pytest.mark.parametrize("given", ["sum", 3, None])
def test_what_is_no_way(given):
    def of(t):
        with pytest.raises(TypeError):
            t.distributed.ReduceOp(given)

    compare(of)


def test_the_sum_of_multiples_is_refused():
    kind = torchlike.distributed.ReduceOp
    assert kind.PREMUL_SUM.value == 8
    with pytest.raises(NotImplementedError, match=r"all_reduce of tensor \* factor"):
        torchlike.distributed.all_reduce_coalesced([torchlike.ones(1)], kind.PREMUL_SUM)
