"""Pruning: masks on parameters, chosen at random, by size, or given."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from torchlike._ops import functions
from torchlike.nn.modules.module import M
from torchlike.nn.utils.convert_parameters import parameters_to_vector
from torchlike.tensor import Tensor


class BasePruningMethod(ABC):
    """A mask on one parameter: ``name_orig`` (the parameter), ``name_mask`` (a buffer), and
    ``name``, their product, made before each forward.

    Subclasses give ``compute_mask`` and ``PRUNING_TYPE``: "unstructured" chooses elements,
    "structured" slices along ``dim``, "global" looks at everything.
    """

    _tensor_name: Any = None
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the new mask of ``t`` (importances), on top of ``default_mask``."""

    def apply_mask(self, module: Any) -> Tensor:
        """Return the parameter multiplied by its mask."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter; on one that is pruned already the masks are combined."""
        method = cls._on_top_of_earlier(module, name, cls(*args, **kwargs))
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        again = isinstance(method, PruningContainer)
        if again:
            default = getattr(module, name + "_mask").detach().clone()
        else:
            module.register_parameter(name + "_orig", original)
            delattr(module, name)
            default = functions.ones_like(original)
        try:
            mask = method.compute_mask(importance_scores, default_mask=default)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not again:
                delattr(module, name + "_orig")
                module.register_parameter(name, original)
            raise
        return method

    @staticmethod
    def _on_top_of_earlier(module: Any, name: str, method: BasePruningMethod) -> Any:
        """Return the method itself, or a container of it and the method that was there before."""
        method._tensor_name = name
        earlier = [
            (number, hook)
            for number, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(earlier) > 1:
            raise AssertionError(
                f"Avoid adding multiple pruning hooks to the same tensor {name} of module "
                f"{module}. Use a PruningContainer."
            )
        if not earlier:
            return method
        number, old = earlier[0]
        del module._forward_pre_hooks[number]
        container = old if isinstance(old, PruningContainer) else PruningContainer(old)
        container.add_pruning_method(method)
        return container

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None
    ) -> Tensor:
        """Return ``t`` with a mask applied, without any module."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        default = functions.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the masked values the parameter's own. The pruned entries stay zero."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        for part in ("_orig", "_mask"):
            delattr(module, name + part)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter; each prunes what the ones before left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a pruning method. Raises TypeError for another type, ValueError for one of another
        parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask that the last method makes of what the earlier ones left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        n = t.dim()
        where: Any
        if method.PRUNING_TYPE == "unstructured":
            where = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            if not hasattr(method, "dim"):
                raise AttributeError(
                    'Pruning methods of PRUNING_TYPE "structured" need to have the attribute '
                    "`dim` defined."
                )
            dim = method.dim + n if method.dim < 0 else method.dim
            if dim < 0:
                raise IndexError(f"Index is out of bounds for tensor with dimensions {n}")
            kept = default_mask.sum(dim=[d for d in range(n) if d != dim]) != 0
            where = (*(slice(None),) * dim, kept)
        elif method.PRUNING_TYPE == "global":
            where = (slice(None),) * n
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        part = method.compute_mask(t[where], default_mask=default_mask[where])
        mask = mask.clone()
        mask[where] = part.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """A mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raise TypeError for what is no number, ValueError for a number below zero and for a share
    above 1."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if float(amount) < 0 or (not whole and float(amount) > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raise ValueError for a number of elements that exceeds ``tensor_size``."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _validate_structured_pruning(t: Tensor) -> None:
    """Raise ValueError for tensors of fewer than two dimensions."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
            f"shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    """Raise IndexError for a dimension that ``t`` does not have."""
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """Return how many of ``tensor_size`` elements a share or a number stands for."""
    if isinstance(amount, numbers.Integral):
        return int(amount)
    return round(float(amount) * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """Return the n-norm of each slice along ``dim``."""
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    return functions.norm(t, p=n, dim=others)


class _ByAmount(BasePruningMethod):
    """Methods that are told how much to prune: a share, or a number."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _number_of(self, size: int) -> int:
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


class _Unstructured(_ByAmount):
    """Prunes the elements for which ``_scores`` are at one end."""

    PRUNING_TYPE = "unstructured"
    _largest = False

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = self._number_of(t.nelement())
        mask = default_mask.clone().contiguous()
        if n:
            scores = self._scores(t).reshape(-1)
            mask.view(-1)[functions.topk(scores, k=n, largest=self._largest).indices] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    _largest = True

    def _scores(self, t: Tensor) -> Tensor:
        return functions.rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the elements of smallest magnitude."""

    def _scores(self, t: Tensor) -> Tensor:
        return functions.abs(t)


class _Structured(_ByAmount):
    """Prunes whole slices along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, n: int) -> Tensor:
        """Return which slices stay, as an index."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        n = self._number_of(t.shape[self.dim])
        if n == 0:
            return default_mask
        mask = functions.zeros_like(t)
        mask[(*(slice(None),) * (self.dim % t.dim()), self._kept(t, n))] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def _kept(self, t: Tensor, n: int) -> Tensor:
        scores = functions.rand(t.shape[self.dim])
        return scores > functions.kthvalue(scores, k=n).values


class LnStructured(_Structured):
    """Prunes the slices of smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, n: int) -> Tensor:
        norms = _compute_norm(t, self.n, self.dim)
        return functions.topk(norms, k=t.shape[self.dim] - n, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """A mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


# -- functions -------------------------------------------------------------------------------------


def identity(module: M, name: str) -> M:
    """Put the machinery of pruning on a parameter without pruning it. Gives the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Any) -> M:
    """Prune ``amount`` (a share, or a number) of a parameter's elements at random."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: M, name: str, amount: Any, importance_scores: Any = None) -> M:
    """Prune the ``amount`` of elements of smallest magnitude (or importance)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: Any, dim: int) -> M:
    """Prune ``amount`` of the slices along ``dim`` at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the ``amount`` of slices along ``dim`` of smallest n-norm."""
    LnStructured.apply(
        module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune by a mask of zeros and ones of the parameter's shape."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one vector.

    Args:
      parameters: (module, name) pairs.
      pruning_method: an unstructured method's class; its arguments are ``kwargs``.
      importance_scores: {(module, name): scores}, by default the values themselves.

    TypeError for another kind of method.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs: list[Any] = list(parameters)
    importance = parameters_to_vector([scores.get((m, n), getattr(m, n)) for m, n in pairs])
    default = parameters_to_vector(
        [getattr(m, n + "_mask", functions.ones_like(getattr(m, n))) for m, n in pairs]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = PruningContainer(method).compute_mask(importance, default)
    at = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        n = parameter.numel()
        custom_from_mask(module, name, mask=mask[at : at + n].view_as(parameter))
        at += n


def remove(module: M, name: str) -> M:
    """Make pruning permanent: a plain parameter with zeros. ValueError when it is not pruned."""
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Any) -> bool:
    """Return whether any parameter below the module is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
