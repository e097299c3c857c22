"""Distribution: shapes, checks, and what can be said without knowing which one it is."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike._core import modes
from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike._ops.value_checks import require
from torchlike._runtime.homes import home
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.utils import broadcast_all, lazy_property
from torchlike.tensor import Tensor

#: What is defined in here says how it is expanded; a class from outside may not.
_LIBRARY = "torchlike.distributions."


class Unknown:
    """What a subclass has to say: NotImplementedError until it does."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        raise NotImplementedError


class Distribution:
    """Base class. A sample has the shape ``sample_shape + batch_shape + event_shape``.

    A subclass keeps each parameter under its name in ``arg_constraints``: so the checks, ``repr``
    and ``expand`` follow.

    Differs from PyTorch
    --------------------
    While a function is captured, parameters and values are not checked: there are none yet.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    #: The constraint of each parameter.
    arg_constraints: Any = Unknown()
    #: The constraint of the values.
    support: Any = Unknown()
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments from now on."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _take(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keep parameters of one number each, broadcast to the batch shape."""
        tensors = broadcast_all(*parameters.values())
        self.__dict__.update(zip(parameters, tensors, strict=True))
        Distribution.__init__(self, tensors[0].size(), validate_args=validate_args)

    def _check_parameters(self) -> None:
        try:
            known = self.arg_constraints
        except NotImplementedError:
            known = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = "
                "{}` or initialize the distribution with `validate_args=False` to turn off "
                "validation."
            )
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made from another parameter, which is checked
            value = getattr(self, name)
            holds = constraint.check(value).all()
            said = f"Expected parameter {name} ({type(value).__name__} of shape "
            said += f"{tuple(value.shape)}) of distribution "
            wants = f"to satisfy the constraint {constraint!r}, but found invalid values"
            if modes.is_capturing():
                require(holds, ValueError, f"{said}{type(self).__name__} {wants}")
            elif not holds:
                raise ValueError(f"{said}{self!r} {wants}:\n{value}")

    # -- shapes ------------------------------------------------------------------------------------

    @property
    def _constraints_by_name(self) -> dict[Any, Any]:
        """The constraints of the parameters that are kept."""
        return self.arg_constraints

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the same distribution with a larger batch shape; its parameters are expanded
        views."""
        owner = next(c for c in type(self).__mro__ if home(c).startswith(_LIBRARY))
        new: Any = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        known = self._constraints_by_name
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                # A part may have batch dimensions of its own behind those of the whole.
                value = value.expand(batch_shape + value.batch_shape[len(self._batch_shape) :])
            elif name in known and isinstance(value, Tensor):
                event = value.shape[value.dim() - known[name].event_dim :]
                value = value.expand(batch_shape + event)
            elif isinstance(getattr(type(self), name, None), lazy_property):
                continue  # of the smaller shape; made again when asked for
            new.__dict__.setdefault(name, value)  # not over what a subclass has already set
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _get_checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """Return an empty instance for ``expand``. Raises NotImplementedError where a subclass with
        parameters of its own has to say how."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _enumerated(self, values: Any, expand: bool) -> Tensor:
        """Arrange values of one event each along a new first dimension of the batch."""
        event = values.shape[1:]
        values = values.reshape(-1, *(1,) * len(self._batch_shape), *event)
        return values.expand(-1, *self._batch_shape, *event) if expand else values

    # -- what a distribution says ------------------------------------------------------------------

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw values, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draw values, with gradients for the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """Draw ``sample((n,))``, under its old name."""
        warnings.warn(
            "sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """Return the logarithm of the density (or probability) at a value."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """Return the probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """Return the value up to which the probability is ``value``: the inverse of ``cdf``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """Return all values of the support, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """Return the entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return f.exp(self.entropy())

    # -- checks ------------------------------------------------------------------------------------

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for a value of another shape, or outside the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = len(self._event_shape)
        if tuple(value.shape)[value.dim() - events :] != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.size()} vs {self._event_shape}."
            )
        own = (*self._batch_shape, *self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(own), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.size()} vs {Size(own)}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please "
                "initialize the distribution with `validate_args=False` to turn off validation."
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        holds = support.check(value).all()
        said = f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
        said += f"to be within the support ({support!r}) of the distribution "
        if modes.is_capturing():
            require(holds, ValueError, f"{said}{type(self).__name__}, but found invalid values")
        elif not holds:
            raise ValueError(f"{said}{self!r}, but found invalid values:\n{value}")

    def _valid(self, value: Any) -> Tensor:
        """Return the value, checked first where arguments are validated."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = (self.__dict__[name] for name in names)
        args = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in zip(names, shown, strict=True)
        )
        return f"{type(self).__name__}({args})"
