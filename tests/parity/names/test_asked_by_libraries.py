"""What libraries that build on PyTorch ask of it beyond its documentation, against PyTorch."""

import importlib

import numpy as np
import pytest

import torchlike
from torchlike._runtime import reference

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


class LikeALoader:
    """Has what an iterator over a loader reads, and is none."""

    _IterableDataset_len_called = generator = None
    _auto_collation = drop_last = persistent_workers = pin_memory = False
    in_order, timeout, pin_memory_device, prefetch_factor = True, 0, "", 2
    _index_sampler = range(100)

    def __init__(self, t, workers):
        self.dataset, self.num_workers = self, workers
        self._dataset_kind = t.utils.data.dataloader._DatasetKind.Iterable
        self.multiprocessing_context = None
        self.worker_init_fn = None

    _get_shared_seed = staticmethod(lambda: None)

    def __iter__(self):
        return iter([1, 2, 3])

    @staticmethod
    def collate_fn(sample):
        return sample * 2


def batches(t, workers):
    loader = t.utils.data.dataloader
    kinds = (loader._SingleProcessDataLoaderIter, loader._MultiProcessingDataLoaderIter)
    return list(kinds[workers > 0](LikeALoader(t, workers)))


def searched(t):
    lbfgs = importlib.import_module(f"{t.__name__}.optim.lbfgs")

    def loss_and_gradient(x, step, direction):
        at = (x + step * direction).detach().requires_grad_()
        loss = (at**4 - 3 * at).sum()
        return float(loss), t.autograd.grad(loss, at)[0]

    x, d = t.zeros(2), t.ones(2)
    f, g = loss_and_gradient(x, 0, d)
    found = lbfgs._strong_wolfe(loss_and_gradient, x, 5.0, d, f, g, g.dot(d), max_ls=10)
    return [round(float(v), 4) for v in (found[0], found[1].sum(), found[2], found[3])]


def wrapped(t):
    wrappers = importlib.import_module(
        f"{t.__name__}.distributed.algorithms._checkpoint.checkpoint_wrapper"
    )
    model, told = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh(), t.nn.Linear(2, 1)), []
    with t.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    plain = {n: p.clone() for n, p in model.state_dict().items()}
    for kind in (wrappers.CheckpointImpl.NO_REENTRANT, wrappers.CheckpointImpl.REENTRANT):
        wrappers.apply_activation_checkpointing(
            model,
            lambda m, kind=kind: wrappers.checkpoint_wrapper(m, checkpoint_impl=kind),
            check_fn=lambda m: isinstance(m, t.nn.Linear),
        )
        x = t.ones(3, 2, requires_grad=True)
        model(x).sum().backward()
        told += [list(model.state_dict()), x.grad, [n for n, _ in model[0].named_parameters()]]
    told += [str(model.load_state_dict(plain)), model[0].in_features, repr(model)]
    whole = wrappers.offload_wrapper(t.nn.Sequential(t.nn.Linear(2, 2)))
    return [*told, whole[0], list(whole.state_dict()), whole(t.zeros(1, 2)).shape]


def ordered(t):
    OrderedSet = importlib.import_module(f"{t.__name__}.utils._ordered_set").OrderedSet
    a, b = OrderedSet([3, 1, 2]), OrderedSet([2, 4])
    told = [a | b, a & b, a - b, a ^ b, a.union(b, [9]), a.intersection(b), a.difference([1])]
    told += [a == {1, 2, 3}, a.issubset([1, 2, 3, 4]), a.issuperset(b), list(reversed(a))]
    a.update(b, [7])
    a.discard(3)
    a.add(1)
    told += [a.pop(), a, a.copy() is a, OrderedSet(), len(a), a.symmetric_difference([1, 8])]
    return told


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
    "an object like a loader": lambda t: batches(t, 0),
    "a search by others": searched,
    "a cubic": lambda t: importlib.import_module(f"{t.__name__}.optim.lbfgs")._cubic_interpolate(
        *map(t.tensor, (0.0, 1.0, -1.0, 1.0, 2.0, 3.0))
    ),
    "checkpointed modules": wrapped,
    "an ordered set": ordered,
    "groups of tensors": lambda t: t.optim.Optimizer._group_tensors_by_device_and_dtype(
        [[t.ones(1), t.zeros(2)]], with_indices=True
    ),
    "a grouped product": lambda t: t._grouped_mm(t.ones(2, 2, 8), t.ones(2, 8, 4)),
    "which arrays are no tensors": lambda t: [
        bool(t.utils.data._utils.collate.np_str_obj_array_pattern.search(np.dtype(d).str))
        for d in ("U3", "S1", object, "f4", "i8", bool)
    ],
    "no worker": lambda t: (
        importlib.import_module(f"{t.__name__}.utils.data._utils.worker")._worker_info
    ),
    "settings of scripts": lambda t: (
        t._C._jit_set_profiling_executor(True),
        t._C._jit_set_profiling_mode(True),
        t._C._jit_set_texpr_fuser_enabled(False),
    ),
    "the accelerator": lambda t: t._C._get_accelerator(),
    "a storage of a buffer": lambda t: t.ByteStorage._from_buffer(b"abc", "native").tolist(),
    "binding to processors": lambda t: (
        importlib.import_module(f"{t.__name__}.numa.binding").NumaOptions("node"),
        [m.value for m in importlib.import_module(f"{t.__name__}.numa.binding").AffinityMode],
    ),
    "limits of compiling": lambda t: t.compile(
        lambda x: x + 1, backend="eager", recompile_limit=3, isolate_recompiles=True
    )(t.ones(1)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_pytorchs(name):
    ours, theirs = (told(CALLS[name], t) for t in BOTH)
    assert ours == theirs


@pytest.mark.skipif(reference.follows("attention refuses two masks"), reason="both refuse it")
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("jitted", [False, True])
def test_a_mask_beside_the_causal_one(name, jitted):
    def attend():
        return attended(torchlike, MASKS[name])

    ours = torchlike.jit(attend)() if jitted else attend()
    np.testing.assert_allclose(
        ours.numpy(), attended(torch, MASKS[name]).numpy(), rtol=1e-5, atol=1e-6
    )


def test_workers_load_for_an_object_like_a_loader():
    assert batches(torchlike, 1) == batches(torch, 0)


def test_remote_calls_are_said_not_to_be_there():
    import torchlike.distributed.rpc as rpc

    assert not rpc.is_available()
    with pytest.raises(NotImplementedError, match="collectives"):
        rpc.init_rpc("worker")
