"""Ops and modules compiled for a TPU and a GPU that are not here (``python -m tools.lowerings``).

The plain run takes a sample; ``-m full`` compiles all of them in float32, forward and backward.
Needs the extra ``plan``.
"""

import pytest

pytest.importorskip("torch")

import lowerings
from lowerings import ABSENT, COMPILED, NONE

import torchlike
from torchlike.porting.plan.topologies import missing

SUBJECTS = lowerings.subjects()
#: Of each kind: pointwise, reduction, product, convolution, sorting, factorization, scatter, and a
#: module.
SAMPLE = [
    "tanh",
    "logsumexp",
    "matmul",
    "nn.functional.conv2d",
    "sort",
    "linalg.cholesky",
    "index_add",
    "nn.LayerNorm",
]
#: What may become of an op: it is compiled, or an error says why not.
CLEAR = (COMPILED, NONE, ABSENT, "needs ", "refused: NotImplementedError: ")


@pytest.fixture(params=["tpu", "cuda"])
def platform(request):
    if missing(request.param):
        pytest.skip("needs the extra plan")
    return request.param


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_compiled_forward_and_backward(name, platform):
    found = lowerings.outcome(SUBJECTS[name], platform)
    assert found == {"forward": COMPILED, "backward": COMPILED}


def test_what_has_no_gradient_is_not_counted_as_compiled_backward(platform):
    assert lowerings.outcome(SUBJECTS["argmax"], platform)["backward"] == NONE


def test_a_backward_that_cannot_be_captured_is_told(platform):
    """The forward is compiled; that the backward is not, is not swallowed."""

    def subject(library, dtype):
        x = library.ones(3, requires_grad=True)

        def function(x):
            y = x * 2
            if library is torchlike:
                y.register_hook(lambda g: g * float(g.sum()))
            return y

        return lowerings.Call(function, (x,), {}, [x])

    found = lowerings.outcome(subject, platform)
    assert found["forward"] == COMPILED
    assert found["backward"].startswith("needs values: ")


@pytest.mark.parametrize("name", ["linalg.pinv", "linalg.eigvals"])
def test_what_a_tpu_cannot_decompose_is_refused(name):
    """XLA's TPU compiler would end the process, or has no such rule."""
    if missing("tpu"):
        pytest.skip("needs the extra plan")
    found = lowerings.outcome(SUBJECTS[name], "tpu")
    assert "cannot be compiled for a TPU" in found["forward"]


@pytest.mark.full
@pytest.mark.parametrize("name", SUBJECTS)
def test_each_is_compiled_or_refused_clearly(name, platform):
    found = lowerings.outcome(SUBJECTS[name], platform)
    assert all(x.startswith(CLEAR) for x in found.values()), found
