"""Gradient scaling: losses times a factor, so that small gradients survive float16."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

from torchlike._core import devices, dtypes, modes
from torchlike._ops import functions
from torchlike.autograd.grad_mode import no_grad
from torchlike.optim.optimizer import Optimizer
from torchlike.tensor import Tensor


class OptState(Enum):
    """What happened to an optimizer since the last update."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _check_first_step(optimizer: Optimizer, capture: Any) -> None:
    """Raise JitCaptureError where skipping an optimizer's first step would make the second another
    one: state that it begins with is zeros, but for SGD's momentum with dampening."""
    for group in optimizer.param_groups:
        if group.get("dampening") and not all(p in optimizer.state for p in group["params"]):
            capture.refuse(
                "GradScaler.step() of SGD with dampening that has no momentum yet",
                "one step without the scaler first",
            )


class GradScaler:
    """Scales losses; steps only where gradients are finite; finds the factor that lets them be.

    Args:
      device: "cuda" (off, with a warning, without a GPU) or "cpu".
      growth_factor, growth_interval: the factor grows after so many steps without an infinity.
      backoff_factor: it shrinks after one.
      enabled: False makes everything pass through.

    Inside a jitted function the program computes the step and keeps what was there before where
    gradients are infinite: ``step`` and ``update`` belong in the same function. (The eager step
    asks for the value.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        if enabled and device == "cuda" and not devices.available("cuda"):
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        if not enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._optimizers: dict[int, dict[str, Any]] = {}

    # -- scaling -----------------------------------------------------------------------------------

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._optimizers.setdefault(
            id(optimizer), {"stage": OptState.READY, "found_inf": None}
        )

    def _begin(self, device: Any) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        # State like an optimizer's: it counts as having existed before a running capture.
        with modes.outside():
            self._scale = functions.full((), self._init_scale, dtype=dtypes.float32, device=device)
            self._growth_tracker = functions.full(
                (), self._init_growth_tracker, dtype=dtypes.int32, device=device
            )

    def _scale_and_growth_tracker(self, method: str) -> tuple[Tensor, Tensor]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
        fix += "the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {method} but _scale is None.  {fix}")
        assert self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor (or a list of them, nested) by the scale. Raises ValueError for
        anything else."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._begin(outputs.device)
            assert self._scale is not None
            return outputs * self._scale.to(outputs.device)
        if isinstance(outputs, (list, tuple)) or hasattr(outputs, "__iter__"):
            parts = map(self.scale, outputs)
            return type(outputs)(parts) if isinstance(outputs, (list, tuple)) else parts
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    @no_grad()
    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the optimizer's gradients by the scale, in place, before clipping them.

        RuntimeError for a second time since the last ``update``; ValueError for float16 gradients.
        """
        if not self._enabled:
            return
        scale, _ = self._scale_and_growth_tracker("unscale_")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # Rounded once: the reciprocal in double, then to float32.
        inverse = scale.double().reciprocal().float()
        bad = None
        for group in optimizer.param_groups:
            for p in group["params"]:
                g = p._held_grad()
                if g is None:
                    continue
                if g.dtype == dtypes.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                g = g._values() if g.is_sparse else g
                finite = functions.isfinite(g).all()
                bad = ~finite if bad is None else bad | ~finite
                g.mul_(inverse.to(g.device))
        state["found_inf"] = None if bad is None else bad.float()
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale (unless that was done) and step, if all gradients are finite.

        RuntimeError for closures, and for a second step since the last ``update``; AssertionError
        for an optimizer without gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._scale_and_growth_tracker("step")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if state["found_inf"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        found, capture = state["found_inf"], modes.running_capture()
        if not modes.is_capturing():
            result = None if found.item() else optimizer.step(*args, **kwargs)
        else:
            _check_first_step(optimizer, capture)
            with capture.unless(found._read() > 0):
                result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    @no_grad()
    def update(self, new_scale: Any = None) -> None:
        """Change the scale by what the steps since the last time found, or to ``new_scale``."""
        if not self._enabled:
            return
        scale, tracker = self._scale_and_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            else:
                if new_scale.numel() != 1 or new_scale.requires_grad:
                    raise AssertionError(
                        "new_scale should be a float or a 1-element "
                        "torch.cuda.FloatTensor or torch.FloatTensor with "
                        "requires_grad=False."
                    )
                scale.copy_(new_scale.reshape(()))
        else:
            found = [
                s["found_inf"] for s in self._optimizers.values() if s["found_inf"] is not None
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._follow(scale, tracker, functions.stack(found).sum() > 0)
        self._optimizers.clear()

    def _follow(self, scale: Tensor, tracker: Tensor, bad: Tensor) -> None:
        """Shrink the scale after an infinity, and grow it after ``growth_interval`` steps without
        one."""
        done = tracker + 1
        grow = (done == self._growth_interval) & ~bad
        larger = scale * self._growth_factor
        larger = functions.where(functions.isfinite(larger), larger, scale)
        smaller = scale * self._backoff_factor
        scale.copy_(functions.where(bad, smaller, functions.where(grow, larger, scale)))
        tracker.copy_(functions.where(bad | grow, functions.zeros_like(done), done))

    # -- settings and state ------------------------------------------------------------------------

    def get_scale(self) -> float:
        """Return the scale as a number: 1.0 when disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of finite steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of finite steps after which the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Return whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and its settings; an empty dictionary when disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state. Raises RuntimeError for that of a disabled scaler."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from "
                "a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)
