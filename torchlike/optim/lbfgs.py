"""L-BFGS with a line search by the strong Wolfe conditions (Nocedal & Wright 2006, ch. 3 and 7)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._ops import functions
from torchlike._runtime.reference import follows
from torchlike.autograd.grad_mode import enable_grad, no_grad
from torchlike.optim.optimizer import Optimizer, refuse_capture
from torchlike.optim.rules import check_rate
from torchlike.tensor import Tensor


class LBFGS(Optimizer):
    """A quasi-Newton method that keeps ``history_size`` steps; all parameters are one vector.

    ``step`` takes a closure that clears the gradients, computes the loss, its gradients, and
    returns it. It looks at values, so it runs eagerly (the closure may be jitted).

    Args:
      max_iter, max_eval: the most iterations, and calls of the closure, in a step.
      tolerance_grad, tolerance_change: where to stop.
      line_search_fn: None or "strong_wolfe".
      maximize: make the closure's loss large instead of small.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        check_rate(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
                **({"maximize": maximize} if maximize or follows("LBFGS maximizes") else {}),
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    @property
    def _maximize(self) -> bool:
        return self.param_groups[0].get("maximize", False)

    def _loss(self, closure: Any) -> tuple[Any, float]:
        """Return the closure's loss, and the number that is to become small."""
        loss = closure()
        return loss, -float(loss) if self._maximize else float(loss)

    def _flat_gradient(self) -> Tensor:
        parts = []
        for p in self._params:
            g = functions.zeros_like(p) if p.grad is None else p.grad.to_dense()
            g = functions.view_as_real(g) if g.is_complex() else g
            parts.append(g.reshape(-1))
        flat = functions.cat(parts)
        return flat.neg_() if self._maximize else flat

    def _move(self, t: Any, direction: Tensor) -> None:
        at = 0
        for p in self._params:
            real = functions.view_as_real(p) if p.is_complex() else p
            n = real.numel()
            real.add_(direction[at : at + n].view_as(real), alpha=t)
            at += n

    def _evaluate(self, closure: Any, start: list[Tensor], t: Any, d: Tensor) -> tuple[Any, ...]:
        """Compute loss and gradient at ``start + t d``; the parameters are put back where they
        were."""
        self._move(t, d)
        _, loss = self._loss(closure)
        gradient = self._flat_gradient()
        for p, value in zip(self._params, start, strict=True):
            p.copy_(value)
        return loss, gradient

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Tensor:  # type: ignore[override]
        """Iterate, and return the loss before the first move."""
        refuse_capture("LBFGS.step()")
        group = self.param_groups[0]
        lr, search = group["lr"], group["line_search_fn"]
        lr = lr.item() if isinstance(lr, Tensor) else lr
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        evaluate = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss, loss = self._loss(evaluate)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        small = gradient.abs().max().item() <= group["tolerance_grad"]
        if small:
            return first_loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = _direction(state, gradient, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = gradient.clone()
            else:
                state["prev_flat_grad"].copy_(gradient)
            state["prev_loss"] = loss
            # The first step is as long as the rate at most, for the scale is not known yet.
            size = gradient.abs().sum().item()
            first = 1.0 if size <= 1.0 else 1.0 / size  # of a gradient of zero, too
            t = first * lr if state["n_iter"] == 1 else lr
            state["d"], state["t"] = d, t
            slope = gradient.dot(d).item()
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if search is not None:
                start = [p.clone() for p in self._params]
                loss, gradient, t, used = _strong_wolfe(
                    functools.partial(self._evaluate, evaluate),
                    start,
                    t,
                    d,
                    loss,
                    gradient,
                    slope,
                    max_ls=group["max_eval"] - evaluations,
                )
                self._move(t, d)
                small = gradient.abs().max().item() <= group["tolerance_grad"]
            else:
                self._move(t, d)
                if n != group["max_iter"]:  # nothing would use it after the last
                    _, loss = self._loss(evaluate)
                    gradient = self._flat_gradient()
                    small = gradient.abs().max().item() <= group["tolerance_grad"]
                    used = 1
            state["t"] = t
            evaluations += used
            state["func_evals"] += used
            moved = d.mul(t).abs().max().item()
            if (
                evaluations >= group["max_eval"]
                or small
                or moved <= group["tolerance_change"]
                or abs(loss - state["prev_loss"]) < group["tolerance_change"]
            ):
                break
        return first_loss


def _direction(state: dict[str, Any], gradient: Tensor, history: int) -> Tensor:
    """Return minus the inverse Hessian's estimate times the gradient, by the two-loop recursion;
    the state is updated."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return gradient.neg()
    changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
    y = gradient - state["prev_flat_grad"]
    s = state["d"] * state["t"]
    ys = y.dot(s)
    if ys.item() > 1e-10:
        if len(changes) == history:
            for kept in (changes, steps, inverse):
                kept.pop(0)
        changes.append(y)
        steps.append(s)
        inverse.append(1.0 / ys)
        state["H_diag"] = ys / y.dot(y)
    weights = state.setdefault("al", [None] * history)
    q = gradient.neg()
    for i in reversed(range(len(changes))):
        weights[i] = steps[i].dot(q) * inverse[i]
        q = q - weights[i] * changes[i]
    r = q * state["H_diag"]
    for i in range(len(changes)):
        r = r + steps[i] * (weights[i] - changes[i].dot(r) * inverse[i])
    return r


def _cubic_interpolate(
    x1: float,
    f1: float,
    g1: float,
    x2: float,
    f2: float,
    g2: float,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Return where the cubic through two points with their slopes is least, within bounds."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        found = x2 - (x2 - x1) * _ratio(g2 + d2 - d1, g2 - g1 + 2 * d2)
    else:
        found = x1 - (x1 - x2) * _ratio(g1 + d2 - d1, g1 - g2 + 2 * d2)
    return min(max(found, low), high)


def _ratio(a: float, b: float) -> float:
    """Return ``a / b``, which of a line is infinite or NaN: its cubic is least nowhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(a, b))


def _interval(
    point: Callable[[float], Any],
    too_high: Callable[[Any], bool],
    start: Any,
    t: float,
    flat: float,
    most: int,
) -> tuple[list[Any], int]:
    """Let the step grow until an interval holds one that meets the conditions, and return its ends
    and how often it grew; twice the same point where that meets them. ``flat`` is the greatest
    slope that does."""
    before, now, n = start, point(t), 0
    while n < most:
        if too_high(now) or (n > 1 and now[1] >= before[1]) or (now[3] >= 0 and abs(now[3]) > flat):
            return [before, now], n
        if abs(now[3]) <= flat:
            return [now, now], n
        bounds = (now[0] + 0.01 * (now[0] - before[0]), now[0] * 10)
        t = _cubic_interpolate(before[0], before[1], before[3], now[0], now[1], now[3], bounds)
        before, now = now, point(t)
        n += 1
    return [start, now], n


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Tensor], tuple[Any, Tensor]],
    x: Any,
    t: float,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, ...]:
    """Search for a step that meets the strong Wolfe conditions and return (loss, gradient, step,
    evaluations), from ``obj_func(x, step, d)``, which gives loss and gradient.

    First the step grows until an interval holds one, then the interval shrinks around it. A point
    is (step, loss, gradient, slope). The arguments are PyTorch's: libraries call it, too.
    """
    slope = float(gtd)
    size = d.abs().max().item()

    def point(t: float) -> tuple[Any, ...]:
        loss, gradient = obj_func(x, t, d)
        return t, loss, gradient, gradient.dot(d).item()

    def too_high(p: Any) -> bool:
        return p[1] > f + c1 * p[0] * slope

    start = (0, f, g.clone(), slope)
    bracket, n = _interval(point, too_high, start, t, -c2 * slope, max_ls)
    done = bracket[0] is bracket[1]
    evaluations = n + 1
    low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    stuck = False
    while not done and n < max_ls:
        ends = (bracket[0][0], bracket[1][0])
        if abs(ends[1] - ends[0]) * size < tolerance_change:
            break
        a, b = bracket
        t = _cubic_interpolate(a[0], a[1], a[3], b[0], b[1], b[3])
        # A step near an end that was near one before, too, is moved inwards.
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:
            if stuck or t >= max(ends) or t <= min(ends):
                nearer_top = abs(t - max(ends)) < abs(t - min(ends))
                t = max(ends) - margin if nearer_top else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = point(t)
        evaluations += 1
        n += 1
        if too_high(now) or now[1] >= bracket[low][1]:
            bracket[high] = now
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(now[3]) <= -c2 * slope:
                done = True
            elif now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
    t, loss, gradient, _ = bracket[low]
    return loss, gradient, t, evaluations
