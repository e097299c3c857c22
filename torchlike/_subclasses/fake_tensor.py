"""``torch._subclasses.fake_tensor``: tensors without values that say another device than meta.

A FakeTensor is a meta tensor with a device. Operators that meet one run on the meta device; those
whose result depends on values raise.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple, Self

from torchlike._compat.symbolic import (
    SymBool,
    SymInt,
    SymNode,
    hint_of,
    is_symbolic,
)
from torchlike._core import devices, dtypes, errors, modes, overrides
from torchlike._core.overrides import no_function
from torchlike._core.size import Size, size_of
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.overrides import protocol
from torchlike._ops.aten.tags import Tag
from torchlike._subclasses.constants import Constants, is_one_value
from torchlike._subclasses.fake_context import FakeImplCtx, running
from torchlike._subclasses.fake_errors import (
    REFUSALS as REFUSALS,
)
from torchlike._subclasses.fake_errors import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torchlike._subclasses.fake_sizes import by_mask, product, set_size
from torchlike._subclasses.symbolic_results import sizes_of_results
from torchlike._subclasses.symbolic_rules import sizes_by_values
from torchlike.ops._aten.handlers import tensors_of
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor, wrap
from torchlike.utils import _pytree as pytree
from torchlike.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

__all__ = [
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorConverter",
    "FakeTensorMode",
    "MetadataMismatchError",
    "UnsupportedFakeTensorException",
    "UnsupportedOperatorException",
    "is_fake",
    "maybe_get_fake_mode",
    "unset_fake_temporarily",
]


_OF_VALUES = ("_local_scalar_dense", "equal", "allclose", "is_nonzero")
_SHAPED_BY_VALUES_TEXT = """
nonzero masked_select _unique2 unique_dim unique_consecutive bincount
"""
_SHAPED_BY_VALUES = tuple(_SHAPED_BY_VALUES_TEXT.split())


#: Of an operator that is run to know what it gives.
_ASKED = object()


def _on_meta(t: Tensor) -> Tensor:
    """Make a meta tensor of a tensor's size, strides and dtype."""
    size, stride, _ = t._geometry
    made = wrap(MetaArray(size, t.dtype.numpy))
    if stride != made.stride():
        made = made.new_empty_strided(size, stride)
    return made


#: What asks for a size: answered by a fake itself.
_OF_SIZES = {
    "sym_size": Tensor.size,
    "sym_stride": Tensor.stride,
    "sym_numel": Tensor.numel,
    "sym_storage_offset": Tensor.storage_offset,
}


class FakeTensor(Tensor):
    """A tensor without values on a device that need not be there."""

    __torch_function__: Any = no_function
    fake_device: Any
    fake_mode: FakeTensorMode
    _constant: Tensor | None = None
    #: The number that stands for its one value, and the version that had it.
    _number: tuple[int, Any] | None = None
    #: Whether only values tell where in the memory it begins.
    _begins_by_values = False
    #: Its size with symbols; None where all sizes are plain numbers.
    symbolic_size: tuple[Any, ...] | None = None

    @staticmethod
    def __new__(
        cls: Any, fake_mode: Any, elem: Tensor, device: Any, constant: Any = None, **more: Any
    ) -> Any:
        made = cls._on(elem._storage, elem._view)
        place = devices.device(device)
        if place.type in ("cuda", "xpu", "mps") and place.index is None:
            place = devices.device(place.type, 0)
        made.fake_device = place
        made.fake_mode = fake_mode
        if constant is not None:
            made._constant = constant
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: all is done by ``__new__``."""

    @property
    def device(self) -> Any:
        """The device it says."""
        return self.fake_device

    @property
    def constant(self) -> Tensor | None:
        """A tensor of its one value, where that is known; None where it is not, or once something
        unknown was written into the memory."""
        return self.fake_mode._constants.valid(self._constant)

    is_meta = property(lambda self: self.fake_device.type == "meta")

    @property
    def shape(self) -> Size:
        """The size, of ints and SymInts."""
        known = self.symbolic_size
        return size_of(self._geometry.size if known is None else known)

    def size(self, dim: int | None = None) -> Any:
        """Return the size, or that of one dimension."""
        shape = self.shape
        return shape if dim is None else shape[errors.wrap_dim(dim, len(shape))]

    def numel(self) -> Any:
        """Return the number of elements."""
        if self.symbolic_size is None:
            return Tensor.numel(self)
        return self._asked(product(self.shape), aten.sym_numel.default)

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides, or that of one dimension. NotImplementedError where sizes are symbols
        and the elements do not fill the memory."""
        strides = self._geometry.stride
        if self.symbolic_size is not None:
            strides = self._symbolic_strides(strides)
        return strides if dim is None else strides[errors.wrap_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """Return the position of the first element in the storage. NotImplementedError where that
        depends on symbols."""
        offset = Tensor.storage_offset(self)
        if self._begins_by_values or (self.symbolic_size is not None and offset):
            raise NotImplementedError(
                "storage_offset() of a FakeTensor of symbolic size that is part of another tensor"
            )
        return offset

    def _symbolic_strides(self, strides: tuple[int, ...]) -> tuple[Any, ...]:
        size, made, step = self.shape, list(strides), 1
        order = [d for d in range(len(size)) if strides[d] and hint_of(size[d]) > 1]
        for d in sorted(order, key=lambda d: (strides[d], -d)):
            if hint_of(step) != strides[d]:
                raise NotImplementedError(
                    f"the strides of a FakeTensor of size {tuple(size)}, whose elements do not "
                    "fill the memory: use clone(memory_format=torch.contiguous_format) first"
                )
            made[d] = self._asked(step, aten.sym_stride.int, d)
            step = product((step, size[d]))
        return tuple(made)

    def _asked(self, number: Any, overload: Any, *dim: int) -> Any:
        """Return a number that graphs get by asking this tensor."""
        if not isinstance(number, SymInt):
            return number
        node = number.node
        return SymInt(SymNode(node.expr, node.shape_env, node.hint, (overload, (self, *dim))))

    @staticmethod
    def from_tensor(t: Tensor, fake_mode: FakeTensorMode) -> FakeTensor:
        """Return ``fake_mode.from_tensor(t)``."""
        return fake_mode.from_tensor(t)

    def snapshot(self) -> FakeTensor:
        """Return another fake of the same memory, which stays as it is where this one changes its
        size."""
        made = FakeTensor(self.fake_mode, self, self.fake_device, self._constant)
        made.symbolic_size = self.symbolic_size
        return made

    def meta(self) -> Tensor:
        """Return the same storage and view as a meta tensor."""
        return Tensor._on(self._storage, self._view)

    def tolist(self) -> Any:
        """Return the values: unbacked symbols where they are not known and the mode has a
        ``shape_env``, else DataDependentOutputException."""
        if self.constant is not None:
            return self.constant.tolist()
        if self.fake_mode.shape_env is None:
            raise DataDependentOutputException(aten._local_scalar_dense.default)
        return [part.tolist() for part in self.unbind(0)] if self.dim() else self.item()

    def numpy(self, *, force: bool = False) -> Any:
        """Raise RuntimeError: there are no values."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if getattr(self, "_is_param", False):
            vars(self).pop("_is_param")
            try:
                return f"Parameter({self!r})"
            finally:
                self._is_param = True
        said = f"FakeTensor(..., size={tuple(self.shape)}"
        if self.fake_device.type != "cpu":
            said = f"FakeTensor(..., device='{self.fake_device}', size={tuple(self.shape)}"
        if str(self.dtype) != "torch.float32":
            said += f", dtype={self.dtype}"
        if self.requires_grad:
            node = self.grad_fn
            said += ", requires_grad=True" if node is None else f", grad_fn=<{node.short_name()}>"
        return f"{said})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        kwargs = kwargs or {}
        for kind in types:
            if kind is not FakeTensor and protocol.dispatches(kind):
                return NotImplemented
        mode = maybe_get_fake_mode((args, kwargs))
        assert mode is not None
        return mode.run(func, args, kwargs)


class DispatchCacheInfo(NamedTuple):
    """How a cache of operators' results is used."""

    hits: int
    misses: int
    bypasses: dict[str, int]
    size: int


class FakeTensorConverter:
    """Makes fakes of tensors, for modes that are named at each call: the mode remembers them."""

    def from_real_tensor(
        self, fake_mode: FakeTensorMode, t: Tensor, make_constant: bool = False, **options: Any
    ) -> Any:
        """Return the fake of a tensor: the same each time."""
        return fake_mode.from_tensor(t)

    def from_meta_and_device(
        self, fake_mode: FakeTensorMode, t: Tensor, device: Any, **options: Any
    ) -> FakeTensor:
        """Return a fake of a meta tensor's size and dtype, on a device. AssertionError for a tensor
        with values."""
        if not t.is_meta:
            raise AssertionError(f"tensor's device must be `meta`, got {t.device.type} instead")
        return FakeTensor(fake_mode, t, device)


class FakeTensorMode(TorchDispatchMode):
    """``with FakeTensorMode():`` what is made is fake, and operators compute shapes alone.

    Args:
      allow_non_fake_inputs: whether tensors with values may meet fake ones: they are faked.

      shape_env: a ShapeEnv: sizes of tensors that are faked become its symbols.
      static_shapes: whether they stay numbers all the same.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
        **more: Any,
    ) -> None:
        super().__init__()
        self.allow_fallback_kernels = allow_fallback_kernels
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self.shape_env = shape_env
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._sources: dict[int, Any] = {}
        self._constants = Constants()
        self.in_kernel_invocation = False
        self._outer: list[unset_fake_temporarily] = []

    def __enter__(self) -> Self:
        """Make what follows fakes of this mode, in place of one that is on already."""
        outer = unset_fake_temporarily()
        outer.__enter__()
        self._outer.append(outer)
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._outer.pop().__exit__()

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return True: it is PyTorch's own."""
        return True

    @classmethod
    def cache_info(cls) -> DispatchCacheInfo:
        """Return how the cache of results is used: results are not kept."""
        return DispatchCacheInfo(0, 0, {}, 0)

    @classmethod
    def cache_clear(cls) -> None:
        """Forget results that were kept: there are none."""

    @property
    def fake_tensor_converter(self) -> FakeTensorConverter:
        """What makes this mode's fakes."""
        return FakeTensorConverter()

    def from_tensor(
        self, tensor: Tensor, *, static_shapes: bool | None = None, **options: Any
    ) -> Any:
        """Make a fake of a tensor, or return the one that was made of it before: the same each
        time, with its requires_grad.

        ``static_shapes``: whether its sizes stay numbers; as the mode says by default.
        AssertionError for a fake of another mode.
        """
        if isinstance(tensor, FakeTensor):
            if tensor.fake_mode is not self:
                raise AssertionError("Mixing fake modes NYI")
            return tensor
        found = self._known.get(id(tensor))
        source = self._sources.get(id(tensor))
        if found is not None and source is not None and source() is tensor:
            return found
        made = self._faked(tensor, None)
        static = self.static_shapes if static_shapes is None else static_shapes
        if self.shape_env is not None and not static:
            set_size(made, self.shape_env.sizes_for(tensor.shape))
        if getattr(tensor, "_is_param", False):
            made._is_param = True
        if tensor.requires_grad:
            made.requires_grad_()
        self._known[id(tensor)] = made
        self._sources[id(tensor)] = weakref.ref(tensor)
        return made

    def _faked(self, tensor: Tensor, constant: Any) -> FakeTensor:
        return FakeTensor(self, _on_meta(tensor), tensor.device, constant)

    def _copied(self, fake: FakeTensor) -> FakeTensor:
        """Copy a fake, with memory of its own."""
        known = fake.constant
        constant = None if known is None else known.clone()
        made = FakeTensor(self, _on_meta(fake.meta()), fake.fake_device, constant)
        made.symbolic_size = fake.symbolic_size
        return made

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> overrides.Result:
        for kind in types:
            if kind is not FakeTensor and protocol.dispatches(kind):
                return NotImplemented
        return self.run(func, args, kwargs or {})

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> overrides.Result:
        """Run an operator on fakes.

        DataDependentOutputException and DynamicOutputShapeException where values are needed.
        AssertionError for a tensor with values, unless they are allowed. RuntimeError for operands
        on several devices.
        """
        name = func.overloadpacket.__name__
        known = self._answered(func, name, args, kwargs)
        if known is not _ASKED:
            return known
        args, kwargs = self._converted(func, args, kwargs)
        if name in _SHAPED_BY_VALUES or (name == "index" and by_mask(args)):
            return self._shaped_by_values(func, args, kwargs)
        kernels = getattr(func.operator, "kernels", None)
        if kernels and ("meta" in kernels or not ("default" in kernels or func.operator.opaque)):
            return self._by_its_fake(func, args, kwargs)
        sizes = self._symbolic_sizes(func, args, kwargs)
        device = self._device(func, args, kwargs)
        fakes = [t for t in tensors_of((*args, *kwargs.values())) if isinstance(t, FakeTensor)]
        if "device" in kwargs:
            kwargs = {**kwargs, "device": devices.META}
        plain_args, plain_kwargs = pytree.tree_map(
            lambda a: a.meta() if isinstance(a, FakeTensor) else hint_of(a), (args, kwargs)
        )
        by_values = name == "select" and is_symbolic(args[2])
        if by_values:
            plain_args = (*plain_args[:2], 0)
        with modes.unrecorded():
            out = func.operator(*plain_args, **plain_kwargs)
        if Tag.inplace_view in func.tags:
            return self._viewed_in_place(args[0], out, sizes)
        written = func._schema.is_mutable

        def wrapped(o: Any) -> Any:
            if not isinstance(o, Tensor) or isinstance(o, FakeTensor):
                return o
            size = None if sizes is None else next(sizes)
            if written:
                for t in fakes:
                    if t._storage is o._storage and t._view is o._view:
                        return t
            made = FakeTensor(self, o, device)
            made._begins_by_values = by_values
            if size is not None:
                set_size(made, size)
            return made

        results = pytree.tree_map(wrapped, out)
        constants = self._constants.after(
            func, args, kwargs, lambda t: t.constant if isinstance(t, FakeTensor) else None
        )
        if constants is not None:
            made = tensors_of(pytree.tree_leaves(results))
            for fake, constant in zip(made, constants, strict=True):
                fake._constant = constant  # type: ignore[attr-defined]
        return results

    def _answered(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Return what an operator gives that asks for a size or a value, or takes what is known;
        ``_ASKED`` for all others."""
        if name in _OF_SIZES:
            return getattr(args[0], _OF_SIZES[name].__name__)(*args[1:])
        if func in (aten.lift_fresh.default, aten.lift_fresh_copy.default):
            given = args[0]
            if not isinstance(given, FakeTensor):
                return self._faked(given, given.clone() if is_one_value(given) else None)
            return given if func is aten.lift_fresh.default else self._copied(given)
        if name in _OF_VALUES:
            if isinstance(args[0], FakeTensor) and args[0].constant is not None:
                return func(*pytree.tree_map(lambda a: getattr(a, "constant", a), args), **kwargs)
            number = self._number_of(args[0]) if name == "_local_scalar_dense" else None
            if number is None:
                raise DataDependentOutputException(func)
            return number
        if name == "_assert_scalar" and isinstance(args[0], SymBool):
            return self.shape_env.assume(args[0])
        return _ASKED

    def _by_its_fake(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run the fake of an operator of the user's. UnsupportedOperatorException without one."""
        operator = func.operator
        if "meta" not in operator.kernels:
            raise UnsupportedOperatorException(func)
        with running(FakeImplCtx(self.shape_env, func, DynamicOutputShapeException)), self:
            result = operator.kernels["meta"](*args, **kwargs)
        for t in operator._written(args, kwargs):
            t._storage.version += 1
        return result

    def _number_of(self, fake: Any) -> Any:
        """Return the unbacked symbol that stands for a tensor's one value, the same until it is
        written; None where there can be none."""
        if self.shape_env is None or not isinstance(fake, FakeTensor):
            return None
        if fake.dtype is dtypes.bool or fake.dtype.is_complex or fake.numel() != 1:
            return None
        if fake._number is None or fake._number[0] != fake._version:
            env = self.shape_env
            made = env.unbacked_float() if fake.dtype.is_floating_point else env.unbacked_int()
            fake._number = fake._version, made
        return fake._number[1]

    def _shaped_by_values(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the fakes of results of which a size is an unbacked symbol.

        DynamicOutputShapeException where the mode has no ``shape_env``, and for operators whose
        results no one symbol describes.
        """
        name = func.overloadpacket.__name__
        found = None if self.shape_env is None else sizes_by_values(name, args, kwargs)
        if found is None:
            raise DynamicOutputShapeException(aten.nonzero.default if name == "index" else func)
        most, sizes = found
        made = []
        env: Any = self.shape_env
        count = env.unbacked_int(0, math.inf if is_symbolic(most) else most)
        for size, dtype in sizes(count):
            meta = wrap(MetaArray(tuple(map(hint_of, size)), (dtype or args[0].dtype).numpy))
            made.append(FakeTensor(self, meta, args[0].fake_device))
            set_size(made[-1], size)
        return made[0] if len(made) == 1 else tuple(made)

    @staticmethod
    def _viewed_in_place(fake: FakeTensor, meta: Tensor, sizes: Any) -> FakeTensor:
        """Change a fake as an operator such as ``t_`` has changed the meta tensor, and return
        it."""
        fake._storage, fake._view = meta._storage, meta._view
        fake._constant = fake.symbolic_size = None
        if sizes is not None:
            set_size(fake, next(sizes))
        return fake

    def _symbolic_sizes(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the sizes of the tensors that an operator gives, in order; None for plain
        numbers."""
        if self.shape_env is None or not any(
            is_symbolic(a) or (isinstance(a, FakeTensor) and a.symbolic_size is not None)
            for a in pytree.tree_leaves((args, kwargs))
        ):
            return None
        return iter(sizes_of_results(func, args, kwargs, self.shape_env))

    def _converted(self, func: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        def convert(a: Any) -> Any:
            if isinstance(a, FakeTensor) and a.fake_mode is not self:
                raise AssertionError(
                    f"Mixing fake modes NYI x.fake_mode={a.fake_mode} vs self={self}"
                )
            if not isinstance(a, Tensor) or isinstance(a, FakeTensor):
                return a
            if self.allow_non_fake_inputs:
                return self.from_tensor(a)
            raise AssertionError(
                "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode "
                f"with 'allow_non_fake_inputs'. Found in {_shown(func, args, kwargs)}"
            )

        return pytree.tree_map(convert, (args, kwargs))

    def _device(self, func: Any, args: Any, kwargs: Any) -> Any:
        asked = kwargs.get("device")
        if asked is not None:
            return devices.device(asked)
        found = None
        alone = True
        for t in tensors_of((*args, *kwargs.values())):
            is_number = t.dim() == 0 and t.device.type == "cpu"
            if found is None or (alone and not is_number):
                found, alone = t.device, is_number
            elif found != t.device and not is_number:
                raise RuntimeError(
                    f"Unhandled FakeTensor Device Propagation for {func}, found two different "
                    f"devices {found}, {t.device}"
                )
        return found or devices.get_default_device()


def _shown(func: Any, args: Any, kwargs: Any) -> str:
    """Return a call as errors show it: tensors without their values."""

    def text(a: Any) -> str:
        if isinstance(a, Tensor) and not isinstance(a, FakeTensor):
            return f"tensor([...], size={tuple(a.shape)})"
        return repr(a)

    parts = [*map(text, args), *(f"{k}={text(v)}" for k, v in kwargs.items())]
    return f"{func}({', '.join(parts)})"


def is_fake(x: Any) -> bool:
    """Return whether a tensor, or one inside a wrapper subclass, is fake."""
    if isinstance(x, FakeTensor):
        return True
    if is_traceable_wrapper_subclass(x):
        return any(is_fake(getattr(x, name)) for name in x.__tensor_flatten__()[0])
    return False


def maybe_get_fake_mode(x: Any) -> FakeTensorMode | None:
    """Return the mode of the first fake tensor in a nest; None without one."""
    for leaf in pytree.tree_leaves(x):
        if isinstance(leaf, FakeTensor):
            return leaf.fake_mode
    return None


class unset_fake_temporarily:
    """``with unset_fake_temporarily():`` no FakeTensorMode is on."""

    def __enter__(self) -> FakeTensorMode | None:
        kept: list[Any] = []
        while overrides.state.dispatch_modes:
            kept.insert(0, protocol.pop_dispatch())
        self._kept = kept
        for mode in kept:
            if not isinstance(mode, FakeTensorMode):
                protocol.push_dispatch(mode)
        return next((m for m in kept if isinstance(m, FakeTensorMode)), None)

    def __exit__(self, *exc: object) -> None:
        while overrides.state.dispatch_modes:
            protocol.pop_dispatch()
        for mode in self._kept:
            protocol.push_dispatch(mode)
