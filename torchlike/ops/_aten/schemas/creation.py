"""New tensors: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_pin_memory(self, Device? device=None)  >
_to_copy(self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None)
arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None)
arange .start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
arange .start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
as_tensor .bool(bool t, *, ScalarType? dtype=None, Device? device=None)
as_tensor .float(float t, *, ScalarType? dtype=None, Device? device=None)
as_tensor .int(int t, *, ScalarType? dtype=None, Device? device=None)
as_tensor .complex(complex t, *, ScalarType? dtype=None, Device? device=None)
as_tensor(Tensor(a) data, *, ScalarType? dtype=None, Device? device=None) -> Tensor(b|a)
bartlett_window blackman_window hamming_window hann_window kaiser_window(int window_length, *,
    ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
bartlett_window blackman_window hamming_window hann_window kaiser_window .periodic(int
    window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
empty .memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
empty_like ones_like rand_like randn_like zeros_like(self, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None)
eye .m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None)
from_file(str filename, bool? shared=None, int? size=0, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
full_like(self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
hamming_window .periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType?
    dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
hamming_window .periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *,
    ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
is_pinned(self, Device? device=None) -> bool
kaiser_window .beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None)
linspace .Tensor_Tensor(start, end, int steps, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
linspace .Tensor_Scalar(start, Scalar end, int steps, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
linspace .Scalar_Tensor(Scalar start, end, int steps, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
logspace .Tensor_Tensor(start, end, int steps, float base=10., *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
logspace .Tensor_Scalar(start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None)
logspace .Scalar_Tensor(Scalar start, end, int steps, float base=10., *, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None)
logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
new_empty new_ones new_zeros(self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
new_empty_strided(self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
new_full(self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
ones rand randn zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)  !c
rand randn .generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
rand_like randn_like .generator(self, *, Generator? generator, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
randint .generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4,
    Layout? layout=None, Device? device=None, bool? pin_memory=None)
randint .low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
randint .low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator,
    ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None)
randint_like(self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
randint_like .Tensor(self, high, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
randint_like .low_dtype(self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None)
randint_like .generator(self, SymInt high, *, Generator? generator, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat?
    memory_format=None)
randint_like .Tensor_generator(self, high, *, Generator? generator, ScalarType? dtype=None,
    Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat?
    memory_format=None)
randint_like .low_generator_dtype(self, SymInt low, SymInt high, *, Generator? generator,
    ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,
    MemoryFormat? memory_format=None)
randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool?
    pin_memory=None)
randperm .generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
range .step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None)
scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None)
tensor .bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False)
tensor .float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False)
tensor .int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False)
tensor .complex(complex t, *, ScalarType? dtype=None, Device? device=None, bool
    requires_grad=False)
to .dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)  !c
tril_indices triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout?
    layout=None, Device? device=None, bool? pin_memory=None)
"""
