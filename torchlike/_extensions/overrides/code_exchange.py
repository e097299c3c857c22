"""How public functions come to ask ``__torch_function__``: their code is exchanged.

A function that is public under several names is one object for each (``torch.add``,
``torch.Tensor.add``, ``torch.Tensor.__add__``), since the protocol names the one that was called.
All run the same code. Until something exists that could be asked, that is the op's own code, and a
call pays nothing. ``exchange`` gives each public function (the objects stay, whoever holds them)
code that looks at the classes of its arguments and at the modes, and goes on to the old code.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from torchlike._core import overrides
from torchlike._core.dispatch.registry import NAMESPACES, OP_FUNCTIONS, OPTIONS
from torchlike._extensions.overrides import protocol
from torchlike._extensions.overrides.python_signatures import read, table
from torchlike._runtime.function_objects import copy_of
from torchlike.tensor import Tensor, all_attributes

if TYPE_CHECKING:
    from torchlike._extensions.overrides.python_signatures import Form

#: Tensor's attributes that PyTorch passes on by another name.
_REPORTED_TEXT = """
__add__:add __radd__:add __iadd__:add_ __sub__:sub __isub__:sub_ __mul__:mul __rmul__:mul
__imul__:mul_ __truediv__:div __itruediv__:div_ __ifloordiv__:floor_divide_ __mod__:remainder
__imod__:remainder_ __matmul__:matmul __ge__:ge __gt__:gt __le__:le __lt__:lt __ne__:ne
__rand__:bitwise_and __ror__:bitwise_or __rxor__:bitwise_xor ndimension:dim nelement:numel
__neg__:neg __abs__:abs __pos__:positive __str__:__repr__ to_sparse_coo:to_sparse __div__:div
__idiv__:div_
"""
REPORTED = {a: b for a, _, b in (pair.partition(":") for pair in _REPORTED_TEXT.split())}

#: Dunder methods of Tensor that ask. The others make, compare and hash objects.
_DUNDER_TEXT = """
    abs add and array array_wrap bool long nonzero complex contains deepcopy div dlpack
    dlpack_device eq float
    floordiv format ge getitem gt iadd iand idiv ifloordiv ilshift imod imul index int invert ior
    ipow irshift isub itruediv ixor le len lshift lt matmul mod mul ne neg or pos pow radd rand rdiv
    reduce_ex repr reversed rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift rshift rsub
    rtruediv rxor setitem setstate sub truediv xor"""
_DUNDER = frozenset(f"__{name}__" for name in _DUNDER_TEXT.split())
#: Underscored attributes of Tensor that PyTorch has too, and that ask there.
_UNDERSCORED_TEXT = """
    _base _grad _version _is_view _values _indices _nnz _cdata _to_dense _dimI _dimV _coalesced_
    _backward_hooks _grad_fn _post_accumulate_grad_hooks _sparse_mask_projection
    _nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets
    _autocast_to_full_precision _autocast_to_reduced_precision _clear_non_serializable_cached_data
    """
_UNDERSCORED = frozenset(_UNDERSCORED_TEXT.split())
#: Functions that modes see, but not the classes of what they are given: they copy values.
_MAKERS = frozenset({"tensor", "as_tensor", "asarray", "scalar_tensor"})
#: Attributes of Tensor that do not ask: they are how the protocol itself makes its results.
_TENSOR_SILENT = frozenset({"as_subclass", "jax"})
#: Functions of nn.functional that PyTorch passes on by what they call: a method of Tensor ("." in
#: front), or another function.
_REPORTED_FUNCTIONS = {
    "sigmoid": ".sigmoid",
    "tanh": ".tanh",
    **dict.fromkeys(("upsample", "upsample_nearest", "upsample_bilinear"), "interpolate"),
}
#: Methods without arguments that say the class of their tensor to modes.
_OF_SELF_TEXT = """
dim numel item tolist __bool__ __int__ __float__ __index__ data_ptr storage_offset get_device
has_names
"""
_OF_SELF = tuple(_OF_SELF_TEXT.split())
_UNARY_TEXT = """abs array array_wrap bool long nonzero complex contains deepcopy dlpack
    dlpack_device float
    format getitem index int invert len neg pos reduce_ex repr reversed setitem
    setstate"""
_UNARY = frozenset(_UNARY_TEXT.split())
_lock = threading.Lock()


#: The instruction by which a function with free variables begins, and in a table of lines that one
#: instruction has none.
_COPY_FREE_VARS = dis.opmap["COPY_FREE_VARS"]
_WITHOUT_LINE = b"\xf8"


def _template(*args: Any, **kwargs: Any) -> overrides.Result:
    plain: Any = "plain"
    classes: Any = "classes"
    state: Any = "state"
    if not kwargs and classes.issuperset(map(type, args)) and not state.busy:
        return plain(*args)
    enter: Any = "enter"
    return enter("public", plain, "form", args, kwargs)


def _asking_code(
    public: object,
    plain: protocol.Function,
    form: Form | None,
    free: tuple[str, ...],
    enter: object,
) -> CodeType:
    """Return the code that asks before ``plain`` runs, for a function object with as many free
    variables: what it needs stands among its constants, as its globals are another file's."""
    code, public_name = _template.__code__, getattr(public, "__qualname__", plain.__name__)
    given = {
        "classes": overrides.PLAIN,
        "state": overrides.state,
        "plain": plain,
        "map": map,
        "type": type,
        "enter": enter,
        "public": public,
        "form": form,
    }
    constants = tuple([given.get(c, c) if type(c) is str else c for c in code.co_consts])
    if free:  # never read, but whoever lists a frame's variables (a debugger, pytest) reads them
        code = code.replace(
            co_code=bytes((_COPY_FREE_VARS, len(free))) + code.co_code,
            co_linetable=_WITHOUT_LINE + code.co_linetable,
        )
    return code.replace(
        co_consts=constants, co_name=plain.__name__, co_freevars=free, co_qualname=public_name
    )


def _make_ask(
    function: FunctionType, public: object, form: Form | None, operator: bool, enter: object = None
) -> FunctionType:
    """Let a function ask, and return one that runs what it ran before."""
    plain = copy_of(function, function.__name__)
    if enter is None:
        enter = protocol.enter_operator if operator else protocol.enter
    if function.__name__ in _MAKERS and enter is protocol.enter:
        enter = protocol.enter_maker
    function.__code__ = _asking_code(public, plain, form, function.__code__.co_freevars, enter)
    function.__defaults__ = function.__kwdefaults__ = None
    function.__wrapped__ = plain  # type: ignore[attr-defined]
    return plain


def attributes() -> Iterator[tuple[str, Any]]:
    """Yield the attributes of Tensor that ask, by name."""
    for name, value in all_attributes().items():
        if name.startswith("__") and name.endswith("__"):
            asks = name in _DUNDER
        elif name.startswith("_"):
            asks = name in _UNDERSCORED
        else:
            asks = name not in _TENSOR_SILENT
        if asks and isinstance(value, (FunctionType, property)):
            yield name, value


@functools.cache
def accessors() -> frozenset[Any]:
    """Return Tensor's methods that ask, and the accessors of its properties."""
    found: set[Any] = set()
    for name, value in attributes():
        if isinstance(value, property):
            found |= {value.__get__, value.__set__, value.__delete__}
        else:
            found.add(getattr(Tensor, name))
    return frozenset(found)


def functions(
    namespaces: dict[str, dict[str, protocol.Function]],
) -> Iterator[tuple[str, str, FunctionType]]:
    """Yield the public functions that ask: their namespace, name and object."""
    for space, entries in namespaces.items():
        if space == "aten":
            continue
        for name, value in entries.items():
            # Those of the torch namespace that only look at types do not ask.
            overridable = space or OPTIONS.get(name, {}).get("overridable", True)
            if overridable and isinstance(value, FunctionType):
                yield space, name, value


#: The functions whose code was exchanged, with what they ran before: those of rooms above, and all
#: others.
_also: list[tuple[FunctionType, FunctionType]] = []
_exchanged: list[tuple[FunctionType, FunctionType]] = []


def asks(line: str) -> Callable[[protocol.Function], protocol.Function]:
    """Return a decorator that lets a Python function of a room above ask too, passed on as ``line``
    says (see ``python_signatures.py``). It asks from the start: unlike an op, it does not refuse
    what is no tensor before it has done anything."""

    def mark(function: Any) -> protocol.Function:
        _also.append((function, _make_ask(function, function, read(line)[1], False)))
        return function

    return mark


def undo() -> None:
    """Give public functions their own code again. For tests, which share a process: whoever has an
    instance of a class that is asked must not call this."""
    with _lock:
        for function, plain in _exchanged:
            function.__code__ = plain.__code__
            function.__defaults__, function.__kwdefaults__ = (
                plain.__defaults__,
                plain.__kwdefaults__,
            )
            del function.__wrapped__  # type: ignore[attr-defined]
            function.__dict__.update(plain.__dict__)
        _exchanged.clear()
    overrides.disable()


@overrides.is_asked_now.by
def is_asked_now(
    function: object, own: CodeType, args: tuple[object, ...], kwargs: dict[str, object]
) -> bool:
    """Return whether a call that has failed is to be made again, as the first of a public function
    that meets something to be asked; wake the protocol for it.

    ``function`` ran its ``own`` code. Inside of another public function it is that one's turn.
    """
    if not protocol.overloaded((*args, *kwargs.values()), 2):
        return False
    overrides.enable()
    return getattr(function, "__code__", own) is not own and is_outermost(sys._getframe(2))


@overrides.is_outermost.by
def is_outermost(frame: FrameType | None) -> bool:
    """Return whether no public function stands between a frame and the user's code."""
    codes = {plain.__code__ for _, plain in (*_also, *_exchanged)}
    while frame is not None and frame.f_globals.get("__name__", "").startswith("torchlike."):
        if frame.f_code in codes:
            return False
        frame = frame.f_back
    return True


def of_rooms_above() -> list[Any]:
    """Return the functions that ``asks`` has marked."""
    return [function for function, _ in _also]


@overrides.enabled.call
def exchange() -> None:
    """Let all public functions, and Tensor's attributes, ask from now on."""
    with _lock:
        done = {id(function) for function, _ in _also}
        chosen: list[tuple[FunctionType, Any, Any, bool]] = []
        forms = {space: table(space) for space in (*NAMESPACES, "Tensor")}
        for space, name, function in functions(NAMESPACES):
            public: Any = function
            other = _REPORTED_FUNCTIONS.get(name, "") if space == "nn.functional" else ""
            if other:
                public = NAMESPACES[space].get(other) or vars(Tensor)[other[1:]]
            chosen.append((function, public, forms[space].get(other or name), False))
        for name, value in attributes():
            if isinstance(value, property):
                for accessor, slot in (
                    (value.fget, "__get__"),
                    (value.fset, "__set__"),
                    (value.fdel, "__delete__"),
                ):
                    if isinstance(accessor, FunctionType):
                        protocol.of_self.add(getattr(value, slot))
                        chosen.append((accessor, getattr(value, slot), None, False))
            else:
                public = getattr(Tensor, REPORTED.get(name, name))
                operator = name.startswith("__") and name[2:-2] not in _UNARY
                chosen.append((value, public, forms["Tensor"].get(name), operator))
        protocol.of_self.update(vars(Tensor)[n] for n in _OF_SELF if n in vars(Tensor))
        for function, public, form, operator in chosen:
            if id(function) not in done:
                done.add(id(function))
                _exchanged.append((function, _make_ask(function, public, form, operator)))
        # Only ``__torch_dispatch__`` sees what is in no public namespace.
        hidden = [function for function in OP_FUNCTIONS if id(function) not in done]
        overrides.not_public.update(hidden)
        for function in hidden:
            plain = _make_ask(function, function, None, False, protocol.enter_below)
            _exchanged.append((function, plain))
