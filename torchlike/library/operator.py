"""One user-defined operator: its kernels, and what makes it differentiable and mappable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import devices, modes, overrides
from torchlike._ops.aten.tags import Tag
from torchlike.amp.autocast_mode import is_autocast_available, is_autocast_enabled
from torchlike.autograd.function import Function
from torchlike.autograd.grad_mode import no_grad
from torchlike.ops._aten.schema_language import FunctionSchema
from torchlike.tensor import Tensor

_ALIASED = (
    "{name} (with implementation in {where}): The output of this custom operator (1) must not also "
    "be an input to this custom operator and (2) may not alias any inputs to this custom operator "
    "or other returns. The most common way to trigger this error is if we have y = custom_op(x) "
    "and y and x are the same Tensor. Please instead return a clone of the offending output "
    "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
)


class OperatorCall:
    """One call: what is needed to put arguments and results together again. It goes through
    ``autograd.Function`` behind the arguments, whose lists are opened there."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any], omitted: int) -> None:
        self.kwargs = kwargs
        self.omitted = omitted
        self.lengths = [len(a) if isinstance(a, list) else None for a in args]
        self.result_lengths: list[int | None] = []

    def opened(self, args: Sequence[Any]) -> list[Any]:
        """Return the arguments without lists."""
        return [x for a in args for x in (a if isinstance(a, list) else (a,))]

    def closed(
        self, flat: Sequence[Any], lengths: list[int | None] | None = None
    ) -> tuple[Any, ...]:
        """Put flat values into lists again."""
        values = iter(flat)
        return tuple(
            [
                next(values) if n is None else [next(values) for _ in range(n)]
                for n in (self.lengths if lengths is None else lengths)
            ]
        )

    def results(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results with lists again."""
        return self.closed(flat, self.result_lengths)


class Operator:
    """A callable by schema.

    Its kernels run on torchlike tensors: eagerly, and traced under ``torchlike.jit``. `opaque` ones
    (of ``custom_op``) are differentiated by their registered formula alone; those of a ``Library``
    without a formula are differentiated through their kernel.
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        overload: str,
        schema: FunctionSchema,
        opaque: bool,
        doc: str | None = None,
    ) -> None:
        self.namespace, self.name, self.overload = namespace, name, overload
        self.schema = schema
        self.opaque = opaque
        self.__doc__ = doc
        #: Device type -> kernel; "default" for all others. "meta" is the fake.
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.disabled: set[str] = set()
        #: Device type, or "default" -> what is called above autograd, in the kernels' place.
        self.above_autograd: dict[str, Callable[..., Any]] = {}
        #: What it says of itself.
        self.tags: tuple[Tag, ...] = ()
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        #: Device type -> the dtype that floating arguments are cast to under autocast.
        self.casts: dict[str, Any] = {}
        #: Device type -> what is called instead under autocast.
        self.autocasting: dict[str, Callable[..., Any]] = {}
        self._function: Any = None

    @property
    def qualname(self) -> str:
        end = f".{self.overload}" if self.overload else ""
        return f"{self.namespace}::{self.name}{end}"

    @property
    def shown(self) -> str:
        """``namespace.name.default``."""
        return f"{self.namespace}.{self.name}.{self.overload or 'default'}"

    def changed(self) -> None:
        """Make the Function anew: another rule was registered."""
        self._function = None

    # -- calling -----------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, named, omitted = self.schema.bind(args, kwargs)
        call = OperatorCall(given, named, omitted)
        flat = call.opened(given)
        tensors = [x for x in (*flat, *call.opened(list(named.values()))) if isinstance(x, Tensor)]
        if self.autocasting and self._is_autocast(self.autocasting, tensors):
            return self.autocasting[self._device(tensors)](*args, **kwargs)
        if self.above_autograd and not overrides.state.below_autograd:
            kind = self._device(tensors)
            above = self.above_autograd.get(kind, self.above_autograd.get("default"))
            if above is not None:
                return above(*args, **kwargs)
        if self.casts:
            flat = self._cast(flat, tensors)
        if not self.opaque and self.backward is None and self.vmap is None:
            return self._finish(self._results(call.closed(flat), named, tensors))
        recorded = modes.current.grad_enabled and any(t.requires_grad for t in tensors)
        if recorded or modes.current.levels:
            made = self._build_class().apply(*flat, call)
            return self._finish(call.results(made))
        with no_grad():
            return self._finish(self._results(call.closed(flat), named, tensors))

    def _is_autocast(self, rules: dict[str, Any], tensors: list[Tensor]) -> bool:
        kind = self._device(tensors)
        return kind in rules and is_autocast_available(kind) and is_autocast_enabled(kind)

    def _cast(self, flat: list[Any], tensors: list[Tensor]) -> list[Any]:
        if not self._is_autocast(self.casts, tensors):
            return flat
        kind = self._device(tensors)
        return [
            x.to(self.casts[kind]) if isinstance(x, Tensor) and x.is_floating_point() else x
            for x in flat
        ]

    def _finish(self, results: tuple[Any, ...]) -> Any:
        if self.schema.single:
            return results[0]
        return results or None

    @staticmethod
    def _device(tensors: list[Tensor], asked: Any = None) -> str:
        if asked is not None and not tensors:
            return asked.type
        kinds = [t.device.type for t in tensors] or ["cpu"]
        return "meta" if "meta" in kinds else kinds[0]

    def kernel(self, device: str) -> Callable[..., Any]:
        """Return the kernel for a device type; NotImplementedError in PyTorch's words without
        one."""
        found = None if device in self.disabled else self.kernels.get(device)
        if found is None and not (device == "meta" and self.opaque):
            found = self.kernels.get("default")
        if found is not None:
            return found
        if device == "meta" and self.opaque:
            raise RuntimeError(
                f"There was no fake impl registered for <CustomOpDef({self.qualname})>. This is "
                "necessary for torch.compile/export/fx tracing to work. Please use "
                f"`{self.name}.register_fake` to add an fake impl."
            )
        if device == "meta":
            raise NotImplementedError(
                f"{self.qualname}: attempted to run this operator with Meta tensors, but there was "
                "no fake impl or Meta kernel registered. Use torch.library.register_fake."
            )
        raise NotImplementedError(
            f"Could not run '{self.qualname}' with arguments from the '{device.upper()}' backend. "
            "This could be because the operator doesn't exist for this backend. "
            f"'{self.qualname}' is only available for these backends: {sorted(self.kernels)}."
        )

    def _results(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]
    ) -> tuple[Any, ...]:
        """Call the kernel, and return its results as a tuple of what the schema says."""
        asked = next((a for a in (*args, *kwargs.values()) if isinstance(a, devices.device)), None)
        written = self._written(args, kwargs)
        versions = [t._storage.version for t in written]
        kind = self._device(tensors, asked)
        if not tensors and asked is not None and not {kind, "default"} & self.kernels.keys():
            raise RuntimeError(
                f"{self.name} does not have a kernel registered for {kind}. Please use "
                "register_kernel to do so."
            )
        result = self.kernel(kind)(*args, **kwargs)
        for t, version in zip(written, versions, strict=True):
            if t._storage.version == version:  # by NumPy, or not at all: as PyTorch counts it
                t._storage.version += 1
        kinds = self.schema.returns
        if self.schema.single:
            results = (result,)
        else:
            results = () if result is None else tuple(result)
        if len(results) != len(kinds):
            raise RuntimeError(
                f"{self.qualname}: expected {len(kinds)} results by its schema, got {len(results)}"
            )
        converted = []
        for kind, value in zip(kinds, results, strict=True):
            try:
                converted.append(kind.convert(value))
            except TypeError:
                raise RuntimeError(f"Unable to cast {value!r} to {kind.shown()}") from None
        if self.opaque:
            self._check_apart(converted, tensors)
        return tuple(converted)

    def _written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
        """Return the tensors that the schema says are written."""
        if self.schema.is_functional:
            return []
        positional = [a for a in self.schema.arguments if not a.keyword_only]
        values = {**dict(zip([a.name for a in positional], args, strict=True)), **kwargs}
        found: list[Tensor] = []
        for argument in self.schema.arguments if not modes.is_capturing() else ():
            value = values[argument.name] if argument.is_written else None
            several = value if isinstance(value, (list, tuple)) else [value]
            found += [t for t in several if isinstance(t, Tensor)]
        return found

    def _check_apart(self, results: list[Any], tensors: list[Tensor]) -> None:
        """Raise RuntimeError in PyTorch's words for a result that shares memory with another
        tensor."""
        seen = {id(t._storage) for t in tensors}
        for x in results:
            for t in x if isinstance(x, list) else (x,):
                if isinstance(t, Tensor):
                    if id(t._storage) in seen:
                        where = self.kernels.get("default", self.qualname)
                        raise RuntimeError(
                            _ALIASED.format(
                                name=self.name, where=getattr(where, "__module__", where)
                            )
                        )
                    seen.add(id(t._storage))

    # -- autograd and vmap -------------------------------------------------------------------------

    def _build_class(self) -> type:
        if self._function is None:
            name = f"GeneratedBackwardFor_{self.shown.replace('.', '_')}"
            rule = self.vmap
            self._function = type(
                name,
                (Function,),
                {
                    "forward": staticmethod(self._forward),
                    "setup_context": staticmethod(self._set_up),
                    "backward": staticmethod(self._backward),
                    "vmap": None if rule is None else staticmethod(self._mapped),
                    "generate_vmap_rule": rule is None,
                },
            )
        return self._function

    def _forward(self, *flat_and_call: Any) -> tuple[Any, ...]:
        *flat, call = flat_and_call
        tensors = [x for x in flat if isinstance(x, Tensor)]
        results = self._results(call.closed(flat), call.kwargs, tensors)
        call.result_lengths = [len(r) if isinstance(r, list) else None for r in results]
        return tuple(call.opened(results))

    def _set_up(self, ctx: Any, inputs: Any, output: Any) -> None:
        *flat, call = inputs
        ctx._call = call
        if self.setup_context is not None:
            named = {"keyword_only_inputs": call.kwargs} if call.kwargs else {}
            results = self._finish(call.results(output))
            self.setup_context(ctx=ctx, inputs=call.closed(flat), output=results, **named)

    def _backward(self, ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        if self.backward is None:
            raise RuntimeError(
                f"Trying to backward through {self.shown} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        call: OperatorCall = ctx._call
        found = self.backward(ctx, *call.results(cotangents))
        grads = list(found) if isinstance(found, tuple) else [found]
        missing = len(call.lengths) - len(grads)
        if 0 < missing <= call.omitted:  # arguments left to their defaults
            grads += [None] * missing
        fits = len(grads) == len(call.lengths) and all(
            g is None or n is None or (isinstance(g, (list, tuple)) and len(g) == n)
            for g, n in zip(grads, call.lengths, strict=True)
        )
        if not fits:
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got "
                f"{len(grads)} gradients for {len(call.lengths)} inputs, or a list of another "
                "length than the input's."
            )
        flat: list[Any] = []
        for g, n in zip(grads, call.lengths, strict=True):
            flat += [g] if n is None else [None] * n if g is None else list(g)
        return (*flat, None)

    def _mapped(self, info: Any, in_dims: Any, *flat_and_call: Any) -> tuple[Any, ...]:
        *flat, call = flat_and_call
        assert self.vmap is not None
        found = self.vmap(info, call.closed(in_dims[:-1]), *call.closed(flat), **call.kwargs)
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError("Expected the vmap function to give an output and its out_dims")
        results, dims = found
        if self.schema.single:
            results, dims = (results,), (dims,)
        elif not isinstance(dims, (tuple, list)):
            dims = (dims,) * len(results)
        call.result_lengths = [len(r) if isinstance(r, list) else None for r in results]
        every = [
            d
            if isinstance(r, list) and isinstance(d, (list, tuple))
            else [d] * len(r)
            if isinstance(r, list)
            else d
            for r, d in zip(results, dims, strict=True)
        ]
        return tuple(call.opened(results)), tuple(
            call.opened([list(d) if isinstance(d, tuple) else d for d in every])
        )
