"""Collating by type, and tensors on files, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

BOTH = (torch, torchlike)


class Path:
    """What no default knows."""


def counted(batch, *, collate_fn_map=None):
    return len(batch)


CASES = {
    "by type": lambda m, c: c.collate([m.ones(2)] * 3, collate_fn_map={m.Tensor: counted}),
    "by base": lambda m, c: c.collate([True, False], collate_fn_map={int: counted}),
    "nested": lambda m, c: c.collate([{"a": (1, 2)}] * 2, collate_fn_map={int: counted}),
    "beside the defaults": lambda m, c: c.collate(
        [(Path(), 1.5, "s")] * 2, collate_fn_map={**c.default_collate_fn_map, Path: counted}
    ),
    "scalars": lambda m, c: c.default_collate([np.float64(1), np.float64(2)]),
}


@pytest.mark.parametrize("name", CASES)
def test_collate(name):
    found = [repr(CASES[name](m, m.utils.data._utils.collate)) for m in BOTH]
    assert found[0] == found[1]


def test_an_added_type_is_collated_by_default():
    for m in BOTH:
        table = m.utils.data._utils.collate.default_collate_fn_map
        table[Path] = counted
        try:
            assert m.utils.data.default_collate([Path(), Path()]) == 2
            loader = m.utils.data.DataLoader([Path()] * 4, batch_size=3)
            assert list(loader) == [3, 1]
        finally:
            del table[Path]
        with pytest.raises(TypeError, match="batch must contain tensors"):
            m.utils.data.default_collate([Path()])


@pytest.mark.parametrize("shared", [False, True])
def test_from_file(tmp_path, shared):
    for m in BOTH:
        path = tmp_path / m.__name__
        path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
        t = m.from_file(str(path), shared=shared, size=4)
        t[0] = 9
        assert t.tolist() == [9, 1, 2, 3]
        assert np.fromfile(path, np.float32)[0] == (9 if shared else 0)
        assert m.from_file(str(path), size=8, dtype=m.uint8).dtype is m.uint8
        with pytest.raises(RuntimeError, match="smaller than the required mapping size"):
            m.from_file(str(path), size=5)


def test_tags():
    members = [{name: int(tag) for name, tag in m.Tag.__members__.items()} for m in BOTH]
    assert members[0] == members[1]
