"""Selective checkpoints: which results inside a region are kept, and which are computed again.

The first run asks the policy about each recorded op and holds the results to be kept; the second
run takes them in the same order instead of computing. Under ``torchlike.jit`` the kept results
cross over without the barrier behind which the second run stands, so XLA computes them once.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from torchlike._core.dispatch.executable import Executable
from torchlike._core.tape import saving
from torchlike._ops.aten.custom import OpOverload, OpOverloadPacket
from torchlike.ops._aten.packets import aten, overload_for

#: Ops that PyTorch's dispatcher knows by other names, whatever their operands are.
_OTHER_NAMES = {
    "attention_op": "scaled_dot_product_attention",
    "attend_op": "bmm",
    "attention_weights_op": "softmax",
}


class CheckpointPolicy(enum.Enum):
    """What becomes of an op's result. MUST and PREFER are the same here, and so are keeping and
    offloading to the CPU."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = frozenset(
    (
        CheckpointPolicy.MUST_SAVE,
        CheckpointPolicy.PREFER_SAVE,
        CheckpointPolicy.MUST_CPU_OFFLOAD,
        CheckpointPolicy.PREFER_CPU_OFFLOAD,
    )
)


class SelectiveCheckpointContext:
    """What a policy is told beside the op: whether this is the second run (it is asked in the first
    only)."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def aten_name(op: str, operands: Sequence[Any]) -> str:
    """Return the name of the op among ``torch.ops.aten``: a linear layer is ``addmm`` or ``mm``."""
    if op == "linear":
        return "mm" if len(operands) < 3 or operands[2] is None else "addmm"
    if op == "matmul":
        first, second = (o.dim() for o in operands)
        if second == 1:
            return "dot" if first == 1 else "mv"
        return "bmm" if second > 2 else "mm"
    return _OTHER_NAMES.get(op, op)


class _SavedResults:
    """The results of a region's first run, by the number of the op."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self.policy = policy
        self.results: dict[int, tuple[Executable, Any, Any]] = {}
        #: Whether a second run has taken them, and another one would find nothing.
        self.taken = False


class _Run:
    """The context of one run: ops recorded inside come here (see ``dispatch.record.execute``)."""

    def __init__(self, kept: _SavedResults) -> None:
        self.kept = kept
        self.number = 0
        self._outer: Any = None

    def __enter__(self) -> None:
        self.number = 0
        self._outer, saving.selecting = saving.selecting, self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        saving.selecting = self._outer


class _First(_Run):
    def recall(self, exe: Executable) -> Any:
        """Return None: nothing is known yet."""
        return None

    def offer(self, exe: Executable, out: Any, residuals: Any, operands: Sequence[Any]) -> None:
        """Keep a result, if the policy says so."""
        number, self.number = self.number, self.number + 1
        packet = getattr(aten, aten_name(exe.op, operands), None) if exe.op else None
        if packet is None:
            return
        overload = overload_for(packet, operands, {})
        saving.selecting = None  # what the policy computes is no part of the region
        try:
            told = SelectiveCheckpointContext(is_recompute=False)
            decision = self.kept.policy(told, overload, *operands)
        finally:
            saving.selecting = self
        if decision in _KEPT:
            self.kept.results[number] = (exe, out, residuals)


class _Second(_Run):
    def __enter__(self) -> None:
        if self.kept.taken:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any "
                "region computed under selective activation checkpoint."
            )
        self.kept.taken = bool(self.kept.results)
        super().__enter__()

    def recall(self, exe: Executable) -> Any:
        """Return (result, residuals) of the first run, if they were kept."""
        found = self.kept.results.pop(self.number, None)
        if found is None:
            return None
        before, out, residuals = found
        if before is not exe:
            raise RuntimeError(
                f"{before.name} was kept by the selective checkpoint, but {exe.name} was "
                "encountered during backward in its place"
            )
        return out, residuals

    def offer(self, exe: Executable, out: Any, residuals: Any, operands: Sequence[Any]) -> None:
        """Count the result, which is not kept again."""
        self.number += 1


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Return the two contexts for ``checkpoint(..., context_fn=...)`` that keep what a policy
    chooses.

    Args:
      policy_fn_or_list: ``policy(context, op, *operands) -> CheckpointPolicy``, or a list of ops
        (``torch.ops.aten.mm.default``) to keep, everything else being computed again.
      allow_cache_entry_mutation: accepted and without effect: a kept result is immutable, so that
        writing to the tensor later harms nothing (PyTorch refuses, or gives wrong gradients).

    Differs from PyTorch: the policy is asked about recorded ops (those that need a gradient), as
    torchlike has them: a linear layer of any rank is one ``addmm`` (``mm`` without a bias),
    attention one ``scaled_dot_product_attention``. Views are not asked about. It gets the tensors
    and numbers among the arguments, and no keywords.

    Raises:
      TypeError: neither a function nor a list.
      ValueError: something in the list is no op of ``torch.ops``.
      RuntimeError: (in backward) a second backward pass through the region.
    """
    policy: Callable[..., Any]
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, (OpOverload, OpOverloadPacket)):
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
                    f"{type(op)}."
                )
        chosen = frozenset(policy_fn_or_list)

        def in_list(context: Any, op: Any, *operands: Any) -> CheckpointPolicy:
            keep = op in chosen or op.overloadpacket in chosen
            return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

        policy = in_list
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept = _SavedResults(policy)
    return _First(kept), _Second(kept)
