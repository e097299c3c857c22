"""Making ``torch.return_types`` oneself, against PyTorch."""

import pickle

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402


def test_from_one_sequence():
    for t in (torch, torchlike):
        kind, parts = t.return_types.max, (t.ones(2), t.zeros(2))
        for given in (parts, list(parts), iter(parts), t.stack(parts)):
            made = kind(given)
            assert type(made) is kind
            assert made.indices.tolist() == [0, 0]
        with pytest.raises(TypeError, match="takes a 2-sequence"):
            kind(parts[:1])
        assert pickle.loads(pickle.dumps(made)).values.tolist() == [1, 1]


OUT = {
    "sort": lambda t, x, out: t.sort(x, out=out),
    "max": lambda t, x, out: t.max(x, 0, out=out),
    "topk": lambda t, x, out: x.topk(2, 0) if out is None else t.topk(x, 2, 0, out=out),
    "kthvalue": lambda t, x, out: t.kthvalue(x, 2, out=out),
    "median": lambda t, x, out: t.median(x, 0, out=out),
    "mode": lambda t, x, out: t.mode(x, out=out),
    "cummax": lambda t, x, out: t.cummax(x, 0, out=out),
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("as_list", [False, True])
def test_out_has_names_too(name, as_list):
    def behaviour(t):
        out = t.empty(0), t.empty(0, dtype=t.int64)
        result = OUT[name](t, t.tensor([[3.0, 1.0], [2.0, 5.0]]), list(out) if as_list else out)
        assert result.values is out[0]
        assert result.indices is out[1]
        return result.values, result.indices

    compare(behaviour)
