"""PyTorch's names of storages in checkpoints, and what they hold."""

from torchlike._core import dtypes

#: Storage class in a checkpoint -> dtype.
STORAGES = {
    **{f"{name}Storage": d for name, d in dtypes.WITH_CLASSES.items()},
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
#: Other dtypes have no storage class: they are written as bytes with the dtype beside them.
STORAGE_OF = {d: name for name, d in STORAGES.items()}
