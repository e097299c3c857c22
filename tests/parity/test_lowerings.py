"""A sample of the table of operators on accelerators: the rest is `python -m tools.lowerings`.

Needs the extra ``plan``, which CI has not: 300 MB of compilers, skipped there.
"""

import pytest

from torchlike.porting.plan.topologies import missing

pytest.importorskip("torch")
import lowerings

PLATFORMS = [
    pytest.param(
        p, marks=pytest.mark.skipif(missing(p) is not None, reason="needs torchlike[plan]")
    )
    for p in ("tpu", "cuda")
]
#: Of each kind of op one; names are those of the table.
SAMPLE = ["add", "nn.functional.gelu", "logsumexp", "nn.functional.conv2d", "linalg.qr", "nn.LSTM"]


@pytest.fixture(scope="module")
def subjects():
    return lowerings.subjects()


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_forward_and_backward_are_compiled(name, platform, subjects):
    found = lowerings.outcome(subjects[name], platform)
    assert found == {"forward": lowerings.COMPILED, "backward": lowerings.COMPILED}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_16_bits_and_integers_are_compiled(platform, subjects):
    found = lowerings.outcome(subjects["nn.functional.gelu"], platform, "bfloat16")
    assert set(found.values()) == {lowerings.COMPILED}
    found = lowerings.outcome(subjects["add"], platform, "int32")
    assert found == {"forward": lowerings.COMPILED, "backward": lowerings.NONE}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_size_that_depends_on_values_is_refused(platform, subjects):
    found = lowerings.outcome(subjects["nonzero"], platform)
    assert found["forward"].startswith("needs values: ")


def test_what_a_tpu_has_not_says_what_to_use(subjects):
    if missing("tpu"):
        pytest.skip("needs torchlike[plan]")
    found = lowerings.outcome(subjects["linalg.svdvals"], "tpu")
    assert "use eigh of x.mT @ x" in found["forward"]
