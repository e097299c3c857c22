"""What a mode with ``__torch_dispatch__`` sees of each call: PyTorch's overloads and arguments."""

import importlib

import numpy as np
import pytest
from dispatch_call_cases import TABLES, expressions

import torchlike

torch = pytest.importorskip("torch")

CASES = [(e, k) for text in TABLES.values() for k, e in enumerate(expressions(text))]
#: Calls that are made of other operators than PyTorch's, which computes the same of them.
DIFFERENT = {
    'torch.einsum("ij,kj->ik", x, w)',
    'torch.einsum("bij,bkj->bik", s, s)',
    "torch.unique(i)",
    "F.one_hot(i, 10)",
    "x.view(torch.int32)",
    "torch.linalg.norm(x)",
    "torch.inner(x, y)",
    "F.cosine_similarity(x, y)",
    "F.pairwise_distance(x, y)",
    "F.local_response_norm(img, 2)",
    "F.cross_entropy(x, i, label_smoothing=0.1)",
    "F.bilinear(x, x, sq.new_ones(2, 6, 6))",
    "F.hinge_embedding_loss(x, y)",
    "F.poisson_nll_loss(x, y)",
    "F.margin_ranking_loss(v, v, v)",
    "F.cosine_embedding_loss(x, y, x[:, 0].sign())",
    "F.triplet_margin_loss(x, y, x)",
}
#: Random numbers and memory that nobody wrote.
UNEQUAL = ("rand", "empty", "bernoulli", "normal_", "uniform_")


def values(library):
    rng = np.random.default_rng(0)

    def t(*size):
        return library.tensor(rng.random(size, dtype=np.float32).tolist())

    made = {
        "x": t(4, 6),
        "y": t(4, 6),
        "w": t(5, 6),
        "b": t(5),
        "v": t(6),
        "s": t(2, 3, 4),
        "img": t(2, 4, 8, 8),
        "k": t(6, 4, 3, 3),
        "sq": t(4, 4),
        "e": t(10, 6),
    }
    made["i"] = library.tensor([0, 2, 1, 3])
    made["m"] = library.tensor((rng.random((4, 6)) > 0.5).tolist())
    return {"torch": library, "F": library.nn.functional, **made}


def seen(library, expression):
    """The calls that a mode sees, and what the expression gives."""
    dispatch = importlib.import_module(f"{library.__name__}.utils._python_dispatch")
    calls = []

    def show(a):
        if isinstance(a, library.Tensor):
            return f"tensor {list(a.shape)} {str(a.dtype).removeprefix('torch.')}"
        if isinstance(a, (list, tuple)):
            return f"[{', '.join(map(show, a))}]"
        return repr(a)

    class Mode(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            given = [*map(show, args), *(f"{k}={show(v)}" for k, v in kwargs.items())]
            calls.append(f"{func}({', '.join(given)})")
            return func(*args, **kwargs)

    names = values(library)
    with Mode():
        result = eval(expression, names)
    return calls, result


def arrays(result):
    if isinstance(result, (torch.Tensor, torchlike.Tensor)):
        return [result.detach().numpy()]
    if isinstance(result, (tuple, list)):
        return [a for r in result for a in arrays(r)]
    return []


@pytest.mark.filterwarnings("ignore:.*chain_matmul", "ignore:.*divides the total loss")
@pytest.mark.parametrize(
    "expression", [pytest.param(e, marks=() if k % 6 == 0 else pytest.mark.full) for e, k in CASES]
)
def test_a_mode_sees_the_overloads_and_arguments_of_pytorch(expression):
    theirs, expected = seen(torch, expression)
    ours, result = seen(torchlike, expression)
    assert (ours == theirs) is (expression not in DIFFERENT), f"{theirs}\n{ours}"
    if not any(word in expression for word in UNEQUAL):
        for a, b in zip(arrays(result), arrays(expected), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
