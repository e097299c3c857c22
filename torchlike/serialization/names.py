"""PyTorch's names of storages in checkpoints, and what they hold."""

from torchlike._core import dtypes

#: Storage class in a checkpoint -> dtype.
STORAGES = {
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
}
#: Other dtypes have no storage class: they are written as bytes with the dtype beside them.
STORAGE_OF = {d: name for name, d in STORAGES.items()}
