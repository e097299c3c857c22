"""Views: their geometry, the kinds of steps, and chains of steps.

Imports `_runtime` and low files of `_core`. Begin with ``geometry.py`` (size, stride, offset), then
``steps.py`` (the kinds of views) and ``chains.py`` (views read and written through). To add a kind:
a class in ``steps.py``, a function in `_ops/shape/views`. Writes are refused by `check_writable`
here or by `check_in_place` in ``tape.py`` (docs/design/in-place.md, refused writes).

A view is a chain of *steps* on a storage's array. A step is interned (one object per set of static
parameters), so that a chain is a cheap dictionary key; its integers that often change from call to
call (the index of a select, the start of a slice) are *dynamic*: they are passed to the compiled
function as arguments, so ``x[i]`` in a loop compiles once.

``read(array, *dynamic)`` gives the view's value; ``write(array, value, *dynamic)`` gives the array
with the view's part replaced. ``geometry(geometry, *dynamic)`` follows PyTorch's size, stride and
offset.
"""

from __future__ import annotations

from torchlike._core.views.chains import (
    Steps,
    View,
    first_view,
    read_chain,
    reader,
    reader_alone,
    split_dynamic,
    undo,
    write_chain,
    writer,
)
from torchlike._core.views.geometry import (
    UNKNOWN,
    Geometry,
    SizeAlone,
    check_partial_overlap,
    check_writable,
    contiguous,
    contiguous_strides,
    dense_order,
    dense_strides,
    host_view,
    is_contiguous,
    is_dense,
    may_overlap,
    memory_index,
    view_strides,
)
from torchlike._core.views.steps import (
    Alias,
    AsStrided,
    AsStridedAgain,
    Bitcast,
    Conj,
    Diagonal,
    Expand,
    Imag,
    Index,
    Neg,
    Permute,
    Real,
    Reshape,
    Select,
    SelectAt,
    Slice,
    Step,
    UnfoldStep,
    ViewAsComplex,
    ViewAsReal,
    step,
)
