"""Making ``torch.return_types`` oneself, against PyTorch."""

import pickle

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402


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
