"""What libraries that build on PyTorch ask of it beyond its documentation, against PyTorch."""

import importlib

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")
BOTH = (torchlike, torch)


def told(call, t):
    """Return what a call gives or raises, in either library."""
    try:
        return repr(call(t)).replace("torchlike.", "torch.")
    except Exception as error:
        return type(error).__name__, str(error)


def foreach_utils(t):
    return importlib.import_module(f"{t.__name__}.utils._foreach_utils")


def lists(t):
    return [t.ones(2), t.arange(3.0)]


def basis(t):
    return t.autograd.functional._construct_standard_basis_for(
        (t.zeros(1), t.zeros(2, dtype=t.float64)), (1, 2)
    )


def prepared(t, create_graph):
    leaf, plain = t.ones(2, requires_grad=True), t.ones(2)
    made = t.autograd.functional._grad_preprocess((leaf, plain), create_graph, True)
    return [(x.requires_grad, x.is_leaf, x is leaf) for x in made]


def attended(t, mask, shape=(1, 1, 3, 4), **options):
    q = t.linspace(-1, 1, int(np.prod(shape))).view(shape)
    of = t.tensor(mask)
    attend = t.nn.functional.scaled_dot_product_attention
    return attend(q, q, q, attn_mask=of, is_causal=True, **options)


def function_that_saves(t):
    class Saves(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return g

    return Saves


def losses(t, dtype):
    scores = t.linspace(-1, 1, 40).view(5, 2, 4).log_softmax(-1)
    labels = t.tensor([[1, 2], [2, 3]]).to(getattr(t, dtype))
    return t.nn.functional.ctc_loss(scores, labels, (5, 5), (2, 2))


MASKS = {
    "added": np.full((3, 3), 0.5, np.float32),
    "kept": np.array([[1, 0, 1], [1, 1, 1], [0, 1, 1]], bool),
    "nothing": np.zeros((3, 3), bool),
}
CALLS = {
    "foreach with NumPy's number": lambda t: t._foreach_div(lists(t), np.float32(2)),
    "foreach in place": lambda t: t._foreach_mul_(lists(t), np.float64(2)),
    "foreach with an integer": lambda t: t._foreach_pow(lists(t), np.int64(2)),
    "a basis": basis,
    "no tensors": lambda t: t.autograd.functional._construct_standard_basis_for((), ()),
    "inputs": lambda t: prepared(t, False),
    "inputs of a graph": lambda t: prepared(t, True),
    "as a tuple": lambda t: t.autograd.functional._as_tuple([1, 2]),
    "as a tuple of tensors": lambda t: t.autograd.functional._as_tuple(t.ones(1), "x", "f"),
    "no tensor": lambda t: t.autograd.functional._as_tuple((t.ones(1), 2), "x", "f"),
    "unpacked": lambda t: t.autograd.functional._tuple_postprocess(((1,), (2,)), (True, False)),
    "unpacked twice": lambda t: t.autograd.functional._tuple_postprocess(((1,),), (False, False)),
    "no graph": lambda t: t.autograd.functional._grad_postprocess(
        ((2 * t.ones(1, requires_grad=True),),), False
    ),
    "labels as floats": lambda t: losses(t, "float32"),
    "labels as halves": lambda t: losses(t, "float16"),
    "causal with three dimensions": lambda t: attended(t, MASKS["added"], (1, 3, 4)),
    "causal with dropout": lambda t: attended(t, MASKS["added"], dropout_p=0.5),
    "saved where nothing is recorded": lambda t: function_that_saves(t).apply(t.ones(2)),
    "saved where something is": lambda t: function_that_saves(t).apply(
        t.ones(2, requires_grad=True)
    ),
    "a value of a script": lambda t: isinstance(3, t._C.Value),
    "no value of a script": lambda t: t._C.Value(),
    "a singular matrix": lambda t: t._C._LinAlgError is t.linalg.LinAlgError,
    "classes for foreach": lambda t: t.Tensor in foreach_utils(t)._foreach_supported_types,
    "limits of compiling": lambda t: t.compile(
        lambda x: x + 1, backend="eager", recompile_limit=3, isolate_recompiles=True
    )(t.ones(1)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_pytorchs(name):
    ours, theirs = (told(CALLS[name], t) for t in BOTH)
    assert ours == theirs


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("jitted", [False, True])
def test_a_mask_beside_the_causal_one(name, jitted):
    def attend():
        return attended(torchlike, MASKS[name])

    ours = torchlike.jit(attend)() if jitted else attend()
    np.testing.assert_allclose(
        ours.numpy(), attended(torch, MASKS[name]).numpy(), rtol=1e-5, atol=1e-6
    )


def test_remote_calls_are_said_not_to_be_there():
    import torchlike.distributed.rpc as rpc

    assert not rpc.is_available()
    with pytest.raises(NotImplementedError, match="collectives"):
        rpc.init_rpc("worker")
