"""The op table compiled for a TPU and a GPU that are not here (``python -m tools.lowerings``).

The plain run takes a sample; ``-m full`` compiles one case of each op. Needs the extra ``plan``.
"""

import pytest

pytest.importorskip("torch")

import lowerings

from torchlike.porting.plan.topologies import missing

CASES = lowerings.one_for_each()
#: Of each kind: pointwise, reduction, product, convolution, sorting, factorization, scatter.
SAMPLE = ["tanh", "logsumexp", "matmul", "nn.functional.conv2d", "sort", "linalg.cholesky",
          "index_add"]  # fmt: skip
#: What may become of an op: it is compiled, or an error says why not.
CLEAR = ("compiled", "needs values: ", "refused: ", "not on ")


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_compiled(name, platform):
    if missing(platform):
        pytest.skip("needs the extra plan")
    assert lowerings.outcome(CASES[name], platform) == "compiled"


def test_singular_vectors_are_refused_on_a_tpu():
    """XLA's TPU compiler would end the process."""
    if missing("tpu"):
        pytest.skip("needs the extra plan")
    found = lowerings.outcome(CASES["linalg.pinv"], "tpu")
    assert "cannot be compiled for a TPU" in found


@pytest.mark.full
@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("name", CASES)
def test_each_op_is_compiled_or_refused_clearly(name, platform):
    if missing(platform):
        pytest.skip("needs the extra plan")
    assert lowerings.outcome(CASES[name], platform).startswith(CLEAR)
