"""``torch.export._trace``: the function behind ``export``, which libraries call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchlike.export.exported_program import ExportedProgram
from torchlike.export.program import export


def _export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
    pre_dispatch: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Do ``torch.export.export``; unless ``pre_dispatch``, with the operators below autograd and
    without writes, as ``run_decompositions({})`` has them. Errors as of ``export``."""
    found = export(
        mod,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        strict=strict,
        preserve_module_call_signature=preserve_module_call_signature,
        prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
    )
    return found if pre_dispatch else found.run_decompositions({})
