"""The value of a tensor in its storage: read through its view, and replaced."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike._core import cells, modes, views
from torchlike._core.cells import KINDS
from torchlike._core.storage import device_array, host_value
from torchlike._core.tensor_class import TensorFields

#: Elements of the largest view that NumPy shows of a host value: expanded, it may be of any size.
_MOST_SHOWN = 1 << 16


class StoredValues(TensorFields):
    """Read and write the array that ``Tensor`` shows of its storage."""

    def _read(self) -> Any:
        """Return the value as a jax array of this tensor's shape (a tracer while capturing)."""
        storage, view = self._storage, self._view
        if view is None:
            if storage.host is None and modes.current.capture is None:
                cell = storage.cell
                return cell if type(cell) is not np.ndarray else storage.concrete()
            return storage.read()
        if modes.current.capture is not None:
            cell = storage.read()
            if type(cell) in KINDS:
                return cells.apply(views.reader(view.steps), cell, *view.dynamic)
            return views.reader(view.steps)(cell, *view.dynamic)
        if storage.host is not None:
            part = self._host_view()
            if part is not None:
                return device_array(np.array(part))
            return views.reader_alone(view.steps)(storage.concrete(), *view.dynamic)
        if view.cached_version != storage.version:
            read = views.reader_alone(view.steps)
            if type(storage.cell) in KINDS:
                return cells.apply(read, storage.cell, *view.dynamic)
            view.cached = read(storage.concrete(), *view.dynamic)
            view.cached_version = storage.version
        if type(view.cached) is np.ndarray:
            view.cached = device_array(view.cached)
        return view.cached

    def _value_now(self) -> Any:
        """Return the value as compiled forms take it: a jax array (a tracer) or a host value."""
        storage, view = self._storage, self._view
        if view is None:
            return storage.value()
        if type(storage.cell) is not np.ndarray or modes.current.capture is not None:
            if storage.host is None or modes.current.capture is not None:
                return self._read()
            part = self._host_view()
            return self._read() if part is None else host_value(np.array(part, order="C"))
        if view.cached_version != storage.version:
            part = self._part_of(_in_memory_order(storage.cell, storage.strides))
            if part is None:
                return self._read()
            view.cached, view.cached_version = (
                part if part.flags.c_contiguous else part.copy(),
                (storage.version),
            )
        return view.cached

    def _part_of(self, cell: np.ndarray) -> np.ndarray | None:
        """Return this view's part of a host value of its storage, in memory order; None where NumPy
        cannot show it."""
        view = self._view
        assert view is not None
        for s in view.steps:
            if not s.rearranges:
                return None
        size, stride, offset = view.geometry
        count = math.prod(size)
        if count > _MOST_SHOWN:
            return None
        if not count:  # NumPy refuses an offset behind the end of an empty buffer
            return np.empty(size, cell.dtype)
        width = cell.itemsize
        return np.ndarray(size, cell.dtype, cell, offset * width, [n * width for n in stride])

    def _host_view(self) -> np.ndarray | None:
        """Return this tensor as a NumPy view on its host buffer; None where NumPy has no such
        view."""
        storage, view = self._storage, self._view
        host = storage.host
        assert host is not None
        if view is None:
            return host
        if (
            storage.strides is not None
            and host.flags.c_contiguous
            and not views.is_contiguous(host.shape, storage.strides)
        ):
            return None  # the geometry speaks of another memory order than the buffer's
        if not view.shows_memory:
            return None
        return views.host_view(host, view.geometry, self.dtype.numpy)

    def _write(self, array: Any) -> None:
        """Replace this tensor's value (already of its shape and dtype) in its storage."""
        storage, view = self._storage, self._view
        if type(array) in KINDS:
            array.check_write(storage)
        if view is None:
            if self._is_data:
                self._about_to_write_data()
            storage.write(array)
            return
        if self._is_data or ((base := self._base) is not None and base._is_data):
            self._about_to_write_data()
        for held in (storage.cell, array):
            if type(held) in KINDS:
                # A number's worth of JAX array where the new value is no tensor of a level.
                held.write_view(storage, view, array, views.writer(view.steps, False))
                return
        if storage.host is not None and modes.current.capture is None:
            part = self._host_view()
            if part is not None:  # and no more: other processes may be writing the rest
                storage.write_part(part, array)
                return
        on_host = type(storage.cell) is np.ndarray and storage.strides is None
        if on_host and modes.current.capture is None:
            whole = storage.cell.copy()
            part = self._part_of(whole)
            if part is not None and getattr(array, "dtype", None) == part.dtype:
                part[...] = array
                storage.write(whole)
                return
        donate = modes.current.capture is None and storage.is_sole_owner()
        write = views.writer(view.steps, donate)
        storage.write(write(storage.read(), array, *view.dynamic))

    def jax(self) -> Any:
        """Return the value as a ``jax.Array``: a snapshot, since jax arrays are immutable. It has
        no history: gradients end there.

        Returns:
          an array of the tensor's shape, dtype and device; inside ``torchlike.jit`` a tracer.

        Example:
          >>> torch.ones(2).jax() + 1
          Array([2., 2.], dtype=float32)
        """
        array, capture = self._read(), modes.current.capture
        if type(array) in KINDS:
            return array.as_jax()
        return array if capture is None else capture.traced(self._storage, array)


def _in_memory_order(values: np.ndarray, strides: tuple[int, ...] | None) -> np.ndarray:
    """Return an array whose memory, row by row, is that of a storage with these strides."""
    if strides is None:
        return values
    return np.array(values.transpose(views.dense_order(values.shape, strides)), order="C")
