"""A call of an operator where somebody handles it: taken apart, recorded, handled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from torchlike._core import modes, overrides
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._extensions import autocast
from torchlike._extensions.wrapped import NoMemory
from torchlike._ops.aten import custom
from torchlike._runtime.homes import home
from torchlike.ops._aten import (
    arguments,
    composites,
    pre_dispatch,
    recording,
    schemas,
    whole_operators,
)
from torchlike.ops._aten.handlers import COMPOSITES
from torchlike.ops._aten.packets import OwnOperator, aten
from torchlike.ops._aten.schema_language import FunctionSchema
from torchlike.tensor import Tensor, all_attributes

assert composites  # importing it fills the table of rules
assert whole_operators

#: Where functions are that may be operators.
_SPACES = frozenset(("", "Tensor", "nn.functional", "linalg", "special", "fft"))
_PREFIXES = {"linalg": "linalg_", "special": "special_", "fft": "fft_"}
#: Methods and functions by names that aten has otherwise.
_OTHER_NAMES_TEXT = """
data:detach special_expit:sigmoid absolute:abs special_erf:erf special_erfc:erfc special_exp2:exp2
special_expm1:expm1 cross:linalg_cross special_log1p:log1p special_sinc:sinc
special_digamma:digamma special_psi:digamma special_gammaln:lgamma special_round:round
special_erfinv:erfinv special_i0:i0 special_logit:logit special_xlogy:xlogy clip:clamp
clip_:clamp_ greater:gt less:lt greater_equal:ge less_equal:le not_equal:ne fix:trunc fix_:trunc_
concat:cat concatenate:cat ger:outer swapaxes:transpose swapdims:transpose swapaxes_:transpose_
swapdims_:transpose_ linalg_matmul:matmul moveaxis:movedim arctan2:atan2 tile:tile
"""
_OTHER_NAMES = {a: b for a, _, b in (pair.partition(":") for pair in _OTHER_NAMES_TEXT.split())}

#: Methods that share a name with an operator and are none.
_NO_OPERATORS_TEXT = """
backward retain_grad requires_grad_ size stride numel dim storage_offset is_contiguous
register_hook is_pinned device layout _version output_nr is_leaf data_ptr
"""
_NO_OPERATORS = frozenset(_NO_OPERATORS_TEXT.split())


#: What Python is told of a tensor: no node of a graph that is traced above autograd.
_ASKED_TEXT = """
is_floating_point is_complex is_signed is_conj is_neg is_inference is_same_size is_distributed
get_device result_type can_cast
"""
_ASKED = frozenset(_ASKED_TEXT.split())


def call(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> overrides.Result:
    """Carry out a call of ``torch.ops.….overload`` that a class or mode is to handle."""
    if pre_dispatch.is_on():
        return pre_dispatch.recorded(overload, args, kwargs)
    if modes.current.autocast is not None:
        return _cast_first(functools.partial(call, overload), overload.operator.name, args, kwargs)
    if overload.operator.name in COMPOSITES and rule_for(overload) is not None:
        return COMPOSITES[overload.operator.name](*args, **kwargs)
    return recording.recorded(overload, args, kwargs)


def rule_for(overload: Any) -> Callable[..., Any] | None:
    """Return the rule that stands for an operator of aten's that PyTorch makes of others; None for
    one that is not made of others."""
    operator = overload.operator
    if operator.namespace != "aten":
        return None
    line = schemas.overloads_of(operator.name).get(operator.overload)
    if line is None or not line[0].is_composite:
        return None
    return COMPOSITES.get(operator.name, operator)


@functools.cache
def _accessors() -> dict[Any, str]:
    """Map Tensor's accessors that are operators, as the protocol names them, to their names."""
    return {v.__get__: n for n, v in vars(Tensor).items() if isinstance(v, property)}


@functools.cache
def _methods() -> dict[Any, str]:
    """Map Tensor's methods, by the objects that the protocol names, to their names."""
    return {v: n for n, v in all_attributes().items() if isinstance(v, FunctionType)}


def _name(public: Any) -> tuple[str, str]:
    """Return the namespace of a public function and its name there."""
    accessor = _accessors().get(public) if not isinstance(public, FunctionType) else None
    if accessor is not None:
        return "Tensor", accessor
    if isinstance(public, FunctionType) and public in _methods():
        return "Tensor", _methods()[public]
    space = home(public).removeprefix("torchlike").lstrip(".")
    return space, getattr(public, "__name__", "")


def _rule_of(public: Any, plain: Any) -> Callable[..., Any] | None:
    """Return the rule that stands for a public function, ``rule(plain, args, kwargs)``; None where
    its own code runs."""
    space, name = _name(public)
    if space not in _SPACES or (space == "Tensor" and name in _NO_OPERATORS):
        return None
    marked = {"nn.functional": "F.", "Tensor": "Tensor."}.get(
        space, _PREFIXES.get(space, "")
    ) + name
    own = name
    name = _PREFIXES.get(space, "") + name
    name = _OTHER_NAMES.get(name, name)
    for key in (marked, name):
        rule = COMPOSITES.get(key)
        if rule is not None:
            return functools.partial(_called_as_composite, rule)
    spec = getattr(plain, "spec", None)
    lines = schemas.overloads_of(name)
    if lines and all(line.is_composite for line, _ in lines.values()) and spec is not None:
        ending = "_" if name.endswith("_") and not spec.name.endswith("_") else ""
        if schemas.overloads_of(spec.name + ending):  # multiply is mul
            name, lines = spec.name + ending, schemas.overloads_of(spec.name + ending)
    if lines and (spec is not None or not all(line.is_composite for line, _ in lines.values())):
        return functools.partial(_called_by_name, name, public in overrides.not_public)
    if spec is not None:
        return functools.partial(_called_as_own, own)
    return None


@functools.cache
def _takes_out(rule: Callable[..., Any]) -> bool:
    return "out" in inspect.signature(rule).parameters


def _called_as_composite(
    rule: Callable[..., Any], plain: Any, args: Any, kwargs: dict[str, Any]
) -> overrides.Result:
    """Apply a rule, and write the result into ``out`` where there is one that the rule does not
    know."""
    if "out" not in kwargs or _takes_out(rule):
        return rule(*args, **kwargs)
    out = kwargs["out"]
    made = rule(*args, **{k: v for k, v in kwargs.items() if k != "out"})
    if out is None:
        return made
    several = isinstance(out, (tuple, list))
    for target, result in zip(*((out, made) if several else ([out], [made])), strict=True):
        if tuple(target.shape) != tuple(result.shape):
            aten.resize_.default(target, list(result.shape))
        aten.copy_.default(target, result)
    return out


def _means_the_same(plain: Any, args: Any, schema: FunctionSchema) -> bool:
    """Return whether the arguments of an op that is not public stand where an operator of its name
    has them: the op behind ``torch.linalg.svd`` takes ``full_matrices`` where ``aten.svd`` has
    ``some``."""
    own = plain.spec.schema.names[1 : len(args)]
    return own == [a.name for a in schema.arguments][1 : len(args)]


def _called_by_name(
    name: str, hidden: bool, plain: Any, args: Any, kwargs: dict[str, Any]
) -> overrides.Result:
    kwargs = dict(kwargs)
    wants_grad = kwargs.pop("requires_grad", False)
    if kwargs.pop("inplace", False):
        name += "_"
    found = arguments.fit(name, args, kwargs)
    has_spec = getattr(plain, "spec", None) is not None
    if found is None and not has_spec:
        return plain(*args, **kwargs)
    if found is None or (
        hidden
        and has_spec
        and not _means_the_same(plain, args, schemas.schema(name, found.overload))
    ):
        return _called_as_own(name, plain, args, kwargs)
    overload = getattr(getattr(aten, name), found.overload or "default")
    result = call(overload, found.args, found.kwargs)
    return result.requires_grad_() if wants_grad else result


@functools.cache
def _own_overload(name: str, plain: Any) -> Any:
    """Register a function of torchlike's that aten does not have, or not with these arguments, in
    the namespace ``torchlike``, and return it as an overload."""
    operator = OwnOperator(name, "", plain)
    packet = custom.OpOverloadPacket(operator.namespace, name)
    packet._add(operator)
    setattr(custom.find("torchlike"), name, packet)  # where graphs look for it
    return packet.default


def _called_as_own(name: str, plain: Any, args: Any, kwargs: dict[str, Any]) -> overrides.Result:
    return call(_own_overload(name, plain), args, kwargs)


def _whole_rule_of(public: Any, plain: Any) -> Callable[..., Any] | None:
    """Return the rule that stands for a public function above autograd; None where its own code
    runs."""
    space, name = _name(public)
    if space not in _SPACES or (space == "Tensor" and name in _NO_OPERATORS):
        return None
    marked = {"nn.functional": "F.", "Tensor": "Tensor."}.get(space, "") + name
    own = _PREFIXES.get(space, "") + name
    if own in _ASKED:
        return None
    if public in overrides.not_public:
        return _rule_of(public, plain)
    names = (marked if "." in marked else own, own, _OTHER_NAMES.get(own, own))
    return pre_dispatch.rule_of(names, _rule_of(public, plain), _called_as_composite)


#: What stands for public functions, below autograd and above it.
_rules: dict[Any, Any] = {}
_whole_rules: dict[Any, Any] = {}


def dispatch(public: Any, plain: Any, args: Any, kwargs: dict[str, Any]) -> overrides.Result:
    """Carry out a call of a public function that a class or mode is to handle."""
    if modes.current.autocast is not None and not pre_dispatch.is_on():
        own = _name(public)[1]
        if autocast.asks_of(own):
            return _cast_first(functools.partial(_dispatched, public, plain), own, args, kwargs)
    return _dispatched(public, plain, args, kwargs)


def _cast_first(
    run: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any]
) -> overrides.Result:
    """Cast the arguments that autocast casts, by operators that are handled as well, and run the op
    on them: below, there is no autocast."""
    for prefix in ("linalg_", "fft_", "special_"):
        name = name.removeprefix(prefix)
    given = autocast.cast_arguments(name.removesuffix("_"), args, kwargs)
    args, kwargs = (args, kwargs) if given is None else given
    with autocast.switched_off():
        return run(args, kwargs)


def _dispatched(public: Any, plain: Any, args: Any, kwargs: dict[str, Any]) -> overrides.Result:
    if pre_dispatch.is_on():
        overrides.state.dispatch_modes[-1].note_function(*_name(public))
        rules, rule_of = _whole_rules, _whole_rule_of
    else:
        rules, rule_of = _rules, _rule_of
    if public in rules:
        rule = rules[public]
    else:
        rule = rules[public] = rule_of(public, plain)
    if rule is not None:
        return rule(plain, args, kwargs)
    try:
        return plain(*args, **kwargs)
    except NoMemory:
        # A function made of several ops that looks at memory on the way: handled as a whole.
        space, name = _name(public)
        if space == "Tensor" and name not in NAMESPACES[""]:
            raise
        return _called_as_own(name, plain, args, kwargs)


custom.handler.by(call)
