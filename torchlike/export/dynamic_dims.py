"""``torch.export.Dim``: dimensions whose size may differ from call to call."""

from __future__ import annotations


class DimHint:
    """What is said of a dimension without a name: ``Dim.AUTO``, ``Dim.DYNAMIC``, ``Dim.STATIC``.

    ``label`` is what an ONNX file calls it.
    """

    def __init__(
        self,
        name: str,
        min: int | None = None,
        max: int | None = None,
        label: str | None = None,
    ) -> None:
        self.name, self.min, self.max, self.label = name, min, max, label

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        """Return the same hint, at least ``min`` and at most ``max``."""
        return DimHint(self.name, min, max)

    def __repr__(self) -> str:
        return f"Dim.{self.name}"


class _DimType(type):
    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")


class Dim(metaclass=_DimType):
    """A dimension whose size may differ from call to call, named, at least ``min``, at most
    ``max``. ``2 * dim`` and ``dim + 1`` are derived dimensions.

    ``Dim.AUTO`` leaves it to the trace whether a size may differ, ``Dim.DYNAMIC`` demands that it
    may, ``Dim.STATIC`` that it may not. ValueError for a name that is no identifier, or an empty
    range.
    """

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise ValueError(f"a dimension's name must be an identifier, not {name!r}")
        if min is not None and max is not None and max < min:
            raise ValueError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        self.__name__ = name
        self.min, self.max = min, max
        self._root, self._scale, self._offset = self, 1, 0

    def _derived(self, scale: int, offset: int) -> Dim:
        new = object.__new__(Dim)
        new.min = new.max = None
        new._root, new._scale, new._offset = self._root, scale, offset
        new.__name__ = new._text
        return new

    @property
    def _text(self) -> str:
        """The dimension as an expression of its root's name."""
        name = self._root.__name__
        scaled = name if self._scale == 1 else f"{self._scale}*{name}"
        if not self._offset:
            return scaled
        return f"{scaled} {'+' if self._offset > 0 else '-'} {abs(self._offset)}"

    def __mul__(self, k: int) -> Dim:
        if not isinstance(k, int) or k <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {self.__name__} with {k}, where a positive integer was "
                "expected. (Only increasing linear operations with integer coefficients are "
                "supported.)"
            )
        return self._derived(self._scale * k, self._offset * k)

    __rmul__ = __mul__

    def __add__(self, k: int) -> Dim:
        if not isinstance(k, int):
            raise NotImplementedError(
                f"Attempted to add {k} to {self.__name__}, where an integer was expected. (Only "
                "increasing linear operations with integer coefficients are supported.)"
            )
        return self._derived(self._scale, self._offset + k)

    __radd__ = __add__

    def __sub__(self, k: int) -> Dim:
        return self + (-k)

    def __repr__(self) -> str:
        if self._root is not self:
            return f"DerivedDim('{self._text}')"
        return f"Dim('{self.__name__}', min={self.min or 0}, max={self.max or 'int_oo'})"

    def root_size(self, size: int) -> int | None:
        """Return the root's size where this dimension has the given one, or None where no root
        gives it."""
        rest = size - self._offset
        return rest // self._scale if rest > 0 and not rest % self._scale else None


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Return several dimensions of one range."""
    return tuple(Dim(name, min=min, max=max) for name in names)
