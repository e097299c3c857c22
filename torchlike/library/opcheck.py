"""``opcheck``: whether an operator keeps what its registrations promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.function import JitFunction
from torchlike._runtime import trees
from torchlike.library.registration import lookup
from torchlike.tensor import Tensor

DEFAULT_TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """A test of ``opcheck`` failed."""


def _copies(tree: Any) -> Any:
    leaves, structure = trees.flatten(tree)
    return trees.unflatten(
        structure,
        [
            x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
            for x in leaves
        ],
    )


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in trees.flatten(tree)[0] if isinstance(x, Tensor)]


def _schema(operator: Any, args: Any, kwargs: Any) -> None:
    """Check that nothing is written that the schema does not say is."""
    args, kwargs = _copies((args, kwargs))
    given, named, _ = operator.schema.bind(args, kwargs)
    positional = [a for a in operator.schema.arguments if not a.keyword_only]
    values = {**dict(zip((a.name for a in positional), given, strict=True)), **named}
    before = {name: [t._version for t in _tensors(v)] for name, v in values.items()}
    operator(*args, **kwargs)
    for argument in operator.schema.arguments:
        versions = [t._version for t in _tensors(values[argument.name])]
        if versions != before[argument.name] and not argument.is_written:
            raise OpCheckError(
                f"Argument {argument.name} is not defined as mutable but was mutated"
            )


def _registration(operator: Any, args: Any, kwargs: Any) -> None:
    """Check that gradients come from a formula, not from a graph recorded inside the kernel."""
    args, kwargs = _copies((args, kwargs))
    if not any(t.requires_grad for t in _tensors((args, kwargs))) or operator.opaque:
        return
    outputs = _tensors(operator(*args, **kwargs))
    if operator.backward is None and any(t.requires_grad for t in outputs):
        raise OpCheckError(
            f"{operator.qualname}: gradients flow through its kernel. Use register_autograd."
        )


def _fake(operator: Any, args: Any, kwargs: Any) -> None:
    """Check that the fake gives the shapes and dtypes that the kernel gives."""
    real = _tensors(operator(*_copies(args), **_copies(kwargs)))
    leaves, structure = trees.flatten((args, kwargs))
    moved = [x.detach().to("meta") if isinstance(x, Tensor) else x for x in leaves]
    fake_args, fake_kwargs = trees.unflatten(structure, moved)
    for fake, t in zip(_tensors(operator(*fake_args, **fake_kwargs)), real, strict=True):
        for what in ("shape", "dtype"):
            if getattr(fake, what) != getattr(t, what):
                raise OpCheckError(
                    f"the fake gives a tensor of {what} {getattr(fake, what)}, the kernel one of "
                    f"{getattr(t, what)}"
                )


def _compiled(operator: Any, args: Any, kwargs: Any) -> None:
    """Check that compiled code gives what eager code gives, gradients included."""
    found = []
    for call in (operator, JitFunction(lambda *a, **k: operator(*a, **k))):
        own_args, own_kwargs = _copies((args, kwargs))
        outputs = _tensors(call(*own_args, **own_kwargs))
        leaves = [t for t in _tensors((own_args, own_kwargs)) if t.requires_grad]
        wanted = [t for t in outputs if t.requires_grad]
        if leaves and wanted:
            total: Any = sum(t.abs().sum() for t in wanted)
            total.backward()
        found.append((outputs, [t.grad for t in leaves]))
    for eager, compiled in zip(_tensors(found[0]), _tensors(found[1]), strict=True):
        eager, compiled = eager.detach(), compiled.detach()
        if eager.shape != compiled.shape or not eager.allclose(
            compiled, rtol=1e-4, atol=1e-5, equal_nan=True
        ):
            raise OpCheckError("compiled and eager results differ")


_TESTS: dict[str, Callable[..., None]] = dict(
    zip(DEFAULT_TESTS, (_schema, _registration, _fake, _compiled), strict=True)
) | {"test_aot_dispatch_static": _compiled}


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT_TESTS,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test an operator on example arguments: that it writes only what its schema says, that it has
    an autograd formula of its own, that the fake agrees with the kernel, and that compiled code
    gives what eager code does.

    Gives for each test "SUCCESS" or the exception. OpCheckError for the first that fails, unless
    ``raise_exception`` is False; ValueError for an unknown test.
    """
    operator = lookup(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [n for n in names if n not in _TESTS]
    if unknown:
        raise ValueError(
            f"opcheck(op, ...): expected test_utils among {sorted(_TESTS)}, got {unknown}"
        )
    results: dict[str, Any] = {}
    for name in names:
        try:
            _TESTS[name](operator, args, kwargs or {})
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results
