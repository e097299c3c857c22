"""Names outside of the tensor operations against PyTorch's: storages, futures, devices that are not
there, numbers in place of symbols."""

# ruff: noqa: UP006, UP007, UP045 - the older spellings of types are tested

import pickle
import typing
from importlib import import_module

import pytest
from oracle import compare

import torchlike
import torchlike.fx.experimental.symbolic_shapes
import torchlike.onnx.operators

torch = pytest.importorskip("torch")
import_module("torch.fx.experimental.symbolic_shapes")
import_module("torch.onnx.operators")

pytestmark = [
    pytest.mark.skipif(torchlike.cuda.is_available(), reason="answers of a machine without a GPU"),
]
BOTH = (torchlike, torch)


def matrix(t, dtype="float32"):
    return t.arange(6).reshape(2, 3).to(getattr(t, dtype))


STORAGES = {
    "repr": lambda s, x: s,
    "view": lambda s, x: (x[1].storage().size(), x[1].storage().tolist(), x.t()[1:].storage()[5]),
    "size": lambda s, x: (s.size(), len(s), s.nbytes(), s.element_size()),
    "address": lambda s, x: (
        s.data_ptr() == x.data_ptr(),
        x[1:].storage().data_ptr() == s.data_ptr(),
    ),
    "items": lambda s, x: (s[2], s[-1], list(s), s.tolist()),
    "slice": lambda s, x: s[1:3],
    "out of range": lambda s, x: s[10],
    "no index": lambda s, x: s["a"],
    "types": lambda s, x: (s.dtype, s.type(), s.pickle_storage_type(), s.is_cuda, s.is_shared()),
    "device": lambda s, x: s.device,
    "casts": lambda s, x: (s.double(), s.long(), s.half(), s.bool()),
    "clone": lambda s, x: (s.clone(), s.clone() == s, x.storage() == s, s.cpu()),
    "write": lambda s, x: (s.__setitem__(0, 5), x.tolist()),
    "fill": lambda s, x: (s.fill_(2), x.tolist()),
    "copy": lambda s, x: (s.copy_(x.flip(0).storage()), x.tolist()),
    "untyped": lambda s, x: (s.untyped().nbytes(), s.untyped().data_ptr() == x.data_ptr()),
}


@pytest.mark.parametrize("name", STORAGES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16"])
def test_storages(name, dtype):
    def ask(t):
        x = matrix(t, dtype)
        return STORAGES[name](x.storage(), x)

    compare(ask)


def test_the_storage_of_another_memory_order():
    def ask(t):
        x = matrix(t)
        y = x.t() + 1
        return x.t().storage().tolist(), y.stride(), y.storage().tolist(), t.is_storage(y.storage())

    compare(ask)


NAMES = {
    **{
        f"dense {n}": (lambda t, n=n: getattr(matrix(t), n)())
        for n in ("coalesce", "indices", "values", "is_coalesced", "sparse_dim", "dense_dim")
    },
    "to_sparse_coo": lambda t: matrix(t).to_sparse_coo(),
    "reinforce": lambda t: matrix(t).reinforce(1),
    **{
        f"norm_except_dim {dim}": (lambda t, dim=dim: t.norm_except_dim(matrix(t), 2, dim).tolist())
        for dim in (0, 1, -1)
    },
    "norm_except_dim of a vector": lambda t: t.norm_except_dim(matrix(t)[1]),
    "affine_grid_generator": lambda t: t.affine_grid_generator(
        matrix(t)[None] / 4, (1, 1, 2, 3), False
    ),
    "spmm": lambda t: t.spmm(matrix(t).to_sparse(), t.ones(3, 2)),
    "spmm of dense": lambda t: t.spmm(matrix(t), t.ones(3, 2)),
    "reset": lambda t: t.compiler.reset(),
    "shape_as_tensor": lambda t: t.onnx.operators.shape_as_tensor(matrix(t)),
    # A build of PyTorch's for CUDA names cuda, also without a GPU.
    **(
        {}
        if torch.version.cuda
        else {"device module": lambda t: t.get_device_module().__name__.partition(".")[2]}
    ),
    "device module of cuda": lambda t: t.get_device_module("cuda:1") is t.cuda,
    "device module of a device": lambda t: t.get_device_module(t.device("cpu")) is t.cpu,
    "no device module": lambda t: t.get_device_module("zz"),
    "cpu": lambda t: (
        t.cpu.current_device(),
        t.cpu.device_count(),
        t.cpu.is_available(),
        t.cpu.synchronize(),
    ),
    "macos": lambda t: t.backends.mps.is_macos_or_newer(13, 0),
    "scatter to cpu": lambda t: t.nn.parallel.scatter(matrix(t), ["cpu"]),
    "gather on cpu": lambda t: t.nn.parallel.gather([matrix(t)], 0),
    "restore": lambda t: t.serialization.default_restore_location(
        matrix(t).untyped_storage(), "cpu"
    ).nbytes(),
    "restore to cuda": lambda t: t.serialization.default_restore_location(
        matrix(t).untyped_storage(), "cuda:0"
    ),
    "restore to nowhere": lambda t: t.serialization.default_restore_location(
        matrix(t).untyped_storage(), "zz"
    ),
    **{
        f"mps {n}": (lambda t, n=n: getattr(t.mps, n)())
        for n in (
            "empty_cache",
            "current_allocated_memory",
            "driver_allocated_memory",
            "synchronize",
            "device_count",
            "get_rng_state",
            "recommended_max_memory",
            "seed",
            "is_available",
        )
    },
    **{
        f"xpu {n}": (lambda t, n=n: getattr(t.xpu, n)())
        for n in (
            "get_device_properties",
            "memory_allocated",
            "get_device_name",
            "memory_reserved",
            "get_device_capability",
            "max_memory_allocated",
            "memory_stats",
            "get_rng_state_all",
            "current_stream",
            "get_rng_state",
            "seed",
            "seed_all",
            "initial_seed",
            "init",
            "mem_get_info",
            "get_arch_list",
            "get_gencode_flags",
            "memory_stats_as_nested_dict",
            "current_device",
            "synchronize",
            "is_tf32_supported",
            "empty_cache",
            "is_bf16_supported",
            "is_initialized",
            "device_count",
            "is_available",
        )
    },
    "xpu set": lambda t: t.xpu.set_device(0),
    "xpu device": lambda t: t.xpu.device(0).__enter__(),
    "xpu peers": lambda t: t.xpu.can_device_access_peer(0, 1),
}


@pytest.mark.parametrize("name", NAMES)
def test_answers(name):
    compare(NAMES[name], words=45)


NUMBERS = {
    "int": lambda t: (t.sym_int(2.7), t.sym_int(-2.7), t.sym_float(2)),
    "no int": lambda t: t.sym_int("a"),
    "min": lambda t: (t.sym_min(2, 3), t.sym_min(2, 3.0), t.sym_max(2, 3), t.sym_max(4, 3.0)),
    "ite": lambda t: (t.sym_ite(True, 1, 2), t.sym_ite(False, 1, 2)),
    "ite of a number": lambda t: t.sym_ite(1, 1, 2),
    "ite of two types": lambda t: t.sym_ite(True, 1, 2.0),
    "not": lambda t: (t.sym_not(True), t.sym_not(0), t.sym_not(3)),
    "sum": lambda t: (t.sym_sum([1, 2, 3]), t.sym_sum((1, 2)), t.sym_sum(1, 2), t.sym_sqrt(4)),
    **{
        f"{n}({v})": (lambda t, n=n, v=v: getattr(t.fx.experimental.symbolic_shapes, n)(v))
        for n in ("guard_or_false", "guard_or_true", "statically_known_true")
        for v in (True, False)
    },
    "guard of a number": lambda t: t.fx.experimental.symbolic_shapes.guard_or_false(1),
    "symbols": lambda t: t.fx.experimental.symbolic_shapes.is_symbolic(3),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_in_place_of_symbols(name):
    compare(NUMBERS[name])


def types(t):
    return {
        "list": typing.List[int],
        "lists": typing.List[typing.List[int]],
        "dict": typing.Dict[str, t.Tensor],
        "tuple": typing.Tuple[int, str],
        "optional": typing.Optional[int],
        "union": typing.Union[int, str],
        "new list": list[int],
        "new union": int | None,
        "several": (typing.List[str], typing.List[int]),
        "tensor": t.Tensor,
        "optionals": typing.List[typing.Optional[int]],
        "bare list": typing.List,
        "bare dict": typing.Dict,
        "bare tuple": typing.Tuple,
        "int": int,
    }


@pytest.mark.parametrize("kind", types(torchlike))
def test_jit_isinstance(kind):
    def ask(t):
        values = (
            [1, 2],
            [1, "a"],
            {"a": t.ones(1)},
            {"a": 1},
            (1, "a"),
            (1,),
            None,
            1,
            True,
            "a",
            t.ones(1),
            [None, 1],
            [[1]],
        )
        # PyTorch takes None to be of every Union.
        asked = [v for v in values if v is not None or kind != "union"]
        return [t.jit.isinstance(v, types(t)[kind]) for v in asked]

    compare(ask)


def test_flags_of_backends():
    for t in BOTH:
        flags = t.backends.cudnn
        before = flags.enabled, flags.benchmark, flags.deterministic
        with flags.flags(enabled=False, benchmark=True):
            assert (flags.enabled, flags.benchmark, flags.deterministic) == (False, True, False)
        assert (flags.enabled, flags.benchmark, flags.deterministic) == before
        with pytest.warns(FutureWarning, match="sdpa_kernel"):
            region = t.backends.cuda.sdp_kernel(enable_flash=False)
        with region as given:
            assert given == {}


def done(t, value):
    future = t.futures.Future()
    future.set_result(value)
    return future


def failed(t):
    future = t.futures.Future()
    future.set_exception(ValueError("no"))
    return future


def called_back(t):
    seen, future = [], t.futures.Future()
    future.add_done_callback(lambda f: seen.append(f.value()))
    after = future.then(lambda f: f.wait() + 1)
    waiting = after.done()
    future.set_result(7)
    future.add_done_callback(lambda f: seen.append(-f.value()))
    return seen, waiting, after.wait(), future.done()


def called_back_with_errors(t):
    seen, future = [], t.futures.Future()
    for callback in (lambda: 1, lambda f: 1 / 0, lambda f: seen.append(f.value())):
        future.add_done_callback(callback)
    future.set_result(7)
    future.add_done_callback(lambda: 1)
    return seen, future.wait()


FUTURES = {
    "errors of callbacks": called_back_with_errors,
    "pickled": lambda t: pickle.dumps(done(t, 3)),
    "result": lambda t: (done(t, 3).wait(), done(t, 3).value(), done(t, 3).done()),
    "twice": lambda t: done(t, 3).set_result(4),
    "callbacks": called_back,
    "exception": lambda t: failed(t).wait(),
    "exception as value": lambda t: failed(t).value(),
    "no exception": lambda t: t.futures.Future().set_exception(3),
    "all": lambda t: [f.wait() for f in t.futures.collect_all([done(t, 1), done(t, 2)]).wait()],
    "wait for all": lambda t: t.futures.wait_all([done(t, 1), done(t, 2)]),
    "one failed": lambda t: t.futures.wait_all([done(t, 1), failed(t)]),
    "none": lambda t: t.futures.wait_all([]),
    "callback failed": lambda t: done(t, 1).then(lambda f: 1 / 0).wait(),
}


@pytest.mark.parametrize("name", FUTURES)
def test_futures(name):
    compare(FUTURES[name], words=60)


def test_swapped_tensors():
    def ask(t):
        p = t.nn.Parameter(t.ones(2))
        x = t.zeros(3)
        p.name_of_mine = 1
        (p * 3).sum().backward()
        t.utils.swap_tensors(p, x)
        x.square().sum().backward()
        return (
            type(p) is t.Tensor,
            type(x) is t.nn.Parameter,
            p.tolist(),
            x.tolist(),
            hasattr(p, "name_of_mine"),
            x.name_of_mine,
            p.grad,
            x.grad.tolist(),
        )

    compare(ask)
    assert typing.get_origin(torchlike.futures.Future[int]) is torchlike.futures.Future
