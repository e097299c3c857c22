"""``biject_to`` and ``transform_to``: from unconstrained numbers to a constraint's region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.distributions import constraints, transforms
from torchlike.distributions.transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Constraints' classes and what makes their transforms; calling it gives a transform."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Callable[..., Any]:
        """Register a factory for a constraint or its class; a decorator without one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """Return the transform of a constraint. Raises NotImplementedError for a class that is not
        registered."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


#: Bijections.
biject_to = ConstraintRegistry()
#: Transforms that are cheap and well behaved, not always bijections.
transform_to = ConstraintRegistry()

_both = (biject_to, transform_to)


def _register_all() -> None:
    c, t = constraints, transforms

    def affine(low: Any, scale: Any) -> Any:
        return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(low, scale)])

    def interval(constraint: Any) -> Transform:
        low, high = constraint.lower_bound, constraint.upper_bound
        if (
            isinstance(low, (int, float))
            and isinstance(high, (int, float))
            and (low == 0 and high == 1)
        ):
            return t.SigmoidTransform()
        return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])

    for registry in _both:
        put = registry.register
        put(c.real, lambda _: t.identity_transform)
        put(
            c.independent,
            lambda k, registry=registry: t.IndependentTransform(
                registry(k.base_constraint), k.reinterpreted_batch_ndims
            ),
        )
        put(c.MixtureSameFamilyConstraint, lambda k, registry=registry: registry(k.base_constraint))
        for kind in (c.greater_than, c.greater_than_eq):  # positive and nonnegative among them
            put(kind, lambda k: affine(k.lower_bound, 1))
        put(c.less_than, lambda k: affine(k.upper_bound, -1))
        for kind in (c.interval, c.half_open_interval):
            put(kind, interval)
        put(c.corr_cholesky, lambda _: t.CorrCholeskyTransform())
        put(
            c.cat,
            lambda k, registry=registry: t.CatTransform(
                [registry(part) for part in k.cseq], k.dim, k.lengths
            ),
        )
        put(
            c.stack,
            lambda k, registry=registry: t.StackTransform(
                [registry(part) for part in k.cseq], k.dim
            ),
        )
    biject_to.register(c.simplex, lambda _: t.StickBreakingTransform())
    transform_to.register(c.lower_cholesky, lambda _: t.LowerCholeskyTransform())
    for kind in (c.positive_definite, c.positive_semidefinite):
        transform_to.register(kind, lambda _: t.PositiveDefiniteTransform())
    transform_to.register(c.simplex, lambda _: t.SoftmaxTransform())


_register_all()
