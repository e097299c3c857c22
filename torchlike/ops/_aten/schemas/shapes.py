"""Views, joining, indexing, copies: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_conj _neg_view alias ccol_indices col_indices crow_indices indices lift_fresh row_indices values
    view_as_complex view_as_real(Tensor(a) self) -> Tensor(a)
_cummax_helper(self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()
_has_compatible_shallow_copy_type(self, from) -> bool  !c
_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)
_resize_output(self, SymInt[] size, Device device)  !i
_unsafe_masked_index(self, mask, Tensor?[] indices, Scalar fill)
_unsafe_masked_index_put_accumulate(self, mask, Tensor?[] indices, values)
_unsafe_view view_copy(self, SymInt[] size)
adjoint coalesce conj imag mH mT positive ravel real resolve_conj resolve_neg(Tensor(a) self) ->
    Tensor(a)  !c
alias_copy detach_copy nonzero squeeze_copy t_copy view_as_complex_copy view_as_real_copy(self)  >
argwhere fliplr flipud(self)  !c
as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) ->
    Tensor(a)  !i
as_strided_copy(self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
as_strided_scatter(self, src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
bernoulli_ .float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
block_diag(Tensor[] tensors)
broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)  !c
cat stack(Tensor[] tensors, int dim=0)
chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]  !c
clone(self, *, MemoryFormat? memory_format=None)  >
column_stack dstack hstack row_stack vstack(Tensor[] tensors)  !c
concat concatenate(Tensor[] tensors, int dim=0)  !c
contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)  !c
copy(self, src, bool non_blocking=False)  !i
copysign .Tensor(self, other)  !i >
copysign .Scalar(self, Scalar other)  !i >
count_nonzero(self, int? dim=None)  >
count_nonzero .dim_IntList(self, int[] dim)
cpu cuda(Tensor(a) self) -> Tensor(b|a)
detach squeeze t(Tensor(a) self) -> Tensor(a)  !i
diag(self, int diagonal=0)  !c >
diag_embed(self, int offset=0, int dim1=-2, int dim2=-1)  >
diagflat(self, int offset=0)  !c
diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
diagonal_copy(self, int offset=0, int dim1=0, int dim2=1)  >
diagonal_scatter(self, src, int offset=0, int dim1=0, int dim2=1)  >
dsplit hsplit vsplit .int(Tensor(a -> *) self, int sections) -> Tensor(a)[]  !c
dsplit hsplit vsplit .array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]  !c
expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
expand_as reshape_as view_as(Tensor(a) self, other) -> Tensor(a)  !c
expand_copy(self, SymInt[] size, *, bool implicit=False)
fill .Scalar(self, Scalar value)  !i >
fill .Tensor(self, value)  !i >Tensor_out
fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)  !c
flatten .using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)  !c
flip permute_copy(self, int[] dims)
float_power_ .Tensor(Tensor(a!) self, exponent) -> Tensor(a!)  !c
float_power_ .Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)  !c
floor_divide_ .Tensor(Tensor(a!) self, other) -> Tensor(a!)
gather(self, int dim, index, *, bool sparse_grad=False)  >
histogram .bins_tensor(self, bins, *, Tensor? weight=None, bool density=False) -> (Tensor, Tensor)
histogram .bin_ct(self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool
    density=False) -> (Tensor, Tensor)
histogramdd(self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) ->
    (Tensor, Tensor[])  !c
histogramdd .int_bins(self, int bins, float[]? range=None, Tensor? weight=None, bool
    density=False) -> (Tensor, Tensor[])  !c
histogramdd .TensorList_bins(self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool
    density=False) -> (Tensor, Tensor[])  !c
index .Tensor(self, Tensor?[] indices)
index .Tensor_hacked_twin(self, Tensor[] indices)
index .list_Tensor(Tensor[] self, el) -> int
index_add(self, int dim, index, source, *, Scalar alpha=1)  !i >
index_copy(self, int dim, index, source)  !i >
index_fill .int_Tensor(self, int dim, index, value)  !i >
index_fill .int_Scalar(self, int dim, index, Scalar value)  !i >
index_put(self, Tensor?[] indices, values, bool accumulate=False)  !i
index_reduce(self, int dim, index, source, str reduce, *, bool include_self=True)  !i >
index_select(self, int dim, index)  >
is_contiguous is_nonzero(self) -> bool  !c
is_contiguous .memory_format(self, MemoryFormat memory_format) -> bool  !c
is_set_to(self, tensor) -> bool
ldexp_(Tensor(a!) self, other) -> Tensor(a!)
lift lift_fresh_copy(self)
mH mT .a(Tensor(a) self) -> Tensor(a)
masked_fill .Scalar(self, mask, Scalar value)  !i >
masked_fill .Tensor(self, mask, value)  !i >Tensor_out
masked_scatter(self, mask, source)  !i >
masked_select(self, mask)  >
meshgrid(Tensor[] tensors) -> Tensor[]  !c
meshgrid .indexing(Tensor[] tensors, *, str indexing) -> Tensor[]  !c
moveaxis movedim .intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)  !c
moveaxis movedim .int(Tensor(a) self, int source, int destination) -> Tensor(a)  !c
nan_to_num(self, float? nan=None, float? posinf=None, float? neginf=None)  !i >
nanquantile quantile(self, q, int? dim=None, bool keepdim=False, *, str interpolation="linear")
    !c >
nanquantile quantile .scalar(self, float q, int? dim=None, bool keepdim=False, *, str
    interpolation="linear")  !c >
narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)  !c
narrow .Tensor(Tensor(a) self, int dim, start, SymInt length) -> Tensor(a)  !c
narrow_copy(self, int dim, SymInt start, SymInt length)  >
nonzero_static(self, *, SymInt size, int fill_value=-1)  >
output_nr storage_offset(self) -> int  !c
permute(Tensor(a) self, int[] dims) -> Tensor(a)
polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
pow_ .Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)
pow_ .Tensor(Tensor(a!) self, exponent) -> Tensor(a!)
put(self, index, source, bool accumulate=False)  !i >
repeat(self, SymInt[] repeats)
repeat_interleave .Tensor(repeats, *, SymInt? output_size=None)  >Tensor_out
repeat_interleave .self_Tensor(self, repeats, int? dim=None, *, SymInt? output_size=None)  !c
repeat_interleave .self_int(self, SymInt repeats, int? dim=None, *, SymInt? output_size=None)  !c
requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)  !c
reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)  !c
resize(self, SymInt[] size, *, MemoryFormat? memory_format=None)  !i
result_type .Tensor(tensor, other) -> ScalarType  !c
result_type .Scalar(tensor, Scalar other) -> ScalarType  !c
result_type .Scalar_Tensor(Scalar scalar, tensor) -> ScalarType  !c
retain_grad(Tensor(a!) self) -> ()  !c
roll(self, SymInt[1] shifts, int[1] dims=[])
rot90(self, int k=1, int[] dims=[0, 1])
scatter .value(self, int dim, index, Scalar value)  !i >
scatter .src(self, int dim, index, src)  !i >
scatter .reduce(self, int dim, index, src, *, str reduce)  !i >
scatter .value_reduce(self, int dim, index, Scalar value, *, str reduce)  !i >
scatter_add(self, int dim, index, src)  !i >
scatter_reduce .two(self, int dim, index, src, str reduce, *, bool include_self=True)  !i >
select .int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
select_copy .int(self, int dim, SymInt index)  >
select_scatter(self, src, int dim, SymInt index)  >
set_(Tensor(a!) self) -> Tensor(a!)
set_ .source_Tensor(Tensor(a!) self, source) -> Tensor(a!)
set_ .source_Tensor_storage_offset(Tensor(a!) self, source, SymInt storage_offset, SymInt[] size,
    SymInt[] stride=[]) -> Tensor(a!)  !c
slice .Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) ->
    Tensor(a)
slice_copy .Tensor(self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)
    >Tensor_out
slice_scatter(self, src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)  >
split .Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
split .sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]  !c
split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]
split_copy unsafe_split .Tensor(self, SymInt split_size, int dim=0) -> Tensor[]
split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
split_with_sizes_copy unsafe_split_with_sizes(self, SymInt[] split_sizes, int dim=0) -> Tensor[]
squeeze .dim(Tensor(a) self, int dim) -> Tensor(a)  !i
squeeze .dims(Tensor(a) self, int[] dim) -> Tensor(a)  !i
squeeze_copy .dim(self, int dim)  >
squeeze_copy .dims(self, int[] dim)
sum_to_size(self, SymInt[] size)  !c
swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)  !ci
swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)  !ci
sym_numel sym_storage_offset(self) -> SymInt  !c
sym_size sym_stride .int(self, int dim) -> SymInt  !c
sym_size sym_stride(self) -> SymInt[]  !c
take(self, index)  >
take_along_dim(self, indices, int? dim=None)  !c >
tensor_split .sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]  !c
tensor_split .indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]  !c
tensor_split .tensor_indices_or_sections(Tensor(a -> *) self, tensor_indices_or_sections, int
    dim=0) -> Tensor(a)[]  !c
tile(self, SymInt[] dims)  !c
to .device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool
    copy=False, MemoryFormat? memory_format=None) -> Tensor(a)  !c
to .dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False,
    MemoryFormat? memory_format=None) -> Tensor(a)  !c
to .other(Tensor(a) self, other, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)  !c
to_dense(self, ScalarType? dtype=None, *, bool? masked_grad=None)  !c
topk(self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)
transpose .int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
transpose_copy .int(self, int dim0, int dim1)  >
tril triu(self, SymInt diagonal=0)  !i >
type_as(self, other)  !c
unbind .int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
unbind_copy .int(self, int dim=0) -> Tensor[]
unflatten .int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)  !c
unsafe_chunk(self, int chunks, int dim=0) -> Tensor[]  !c
unsqueeze(Tensor(a) self, int dim) -> Tensor(a)  !i
unsqueeze_copy(self, int dim)  >
view(Tensor(a) self, SymInt[] size) -> Tensor(a)
view .dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
view_copy .dtype(self, ScalarType dtype)  >
where .self(condition, self, other)  >
where .ScalarOther(condition, self, Scalar other)  !c
where .ScalarSelf(condition, Scalar self, other)  !c
where .Scalar(condition, Scalar self, Scalar other)  !c
where(condition) -> Tensor[]  !c
_cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short(self,
    bool non_blocking=False)  !c
_chunk_cat(Tensor[] tensors, int dim, int num_chunks)
_conj_copy _neg_view_copy(self)
_index_put_impl_(Tensor(a!) self, Tensor?[] indices, values, bool accumulate=False, bool
    unsafe=False) -> Tensor(a!)
_reshape_alias_copy(self, SymInt[] size, SymInt[] stride)
_reshape_copy(self, SymInt[] size)
_stack(Tensor[] tensors, int dim=0)
_unsafe_index .Tensor(self, Tensor?[] indices)
_unsafe_index_put(self, Tensor?[] indices, values, bool accumulate=False)
diagonal_backward(grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2)
gather_backward(grad, self, int dim, index, bool sparse_grad)  !c
item(self) -> Scalar  !c
masked_scatter_backward(grad_output, mask, SymInt[] sizes)
numpy_T matrix_H(Tensor(a) self) -> Tensor(a)  !c
pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str
    padding_side="right")  !c
resize_as_(Tensor(a!) self, the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)
trace_backward(grad, SymInt[] sizes)
"""
