"""Stubs and the page of operators say what the registry says."""

import pytest

from tools.generate import __main__ as generate

FILES = generate.files()


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_is_fresh(path):
    assert path.read_text() == FILES[path](), "stale: run python -m tools.generate"


def test_signatures_carry_facts():
    import torchlike
    from torchlike._compat.help import signatures

    softmax = signatures.of(torchlike.softmax)
    assert [p.name for p in softmax.parameters][:2] == ["input", "dim"]
    twin = signatures.of(torchlike.Tensor.add_)
    assert "out" not in [p.name for p in twin.parameters]
    assert "out" in [p.name for p in signatures.of(torchlike.add).parameters]
