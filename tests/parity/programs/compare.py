"""Run a program under two libraries, line by line, and compare all that a user can see."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from programs.program import Program, Run

#: Programs use small whole numbers, so most arithmetic is exact; float32 tanh and sums in another
#: order are not (and may have been cast to float64 since). Their errors are relative to the largest
#: number met on the way.
TOLERANCE = 2e-6


def values(t: Any) -> np.ndarray:
    """The values of a tensor of either library."""
    t = t.detach()
    if t.dtype.is_complex:
        t = t.resolve_conj()
    return np.array(t.tolist(), dtype=str(t.dtype).removeprefix("torch.")).reshape(tuple(t.shape))


class Difference(AssertionError):
    """The two libraries disagree."""


def equal(what: str, ours: Any, theirs: Any) -> None:
    if ours != theirs:
        raise Difference(f"{what}: {ours!r}, the reference has {theirs!r}")


class Ambiguous(Exception):
    """The program went where PyTorch refuses and torchlike, documented, does not."""


#: PyTorch refuses views made under no_grad, and one of several views, once their base was written
#: to, even when that write was not recorded. torchlike only when it was.
INDIRECT = "its base or another view of its base has been modified inplace"


#: as_strided and resize_ over the gaps of a NumPy array, which torchlike's storage does not have,
#: and of what is viewed as another dtype.
GAPS = re.compile("array with gaps|viewed as another dtype")
#: A recorded write through a view where it or its base was resized (refused).
BESIDE_RESIZE = "beside as_strided_ or resize_"


#: A hook that PyTorch calls with None, for an output without a gradient (documented).
HOOK_OF_NONE = "NoneType"
#: PyTorch's backward through a fill_ of an expanded view (documented).
FILLED_EXPANDED = "more than one element of the written-to tensor"


#: A change of shape in place of what has hooks or retains its gradient: `.grad`, and hooks
#: registered afterwards, have the former shape in PyTorch (documented).
RESHAPED = re.compile(r"(t\d+)\.(t|transpose|squeeze|unsqueeze)_\(")
FOLLOWED = re.compile(r"(t\d+)\.(register_hook|retain_grad)\(")


class Comparison:
    """One program under two libraries."""

    def __init__(self, program: Program, ours: Run, theirs: Run, autograd: bool) -> None:
        self.program, self.ours, self.theirs, self.autograd = program, ours, theirs, autograd
        self.largest = 1.0
        #: PyTorch's tensors that got another shape in place when they had hooks.
        self.reshaped: list[Any] = []

    def run(self) -> None:
        """Run both, compare; AssertionError naming the line and the tensor that differ."""
        line = ""
        try:
            for line in self.program.lines:
                self.step(line)
                if self.program.watch:
                    self.state()
            self.state()
            if self.autograd:
                line = "loss.backward()"
                self.gradients()
        except Ambiguous:
            return
        except Difference as difference:
            raise AssertionError(f"after {line!r}: {difference}\n{self.program!r}") from None

    def step(self, line: str) -> None:
        for n in self.theirs.names("t") if self.autograd else ():
            if not history_refused(self.theirs.env[n]) and lost_history(self.theirs.env[n]):
                raise Ambiguous
        if self.autograd:
            self.hooks_and_shapes(line)
        theirs, ours = self.theirs.step(line), self.ours.step(line)
        if ours is None and INDIRECT in str(theirs):
            raise Ambiguous
        if GAPS.search(str(ours)) or BESIDE_RESIZE in str(ours):
            raise Ambiguous
        if (
            ours is None
            and "backward(" in line
            and (HOOK_OF_NONE in str(theirs) or FILLED_EXPANDED in str(theirs))
        ):
            raise Ambiguous
        if not self.autograd and ours is not None and theirs is not None:
            return  # NumPy has its own exceptions
        if type(theirs) is not type(ours):
            if ours is not None and theirs is None:
                raise Difference("raised, the reference did not") from ours
            raise Difference(f"raised {ours!r}, the reference {theirs!r}")
        if "create_graph" in line and theirs is None:
            n = line.split(" = ")[0].removeprefix("with torch.no_grad(): ")
            if _is_constant(self.theirs.env[n]) and not _is_constant(self.ours.env[n]):
                raise Ambiguous

    def hooks_and_shapes(self, line: str) -> None:
        """Ambiguous where a hook or ``.grad`` is about to see the former shape of a result."""
        if followed := FOLLOWED.search(line):
            t = self.theirs.env[followed[1]]
            if any(t is other for other in self.reshaped):
                raise Ambiguous
        if reshaped := RESHAPED.search(line):
            t = self.theirs.env[reshaped[1]]
            if history_refused(t) or t.is_leaf:
                return
            if t.retains_grad:
                raise Ambiguous
            if t._backward_hooks:
                self.reshaped.append(t)

    def close(self, what: str, ours: np.ndarray, theirs: np.ndarray) -> None:
        equal(f"{what} dtype", ours.dtype, theirs.dtype)
        equal(f"{what} shape", ours.shape, theirs.shape)
        finite = np.abs(theirs[np.isfinite(theirs)])
        self.largest = max(self.largest, float(finite.max(initial=0.0)))
        absolute = TOLERANCE * self.largest
        if not np.allclose(ours, theirs, TOLERANCE, absolute, equal_nan=True):
            raise Difference(f"{what}: {ours.tolist()}, the reference has {theirs.tolist()}")

    # -- state -------------------------------------------------------------------------------------

    def state(self) -> None:
        names = self.theirs.names("t")
        equal("names", self.ours.names("t"), names)
        for n in names:
            self.tensor(n, self.ours.env[n], self.theirs.env[n])
        self.aliasing(names)
        for n in self.theirs.names("at"):
            ours, theirs = self.ours.env[n], self.theirs.env[n]
            self.close(n, ours, theirs)
            equal(f"{n}.strides", _strides(ours), _strides(theirs))
        equal("hooks called", self.ours.env["calls"], self.theirs.env["calls"])

    def tensor(self, n: str, ours: Any, theirs: Any) -> None:
        equal(f"{n}.shape", tuple(ours.shape), tuple(theirs.shape))
        equal(f"{n}.dtype", str(ours.dtype), str(theirs.dtype))
        if self.autograd:
            equal(f"{n}.stride()", ours.stride(), theirs.stride())
            equal(f"{n}.storage_offset()", ours.storage_offset(), theirs.storage_offset())
        elif theirs.numel():  # NumPy gives dimensions of size 1 other strides
            equal(f"{n}.stride()", _long_strides(ours), _long_strides(theirs))
            equal(f"{n}.storage_offset()", ours.storage_offset(), theirs.storage_offset())
        equal(f"{n}.is_contiguous()", ours.is_contiguous(), theirs.is_contiguous())
        if self.autograd:
            equal(f"{n}.requires_grad", ours.requires_grad, theirs.requires_grad)
            refused = history_refused(theirs)
            if refused and not history_refused(ours):
                raise Ambiguous
            if refused:
                return
            equal(f"{n}.is_leaf", ours.is_leaf, theirs.is_leaf)
            names = _node_name(ours), _node_name(theirs)
            # PyTorch reads a view whose storage was written to as as_strided of its base from then
            # on, torchlike as the chain of its steps.
            if "AsStridedBackward" not in names:
                equal(f"{n}.grad_fn", *names)
            equal(f"{n}.retains_grad", ours.retains_grad, theirs.retains_grad)
        self.close(n, values(ours), values(theirs))

    def aliasing(self, names: list[str]) -> None:
        """Which tensors share memory, and where in it each begins."""
        ours = _storages([self.ours.env[n] for n in names])
        theirs = _storages([self.theirs.env[n] for n in names])
        equal(
            "shared storages",
            dict(zip(names, ours, strict=True)),
            dict(zip(names, theirs, strict=True)),
        )

    # -- gradients ---------------------------------------------------------------------------------

    def gradients(self) -> None:
        names = [
            n
            for n in self.theirs.names("t")
            if self.theirs.env[n].requires_grad and self.theirs.env[n].numel()
        ]
        if not names:
            return
        terms = []
        for k, n in enumerate(names):
            is_complex = self.theirs.env[n].dtype.is_complex
            x = f"torch.view_as_real({n}.resolve_conj())" if is_complex else n
            terms.append(f"({x} * {k % 3 + 1}).double().sum()")
        self.step(f"loss = {' + '.join(terms)}")
        self.step("loss.backward()")
        equal("hooks called", self.ours.env["calls"], self.theirs.env["calls"])
        for n in self.theirs.names("t"):
            ours, theirs = _grad(self.ours.env[n]), _grad(self.theirs.env[n])
            equal(f"{n}.grad is None", ours is None, theirs is None)
            if theirs is not None:
                self.close(f"{n}.grad", values(ours), values(theirs))


def _grad(t: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a non-leaf
        return t.grad


def _strides(a: np.ndarray) -> tuple[int, ...]:
    """Strides that mean something: those of dimensions with more than one element."""
    return tuple(s for s, n in zip(a.strides, a.shape, strict=True) if n > 1) if a.size else ()


def _long_strides(t: Any) -> list[int]:
    return [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1]


def history_refused(t: Any) -> bool:
    """Whether asking for the history of a view is refused (see INDIRECT).

    Asking also lets PyTorch find the history of a view whose base was written to: its in-place ops
    take a view for a leaf until somebody asks.
    """
    try:
        t.grad_fn  # noqa: B018
    except RuntimeError as error:
        if INDIRECT not in str(error):
            raise
        return True
    return False


def _is_constant(gradient: Any) -> bool:
    """Whether a recorded gradient is zero for good. PyTorch knows some (of what copy_ overwrote);
    torchlike's is computed, and so has a derivative, which is zero."""
    return not gradient.requires_grad and not values(gradient).any()


def lost_history(t: Any) -> bool:
    """Whether PyTorch forgot where a view came from.

    It looks for the history of a view whose memory was written to in the base. A view of a view
    that was itself made to require grad has its history elsewhere, and is left with a node that
    leads nowhere; torchlike keeps the right one.
    """
    node = t.grad_fn
    return (
        node is not None
        and node.name().startswith("AsStridedBackward")
        and node.next_functions[0][0] is None
    )


def _node_name(t: Any) -> str | None:
    """The node's name without the number that tells overloads apart."""
    if t.grad_fn is None:
        return None
    return t.grad_fn.name().rstrip("0123456789").replace("RsubBackward", "SubBackward")


def _storages(tensors: list[Any]) -> list[Any]:
    """Per tensor, the first tensor with the same storage and the bytes between storage and data."""
    seen: dict[int, int] = {}
    found: list[Any] = []
    for i, t in enumerate(tensors):
        start = t.untyped_storage().data_ptr()
        if not start or not t.numel():
            found.append(None)
        else:
            found.append((seen.setdefault(start, i), t.data_ptr() - start))
    return found
