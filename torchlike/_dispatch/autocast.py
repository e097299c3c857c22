"""Autocast: ops that compute in a lower dtype, in float32, or in the widest of their operands'.

Nothing of it is on an op's path while it is off. An op finds its compiled form in ``spec.cache``;
for the ops that have a policy, entering the first autocast of the process swaps that dictionary for
one which also looks at the thread's state (``modes.current.autocast``), and leaving the last one
swaps it back. The casts stand inside the compiled form, so their gradients are JAX's, and XLA
fuses them. Composites with a policy look at the state themselves (0.1 of their 10 µs and more).
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, modes
from torchlike.tensor import Tensor


class State(NamedTuple):
    """What is on in a thread: whose policies, and the lower dtype."""

    device: str
    dtype: Any


_LOW = """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bmm mm vecdot
    baddbmm addmm addbmm linear matmul inner scaled_dot_product_attention einsum tensordot multi_dot
    chain_matmul prelu lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell"""
_LOSSES = """mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss
    smooth_l1_loss cross_entropy l1_loss huber_loss margin_ranking_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss kl_div multilabel_margin_loss
    binary_cross_entropy_with_logits"""
#: device -> name -> "low", "float32" or "widest". The lists are PyTorch's, of its CPU and CUDA
#: kernels, and of torch_xla for TPUs; what those compute otherwise without saying (matmul as a
#: part) follows from the parts.
POLICIES: dict[str, dict[str, str]] = {"cpu": {}, "cuda": {}, "xla": {}}


def _list(device: str, policy: str, names: str) -> None:
    POLICIES[device].update(dict.fromkeys(names.split(), policy))


_list("cpu", "low", _LOW)
_list("cpu", "float32", _LOSSES)
_list(
    "cpu",
    "float32",
    """ctc_loss binary_cross_entropy avg_pool3d max_pool3d max_unpool2d
    max_unpool3d adaptive_avg_pool3d border_pad grid_sample grid_sampler polar prod quantile
    nanquantile stft cdist trace view_as_complex cholesky cholesky_ex cholesky_inverse
    cholesky_solve inverse inv inv_ex pinverse pinv lu lu_factor lu_solve orgqr ormqr geqrf qr svd
    svdvals eig eigh eigvals eigvalsh solve lstsq cond matrix_rank householder_product tensorinv
    tensorsolve triangular_solve fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2
    irfftn hfft ihfft""",
)
_list("cpu", "widest", "index_copy")
_list("cuda", "low", _LOW)
_list("cuda", "low", "mv addmv addr gru lstm_cell gru_cell")
_list("cuda", "float32", _LOSSES)
_list(
    "cuda",
    "float32",
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt
    sinh tan pow softplus layer_norm native_layer_norm group_norm cosine_similarity dist pdist
    cdist renorm logsumexp interpolate prod softmax softmin log_softmax cumprod cumsum vector_norm
    matrix_norm norm sum""",
)
_list(
    "cuda",
    "widest",
    """addcdiv addcmul atan2 bilinear cross dot vdot grid_sample grid_sampler
    index_put scatter_add index_copy""",
)
# batch_norm, float32 there too, is not in the list: it computes in float32 by itself, and writes
# its running statistics, which would be written in a cast copy.
_list(
    "xla",
    "low",
    """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d bmm mm
    baddbmm addmm addbmm linear matmul prelu relu max_pool2d einsum""",
)
_list(
    "xla",
    "float32",
    """softmax log_softmax binary_cross_entropy pow prod cdist trace cholesky
    cholesky_inverse cholesky_solve inverse mse_loss cosine_embedding_loss nll_loss
    hinge_embedding_loss smooth_l1_loss cross_entropy l1_loss margin_ranking_loss soft_margin_loss
    triplet_margin_loss multi_margin_loss ctc_loss kl_div multilabel_margin_loss
    binary_cross_entropy_with_logits qr svd triangular_solve""",
)
_list("xla", "widest", "stack cat index_copy")
_NAMES = frozenset().union(*POLICIES.values())
#: float64 is never cast, nor is anything that is no float.
_CAST = frozenset(map(np.dtype, (jnp.bfloat16, np.float16, np.float32)))
_FLOAT32 = np.dtype(np.float32)


def _target(policy: str, state: State, present: Iterable[Any]) -> Any:
    if policy == "low":
        return state.dtype
    return _FLOAT32 if policy == "float32" or _FLOAT32 in present else state.dtype


def casting(pure: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return an op's pure function with the casts of the thread's present autocast state."""
    state = modes.current.autocast
    if state is None:
        return pure
    policy = POLICIES[state.device].get(name)
    if policy is None:
        return pure

    def cast(*operands: Any) -> Any:
        # A Python number is weakly typed, and takes the dtype of the tensors.
        floats = [
            getattr(x, "dtype", None) in _CAST and not getattr(x.aval, "weak_type", False)
            for x in operands
        ]
        present = {x.dtype for x, f in zip(operands, floats, strict=True) if f}
        target = _target(policy, state, present)
        return pure(*(x.astype(target) if f else x for x, f in zip(operands, floats, strict=True)))

    return cast


# -- ops -------------------------------------------------------------------------------------------


class _AutocastCache(dict[Any, Any]):
    """The cache of an op while some thread has autocast on: one for each state."""

    def __init__(self, plain: dict[Any, Any]) -> None:
        super().__init__()
        self.plain = plain

    def get(self, key: Any, default: Any = None) -> Any:
        state = modes.current.autocast
        if state is None:
            return self.plain.get(key, default)
        return dict.get(self, (state, key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        state = modes.current.autocast
        if state is None:
            self.plain[key] = value
        else:
            dict.__setitem__(self, (state, key), value)

    def clear(self) -> None:
        dict.clear(self)
        self.plain.clear()


_specs: list[Any] = []
_caches: dict[int, _AutocastCache] = {}  # by the spec's id; specs live as long as the process
_lock = threading.Lock()
_on = 0


def watch(spec: Any) -> None:
    """Note a registered op; those with a policy are kept."""
    if spec.name in _NAMES:
        _specs.append(spec)


def enter() -> None:
    """Count one more autocast that is on somewhere in the process; the first has ops use caches
    that tell states apart."""
    global _on
    with _lock:
        _on += 1
        if _on == 1:
            for spec in _specs:
                cache = _caches.get(id(spec))
                if cache is None:
                    cache = _caches[id(spec)] = _AutocastCache(spec.cache)
                spec.cache = cache


def leave() -> None:
    """Count one autocast fewer; the last has ops use their plain caches again."""
    global _on
    with _lock:
        _on -= 1
        if _on == 0:
            for spec in _specs:
                spec.cache = spec.cache.plain


# -- composites ------------------------------------------------------------------------------------


def _cast_tensors(value: Any, cast: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return cast(value)
    if type(value) in (list, tuple):
        return type(value)(_cast_tensors(v, cast) for v in value)
    return value


def _tensors(value: Any) -> Any:
    if isinstance(value, Tensor):
        yield value
    elif type(value) in (list, tuple):
        for v in value:
            yield from _tensors(v)


def composite(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Decorate a composite that has a policy; return the function itself without one.

    Its tensors are cast (recorded, so gradients come back as they went), and inside it is off.
    """
    if name not in _NAMES:
        return fn

    @functools.wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = cast_arguments(name, args, kwargs)
        if given is None:
            return fn(*args, **kwargs)
        with switched_off():
            return fn(*given[0], **given[1])

    return function


def asks_of(name: str) -> bool:
    """Return whether the thread's present autocast state casts an op's arguments."""
    state = modes.current.autocast
    return state is not None and name in POLICIES[state.device]


def cast_arguments(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Cast the arguments of an op as the thread's present autocast state asks for; return None
    where it asks nothing."""
    if not asks_of(name):
        return None
    state = modes.current.autocast
    policy = POLICIES[state.device][name]
    whole = (list(args), list(kwargs.values()))
    present = {t.dtype.numpy for t in _tensors(whole)} & _CAST
    kind = dtypes.from_numpy_dtype(_target(policy, state, present))

    def cast(t: Tensor) -> Tensor:
        return t.to(kind) if t.dtype.numpy in _CAST else t

    return _cast_tensors(args, cast), {k: _cast_tensors(v, cast) for k, v in kwargs.items()}


class switched_off:
    """``with switched_off():`` the thread has no autocast."""

    def __enter__(self) -> None:
        self._state = modes.current.autocast
        modes.current.autocast = None

    def __exit__(self, *exc: object) -> None:
        modes.current.autocast = self._state
