"""Module: parameters, buffers and submodules by attribute, and the call of ``forward``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from torchlike._core import modes
from torchlike._jit.call.entry import compiled
from torchlike._jit.call.programs import of_options
from torchlike._jit.call.recompile_limit import RecompileLimit
from torchlike._runtime.provided import class_made
from torchlike.autograd.backward import zero_gradient
from torchlike.nn import hooks
from torchlike.nn.class_attributes import leave_unbound
from torchlike.nn.conversion import Conversions
from torchlike.nn.hooks import (
    Hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from torchlike.nn.parameter import Buffer, Parameter
from torchlike.nn.state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX
from torchlike.nn.state import StateDicts, _IncompatibleKeys
from torchlike.tensor import Tensor

__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX",
    "Module",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_SLOTS = ("_parameters", "_buffers")
_TABLES = (*_SLOTS, "_modules")
#: The hooks of all modules, as libraries read them that register parameters themselves.
_global_parameter_registration_hooks = hooks.everywhere.on_parameter
_global_buffer_registration_hooks = hooks.everywhere.on_buffer
_global_module_registration_hooks = hooks.everywhere.on_module
_global_forward_pre_hooks = hooks.everywhere.forward_pre
_global_forward_hooks = hooks.everywhere.forward
_global_forward_hooks_with_kwargs = hooks.everywhere.forward_with_kwargs
_global_forward_hooks_always_called = hooks.everywhere.forward_always
_global_backward_pre_hooks = hooks.everywhere.backward_pre
_global_backward_hooks = hooks.everywhere.backward


def _type_name(value: Any) -> str:
    """Return a value's type as PyTorch's errors write it."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _indented(text: str) -> str:
    """Return ``text`` with all lines but the first moved two columns to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Override this with what the module computes."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


#: The type of the module that a function gives back.
M = TypeVar("M", bound="Module")


class Module(StateDicts, Hooks, Conversions):
    """Base class of all networks and layers.

    Assigning a Parameter, a Buffer or a Module to an attribute registers it. Define ``forward`` and
    call the module itself, so that hooks run. A module is a pytree to JAX, of its parameters and
    buffers.

    Example:
      >>> class Scale(torch.nn.Module):
      ...     def __init__(self):
      ...         super().__init__()
      ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
      ...
      ...     def forward(self, x):
      ...         return self.factor * x
      >>> model = Scale()
      >>> model(torch.ones(2)).tolist(), [name for name, _ in model.named_parameters()]
      ([2.0, 2.0], ['factor'])
    """

    dump_patches: bool = False
    #: Whether ``__init__`` goes on to the next class in the method resolution order.
    call_super_init: bool = False
    _compiled_call_impl: Callable[..., Any] | None = None

    forward: Callable[..., Any] = _forward_unimplemented

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)  # Generic's, say, which may stand behind it
        leave_unbound(cls)
        class_made(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword "
                    f"argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but "
                f"{len(args) + 1} were given"
            )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _non_persistent_buffers_set=set(),
        )
        modes.running_capture().module_made(self)
        self._init_hooks()
        self._init_state_hooks()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- the call ----------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = self.forward
        watcher = modes.current.watcher
        if watcher is not None:
            watcher.enter_module(self)
        if self._compiled_call_impl is not None and (watcher is None or watcher.is_eager):
            forward = self._compiled_call_impl
        if (
            self._forward_pre_hooks
            or self._forward_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_pre_hooks
            or _global_forward_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return hooks.call(self, forward, args, kwargs)
        return forward(*args, **kwargs)

    def compile(self, *, fullgraph: Any = False, dynamic: Any = None, **options: Any) -> None:
        """Compile ``forward`` in place, with ``torch.compile``'s arguments; hooks run around it as
        before. NotImplementedError for ``dynamic_shapes``."""
        if options.get("dynamic_shapes", options.get("shapes_spec")) is not None:
            raise NotImplementedError(
                "module.compile(dynamic_shapes=). Use instead: torch.compile(module, "
                "dynamic_shapes=)."
            )
        forward = self.forward

        @functools.wraps(forward)
        def entered(*args: Any, **kwargs: Any) -> Any:
            modes.running_capture().enter_module(self)
            return forward(*args, **kwargs)

        self.__dict__["_compiled_call_impl"] = compiled(
            entered,
            dynamic=dynamic,
            fallback=None if fullgraph else "eager",
            warmup=of_options(options.get("options")),
            limit=RecompileLimit.of(options.get("recompile_limit"), fullgraph),
        )

    # -- training or evaluation --------------------------------------------------------------------

    @property
    def training(self) -> bool:
        """Whether the module is in training mode (dropout, batch statistics); see ``train``."""
        capture = modes.current.capture
        if capture is not None:
            capture.read_attribute(self, "training")
        try:
            return self.__dict__["training"]
        except KeyError:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute 'training'"
            ) from None

    @training.setter
    def training(self, mode: bool) -> None:
        self._rebind_plain("training")
        self.__dict__["training"] = mode

    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it in training mode (or evaluation mode). Gives itself.

        Example:
          >>> model = torch.nn.Sequential(torch.nn.Dropout())
          >>> model.train(False)[0].training
          False
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Switch this module and all below it to evaluation mode: ``train(False)``.

        Gives itself. Dropout passes on what it gets then, and batch norm uses its running
        statistics.

        Example:
          >>> torch.nn.Dropout().eval().training
          False
        """
        return self.train(False)

    # -- attributes --------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        found = own.get("_modules")
        if found is not None and name in found:
            return found[name]
        for table in _SLOTS:
            found = own.get(table)
            if found is not None and name in found:
                capture = modes.current.capture
                if capture is not None:
                    capture.slot_read(self, name)
                return found[name]
        if found is not None:
            modes.running_capture().enter_module(self)  # that there is none is seen
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Parameter, Module, Buffer)):
            self._register(name, value)
            return
        for table in _TABLES:
            found = own.get(table)
            if found is not None and name in found:
                self._rebind(table, name, value)
                return
        if isinstance(getattr(type(self), name, None), property):
            object.__setattr__(self, name, value)
            return
        if isinstance(value, Tensor) or isinstance(own.get(name), Tensor):
            self._rebind_tensor(name)
        else:
            self._rebind_plain(name)
        object.__setattr__(self, name, value)

    def _register(self, name: str, value: Any) -> None:
        """Register a parameter in the place of whatever had its name, a module in that of all but
        parameters, a buffer in that of a buffer only."""
        own = self.__dict__
        is_parameter, is_module = isinstance(value, Parameter), isinstance(value, Module)
        kind = "parameters" if is_parameter else ("module" if is_module else "buffer")
        if own.get("_parameters") is None:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        target = "_parameters" if is_parameter else "_modules"
        if kind != "module":
            self._rebind_tensor(name)
        if kind == "buffer":
            for table in ("_parameters", "_modules"):
                if name in own[table]:
                    self._rebind(table, name, value)  # refuses it
            self._register_buffer(name, value)
            return
        if kind == "module" and name in own["_parameters"]:
            self._rebind("_parameters", name, value)  # refuses it
        for table in _TABLES:
            if table == target or name in own[table]:
                self._table_changes(table)
        if kind == "module" and (name in own["_buffers"] or isinstance(own.get(name), Tensor)):
            self._rebind_tensor(name)
        elif name in own and not isinstance(own[name], Tensor):
            self._rebind_plain(name)
        for space in (own, *(own[t] for t in _TABLES if t != target)):
            space.pop(name, None)
        self._forget_not_persistent(name)
        if kind == "parameters":
            self.register_parameter(name, value)
        else:
            own["_modules"][name] = hooks.registered(hooks.everywhere.on_module, self, name, value)

    def _table_changes(self, table: str) -> None:
        """Announce that a table of parameters, buffers or children is about to change: a running
        capture remembers it, compiled programs check again."""
        if not modes.is_capturing():
            modes.epoch.advance()
            return
        of = {"_parameters": "parameters", "_buffers": "buffers", "_modules": "children"}
        what = f"the {of[table]} of {type(self).__name__}"
        modes.table_changes(self, self.__dict__[table], what)

    def _forget_not_persistent(self, name: str) -> None:
        """Remove a name from the set of buffers that are left out of the state."""
        names = self._non_persistent_buffers_set
        if name in names:
            what = f"which buffers of {type(self).__name__} are persistent"
            modes.table_changes(self, names, what)
            names.discard(name)

    def _register_buffer(self, name: str, value: Any) -> None:
        """Call `register_buffer`, which a subclass may override with two arguments."""
        persistent = getattr(value, "persistent", True)
        own = type(self).register_buffer
        if own is Module.register_buffer or "persistent" in inspect.signature(own).parameters:
            self.register_buffer(name, value, persistent)
            return
        if not persistent:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed."
            )
        self.register_buffer(name, value)

    def _rebind(self, table: str, name: str, value: Any) -> None:
        """Bind a registered name to something that does not register itself."""
        own = self.__dict__
        if table == "_parameters":
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self._rebind_tensor(name)
            self.register_parameter(name, None)
        elif table == "_modules":
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._table_changes("_modules")
            own["_modules"][name] = hooks.registered(hooks.everywhere.on_module, self, name, None)
        else:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as buffer '{name}' (torch.nn.Buffer, "
                    "torch.Tensor or None expected)"
                )
            self._rebind_tensor(name)
            own["_buffers"][name] = hooks.registered(hooks.everywhere.on_buffer, self, name, value)

    def _rebind_tensor(self, name: str) -> None:
        """Announce that a tensor attribute is about to be bound: compiled programs follow it or
        check again."""
        capture = modes.current.capture
        if capture is not None:
            capture.slot_write(self, name)
        else:
            modes.epoch.advance()

    def _rebind_plain(self, name: str) -> None:
        """Announce that a plain attribute is about to be bound: compiled programs check again."""
        capture = modes.current.capture
        if capture is not None:
            if name == "__class__":
                asked = f"{type(self).__name__}.__class__ = …"
                capture.refuse(asked, "an attribute that forward asks for")
            capture.write_attribute(self, name)
        else:
            modes.epoch.advance()

    def __delattr__(self, name: str) -> None:
        own = self.__dict__
        table = next((t for t in _TABLES if name in own.get(t, ())), None)
        held = own.get(name) if table is None else own[table][name]
        if table is not None:
            self._table_changes(table)
        if table in ("_parameters", "_buffers") or isinstance(held, Tensor):
            self._rebind_tensor(name)
        elif table is None:
            self._rebind_plain(name)
        if table is None:
            object.__delattr__(self, name)
            return
        del own[table][name]
        self._forget_not_persistent(name)

    def __dir__(self) -> list[str]:
        names = {
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._modules,
            *self._buffers,
        }
        return sorted(n for n in names if not n[:1].isdigit())

    # -- registration ------------------------------------------------------------------------------

    def _check_name(self, name: Any, kind: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_name(name)}")
        if "." in name:
            extra = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{extra}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter; ``persistent``: part of state_dict.

        KeyError for a bad or taken name, TypeError for what is no tensor.

        Example:
          >>> module = torch.nn.Module()
          >>> module.register_buffer("count", torch.tensor(0))
          >>> module.state_dict()
          OrderedDict([('count', tensor(0))])
        """
        if "_buffers" in self.__dict__:
            self._table_changes("_buffers")
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        self._rebind_tensor(name)
        tensor = hooks.registered(hooks.everywhere.on_buffer, self, name, tensor)
        self.__dict__["_buffers"][name] = tensor
        if persistent:
            self._forget_not_persistent(name)
        else:
            names = self._non_persistent_buffers_set
            what = f"which buffers of {type(self).__name__} are persistent"
            modes.table_changes(self, names, what)
            names.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter. KeyError for a bad or taken name; TypeError for another type;
        ValueError for a tensor with history."""
        if "_parameters" in self.__dict__:
            self._table_changes("_parameters")
        self._check_name(name, "parameter", "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._rebind_tensor(name)
        self.__dict__["_parameters"][name] = hooks.registered(
            hooks.everywhere.on_parameter, self, name, param
        )

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule: another name of ``add_module``."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a submodule. KeyError for a bad or taken name; TypeError for another type."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"module name should be a string. Got {_type_name(name)}")
        if "_modules" in self.__dict__:
            self._table_changes("_modules")
        if hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        self._check_name(name, "module", "_modules")
        self._modules[name] = hooks.registered(hooks.everywhere.on_module, self, name, module)

    # -- look-up by dotted name --------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """Return the module at a dotted path ("" for this one). Raises AttributeError when there is
        none."""
        at = self
        for item in target.split(".") if target else ():
            if not hasattr(at, item):
                raise AttributeError(f"{at._get_name()} has no attribute `{item}`")
            at = getattr(at, item)
            if not isinstance(at, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return at

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path. ``strict``: AttributeError unless one is there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if strict and not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        if hasattr(owner, name) and not isinstance(getattr(owner, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(owner, name, module)

    def _at_path(self, target: str, table: str, kind: str) -> Tensor:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        if name not in owner.__dict__[table]:
            raise AttributeError(f"`{name}` is not {kind}")
        return getattr(owner, name)

    def get_parameter(self, target: str) -> Any:
        """Return the parameter at a dotted path. Raises AttributeError when there is none."""
        return self._at_path(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path. Raises AttributeError when there is none."""
        return self._at_path(target, "_buffers", "a buffer")

    # -- traversal ---------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield names and direct submodules, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all below it with dotted names, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it, each once, parents first.

        Example:
          >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
          >>> [type(module).__name__ for module in model.modules()]
          ['Sequential', 'Linear', 'ReLU']
        """
        for _, module in self.named_modules():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in owners if recurse else [(prefix, self)]:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield dotted names and parameters of this module and (``recurse``) all below it.

        Example:
          >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2))
          >>> [(name, tuple(p.shape)) for name, p in model.named_parameters()]
          [('0.weight', (2, 3)), ('0.bias', (2,))]
        """
        return self._named_members(
            lambda m: m._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once: what an optimizer is given.

        Args:
          recurse: whether those of the modules below are among them.

        Example:
          >>> sum(p.numel() for p in torch.nn.Linear(3, 2).parameters())
          8
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield dotted names and buffers of this module and (``recurse``) all below it."""
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # -- all at once -------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call ``fn`` on every module below this one and then on itself. Gives itself.

        Example:
          >>> model = torch.nn.Sequential(torch.nn.Linear(3, 2))
          >>> def clear(module):
          ...     if isinstance(module, torch.nn.Linear):
          ...         torch.nn.init.zeros_(module.weight)
          >>> model.apply(clear)[0].weight.sum().item()
          0.0
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch gradients of all parameters on or off. Gives itself."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or zero them)."""
        for parameter in self.parameters():
            if set_to_none:
                # Not looked at first: a compiled step would depend on whether there was one.
                parameter.grad = None
                continue
            grad = parameter._held_grad()
            if grad is not None:
                zero_gradient(grad)

    # -- printing, pickling ------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Override to say more inside the brackets of ``repr``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [_indented(f"({name}): {m!r}") for name, m in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        inside = "".join(f"  {entry}\n" for entry in (*lines, *children))
        return f"{self._get_name()}(\n{inside})"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)  # a compiled program belongs to its process
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._init_hooks()
        self._init_state_hooks()
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.update(state)

    def _replicate_for_data_parallel(self) -> Self:
        raise NotImplementedError("DataParallel: shard the batch with jax.sharding instead")
