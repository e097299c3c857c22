"""``torch.utils.swap_tensors``: two tensors become each other."""

from __future__ import annotations

import weakref

from torchlike._core import modes
from torchlike.tensor import Tensor, whole_dict


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: class, memory, attributes, history, gradient.

    RuntimeError where a weak reference points to one of them: it would mean the other.
    JitCaptureError in a compiled function for tensors from outside.
    """
    capture = modes.running_capture()
    for name, t in (("t1", t1), ("t2", t2)):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors(): {name} must be a Tensor, not {type(t).__name__}")
        if weakref.getweakrefs(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        if not capture.is_created(t._storage):
            capture.refuse("swap_tensors() of a tensor from outside", "copies of their values")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    first, second = dict(whole_dict(t1)), dict(whole_dict(t2))
    for t, attributes in ((t1, second), (t2, first)):
        whole_dict(t).clear()
        whole_dict(t).update(attributes)
    for t in (t1, t2):
        found = t._accumulator and t._accumulator()
        if found:  # graphs accumulate into what is now this object
            found.variable = t
    modes.epoch.advance()
