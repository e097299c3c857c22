"""Sample arguments for joining, masking, gathering, scattering, sorting, shaping and statistics."""

from __future__ import annotations

import math

from op_harness import B, Case, F, I, V, Z, case, numbered

nan, inf = math.nan, math.inf


def X(*shape: int, high: int):  # indices
    return I(*shape, low=0, high=high)


JOINING = [
    case("cat", [F(2, 3), F(1, 3)]), case("cat", [F(2, 3), F(2, 1)], 1), case("cat", [F(2), I(3)]),
    case("cat", [F(2, 3), F(0)]), case("cat", [F(2, 3).t(), F(2, 3).t()]), case("cat", [F(2), Z(1)]),
    case("concat", [F(2), F(1)]), case("concatenate", [F(2), F(1)], dim=0), case("cat", [I(2), B(2)]),
    case("stack", [F(2, 3), F(2, 3)]), case("stack", [F(2, 3), F(2, 3)], -1),
    case("stack", [F(2), F(2, dtype="float64")]), case("stack", [F(), F()]),
    case("hstack", [F(2), F(3)]), case("hstack", [F(2, 1), F(2, 2)]), case("vstack", [F(3), F(3)]),
    case("row_stack", [F(1, 3), F(3)], skip="out"), case("dstack", [F(2, 3), F(2, 3)]), case("dstack", [F(2), F(2)]),
    case("column_stack", [F(2), F(2, 3)]), case("block_diag", F(2, 2), F(3), F()),
    case("atleast_1d", F()), case("atleast_2d", F(3)), case("atleast_3d", F(2, 3)),
    case("atleast_1d", [F(), F(2)]), case("broadcast_tensors", F(2, 1), F(3)),
    case("broadcast_shapes", (2, 1), (3,)), case("meshgrid", F(2), F(3), indexing="ij"),
    case("meshgrid", F(2), F(3), F(2), indexing="xy"), case("meshgrid", F(2), F(), indexing="ij"),
    case("cartesian_prod", F(2), F(3)), case("combinations", F(4)), case("combinations", F(3), 2, True),
    case("combinations", F(3), 4), case("combinations", F(3), 0), case("combinations", F(3), 1),
]  # fmt: skip

MASKING = [
    case("where", B(2, 3), F(2, 3), F(3), skip="method"), case("where", B(3), F(3), 0, skip="method"), case("where", B(3), 1.5, F(3), skip="method"),
    case("where", B(3), 1, 0, skip="method"), case("where", B(3), 1.0, 0, skip="method"), case("where", B(2, 3), skip="method"), case("where", F(), skip="method"),
    case("where", B(3), I(3), F(3), skip="method"), case("where", B(2, 3), F(2, 3).t(), F(2, 3).t(), skip="method"),
    case("Tensor.where", F(3), B(3), 2), case("where", B(3), F(3), F(dtype="float64"), skip="method"),
    case("masked_fill", F(2, 3), B(2, 3), 1.5), case("masked_fill", F(2, 3), B(3), F()),
    case("masked_fill", F(2, 3).t(), B(2, 3), -inf), case("masked_fill", I(3), B(3), 2),
    case("masked_fill", F(3), B(2, 3), 0), case("masked_fill", I(3), B(3), 1.7), case("masked_fill", B(3), B(3), True),
    case("masked_select", F(2, 3), B(2, 3)), case("masked_select", F(3), B(2, 3)), case("masked_select", F(2, 1), B(3)),
    case("masked_scatter", F(2, 3), B(2, 3), F(7)), case("masked_scatter", F(2, 3), B(3), F(2, 3)),
    case("nonzero", I(2, 3, low=0, high=2)), case("nonzero", F(), skip="strides"), case("nonzero", B(4), as_tuple=True),
    case("nonzero", I(2, 3, low=0, high=2), as_tuple=True, skip="strides"), case("argwhere", B(2, 3)),
]  # fmt: skip

GATHERING = [
    case("gather", F(3, 4), 0, X(2, 4, high=3)), case("gather", F(3, 4), 1, X(3, 6, high=4)),
    case("gather", F(3, 4), -1, X(2, 2, high=4)), case("gather", F(4), 0, X(high=4)), case("gather", F(), 0, V([0, 0], "int64")),
    case("gather", F(3, 4).t(), 1, X(3, 2, high=4)), case("gather", I(3, 4), 0, X(1, 4, high=3)),
    case("index_select", F(3, 4), 0, X(5, high=3)), case("index_select", F(3, 4), 1, X(2, high=4)),
    case("index_select", F(4), 0, X(high=4)), case("index_select", F(3, 4), 1, I(2, low=0, high=4, dtype="int32")),
    case("index_select", F(2, 3, 2), -2, V([], "int64")), case("index_select", B(3), 0, X(2, high=3)),
    case("take", F(2, 3), I(2, 2, low=-6, high=6)), case("take", F(3), X(high=3)),
    case("take_along_dim", F(3, 4), X(3, 1, high=4), 1), case("take_along_dim", F(3, 4), X(5, high=12)),
    case("take_along_dim", F(3, 4), X(1, 4, high=3), 0),
]  # fmt: skip

_TIES = V([[0, 1, 0], [1, 1, 0]], "int64")
_REDUCES = ("sum", "prod", "mean", "amax", "amin")
SCATTERING = [
    case("scatter", F(3, 3), 0, X(2, 3, high=3), F(2, 3)), case("scatter", F(3, 3), 1, X(3, 2, high=3), F(3, 3), skip="grad"),
    case("scatter", F(3, 3), 0, X(2, 3, high=3), 1.5), case("scatter", F(3, 3), 0, X(2, 3, high=3), value=2),
    case("scatter", F(3), 0, X(2, high=3), F(2)), case("scatter", F(3, 3), 0, _TIES, 2.0, reduce="add", skip="grad"),
    case("scatter", F(3, 3), 0, _TIES, F(2, 3), reduce="multiply", skip="grad"),
    case("scatter", I(3, 3), 0, X(2, 3, high=3), I(2, 3)), case("scatter", F(3), 0, V([], "int64"), F(0)),
    case("scatter_add", F(3, 3), 0, _TIES, F(2, 3)), case("scatter_add", F(3, 3), 1, X(3, 5, high=3), F(3, 5)),
    case("scatter_add", F(3), 0, X(6, high=3), F(8), skip="grad"), case("scatter_add", I(3), 0, X(6, high=3), I(6)),
    *(case("scatter_reduce", F(3, 3), 0, _TIES, F(2, 3), r, skip="second" if r != "sum" else "") for r in _REDUCES),
    *(case("scatter_reduce", F(3, 3), 0, _TIES, F(2, 3), r, include_self=False, skip="second" if r != "sum" else "")
      for r in _REDUCES),
    *(case("scatter_reduce", I(3, 3), 0, _TIES, I(2, 3), r) for r in _REDUCES),
    case("scatter_reduce", V([1.0, 2.0]), 0, V([0, 0, 1], "int64"), V([0.0, 3.0, 2.0]), "prod", skip="second"),
    case("scatter_reduce", V([1.0, 2.0]), 0, V([0, 0, 1], "int64"), V([1.0, 1.0, 5.0]), "amax", skip="second"),
    case("index_add", F(3, 2), 0, X(4, high=3), F(4, 2)), case("index_add", F(3, 2), 1, X(3, high=2), F(3, 3), alpha=2),
    case("index_add", I(3), 0, X(4, high=3), I(4)),
    case("index_copy", F(3, 2), 0, V([2, 0], "int64"), F(2, 2)), case("index_copy", F(3, 2), 1, V([1], "int64"), F(3, 1)),
    case("index_fill", F(3, 2), 0, V([2, 0], "int64"), 1.5), case("index_fill", F(3, 2), 1, V([-1], "int64"), F(), skip="grad"),
    case("index_reduce", F(3, 2), 0, V([0, 0, 2], "int64"), F(3, 2), "mean", skip="grad"),
    case("index_reduce", F(3, 2), 0, V([0, 0, 2], "int64"), F(3, 2), "amax", include_self=False, skip="grad"),
    case("put", F(2, 3), V([0, 4, -1], "int64"), F(3)), case("put", F(2, 3), V([0, 0], "int64"), F(2), True),
    case("diagonal_scatter", F(3, 3), F(3)), case("select_scatter", F(2, 3), F(2), 1, 0),
    case("slice_scatter", F(4, 2), F(2, 2), 0, 1, 3), case("slice_scatter", F(4), F(2), 0, 0, 4, 2),
]  # fmt: skip

_SEVEN = V([3.0, 1.0, nan, 2.0, 1.0, inf, -1.0])
SORTING = [
    case("sort", F(2, 5)), case("sort", F(2, 5), 0), case("sort", F(2, 5), descending=True), case("sort", I(9), stable=True),
    case("sort", V([1, 0, 1, 0, 1], "int64"), stable=True, descending=True), case("sort", _SEVEN), case("sort", _SEVEN, descending=True),
    case("sort", F()), case("sort", B(5), stable=True), case("sort", F(3, 2).t(), 1), case("sort", F(4, dtype="float16"), skip="second"),
    case("argsort", F(2, 5), 1), case("argsort", F(5), descending=True), case("msort", F(3, 2)),
    case("topk", F(2, 5), 3), case("topk", F(2, 5), 1, 0), case("topk", F(5), 2, largest=False), case("topk", I(9, low=-50, high=50), 3, largest=False),
    case("topk", V([1.0, nan, 3.0]), 2), case("topk", V([1.0, nan, 3.0, 0.0]), 2, largest=False), case("topk", F(5), 0), case("topk", F(), 1),
    case("topk", F(3, 5).t(), 2, 0), case("kthvalue", F(2, 5), 2), case("kthvalue", F(2, 5), 1, 0, True), case("kthvalue", _SEVEN, 3),
    case("median", F(2, 4)), case("median", F(2, 4), 1), case("median", F(2, 5), 0, True), case("median", _SEVEN), case("median", _SEVEN, 0),
    case("median", I(6)), case("median", V([1.0, 1.0, 1.0, 2.0]), skip="second"), case("nanmedian", _SEVEN), case("nanmedian", _SEVEN, 0),
    case("nanmedian", F(2, 4), 1), case("median", F()), case("mode", V([[1, 2, 2, 1, 3], [3, 3, 1, 0, 0]], "int64")), case("mode", F(2, 4)),
    case("mode", V([1.0, 2.0, 2.0, 3.0]), keepdim=True), case("mode", I(8, low=0, high=3), 0), case("mode", F()),
    case("searchsorted", V([1.0, 2.0, 2.0, 5.0]), F(2, 3)), case("searchsorted", V([1, 3, 5], "int64"), V([[3, 0], [9, 5]], "int64"), right=True),
    case("searchsorted", V([[1.0, 2.0], [0.0, 3.0]]), F(2, 4), side="right"), case("searchsorted", V([1, 3, 5], "int64"), 3, out_int32=True),
    case("searchsorted", V([3, 1, 5], "int64"), I(4), sorter=V([1, 0, 2], "int64")),
    case("bucketize", F(2, 3), V([-1.0, 0.0, 1.0])), case("bucketize", V([1, 3], "int64"), V([1, 3], "int64"), right=True), case("bucketize", 2, V([1, 2], "int64")),
    case("unique", I(9, low=0, high=4)), case("unique", I(3, 3, low=0, high=3), return_inverse=True, return_counts=True),
    case("unique", V([[1, 2], [0, 1], [1, 2]], "int64"), dim=0, return_inverse=True, return_counts=True, skip="strides"),
    case("unique", V([nan, 1.0, nan], grad=False)), case("unique", V([[1, 0, 1]], "int64"), dim=1, skip="strides"), case("unique", B(5)), case("unique", I(0)),
    case("unique_consecutive", V([1, 1, 2, 2, 1], "int64"), return_inverse=True, return_counts=True),
    case("unique_consecutive", V([[1, 1], [1, 1], [2, 1]], "int64"), dim=0, return_counts=True, skip="strides"), case("unique_consecutive", I(2, 2, low=0, high=2)),
    case("bincount", I(9, low=0, high=4)), case("bincount", I(4, low=0, high=4), F(4, grad=False), 6), case("bincount", I(0)),
    case("bincount", I(4, low=0, high=4), I(4)), case("isin", I(2, 3), I(4)), case("isin", F(3), 1.0), case("isin", 1, I(9)), case("isin", I(5), I(5), invert=True),
]  # fmt: skip

SHAPING = [
    case("Tensor.repeat", F(2, 3), 2, 1), case("Tensor.repeat", F(3), (2, 2)), case("Tensor.repeat", F(2, 3).t(), 1, 2), case("Tensor.repeat", F(2), 0),
    case("tile", F(2, 3), (2,)), case("tile", F(3), (2, 2)), case("repeat_interleave", F(2, 3), 2), case("repeat_interleave", F(2, 3), 2, 1),
    case("repeat_interleave", F(2, 3), V([1, 3], "int64"), 0), case("repeat_interleave", V([1, 0, 2], "int64")),
    case("repeat_interleave", F(3), V([1, 0, 2], "int64"), output_size=3), case("repeat_interleave", F(2, 3), V([2], "int64"), 1),
    case("repeat_interleave", F(3), V([1, 0, 2], "int64"), 0, output_size=3),
    case("flip", F(2, 3), (0, 1)), case("flip", F(2, 3).t(), (0,)), case("Tensor.flip", F(2, 3), 0, 1), case("fliplr", F(2, 3)), case("flipud", F(3)),
    case("roll", F(2, 3), 1), case("roll", F(2, 3), (1, -2), (0, 1)), case("roll", F(2, 3), 1, 1), case("roll", F(2, 3).t(), 1, 0),
    case("rot90", F(2, 3)), case("rot90", F(2, 3), 2), case("rot90", F(2, 3), 3), case("rot90", F(2, 3), -3, (1, 0)), case("rot90", F(2, 3), 4),
    case("diff", F(2, 4)), case("diff", F(2, 4), 2), case("diff", F(4), 1, 0, F(1), F(2)), case("diff", B(4)), case("diff", F(2, 3), dim=0), case("diff", F(3), 5),
    case("Tensor.sum_to_size", F(2, 3), 3), case("Tensor.sum_to_size", F(2, 3), 1, 3), case("Tensor.sum_to_size", F(2, 3), 2, 3),
    case("unravel_index", X(4, high=12), (3, 4), skip="strides"), case("tril", F(3, 4)), case("triu", F(2, 3, 3), 1), case("tril", F(3, 4), -1), case("triu", B(3, 3)),
    case("tril", F(3, 3).t()), case("tril_indices", 3, 4), case("triu_indices", 3, 4, 1), case("tril_indices", 3, 3, -1, dtype="dtype:int32"),
    case("diag", F(3)), case("diag", F(3), 1), case("diag", F(3, 4)), case("diag", F(3, 4), -1), case("diagflat", F(2, 2)), case("diag_embed", F(2, 3)),
    case("diag_embed", F(2, 3), 1, 0, 2), case("diag_embed", F(2, 3), -1), case("trace", F(3, 4)), case("trace", I(3, 3)),
]  # fmt: skip

STATISTICS = [
    case("quantile", F(2, 5), 0.3), case("quantile", F(2, 5), V([0.0, 0.25, 1.0], grad=False), 1, skip="strides"), case("quantile", F(2, 5), 0.5, 0, True),
    *(case("quantile", F(7), 0.4, interpolation=i) for i in ("lower", "higher", "midpoint", "nearest")), case("quantile", _SEVEN, 0.5),
    case("nanquantile", V([3.0, nan, 1.0, 2.0]), 0.4), case("nanquantile", V([[nan, nan], [1.0, nan]]), 0.5, 1), case("quantile", F(3, dtype="float64"), 0.2),
    case("quantile", F(2, 3), V([0.1, 0.9], grad=False), 0, True, skip="strides"), case("quantile", F(2, 3), V([0.1, 0.9], grad=False), keepdim=True, skip="strides"),
    case("histc", F(20), 5), case("histc", F(20), 4, -1, 1), case("histc", V([1.0, 1.0]), 3), case("histc", V([0.0, 1.0, 2.0, 3.0]), 3, 0, 3),
    case("histogram", F(20, grad=False), 5), case("histogram", F(20, grad=False), V([-1.0, 0.0, 2.0], grad=False)),
    case("histogram", F(20, grad=False), 4, range=(-1.0, 1.0), density=True), case("histogram", F(5, grad=False), 3, weight=F(5, grad=False)),
    case("cov", F(2, 5)), case("cov", F(5)), case("cov", F(2, 5), correction=0), case("cov", F(2, 3), fweights=V([1, 2, 1], "int64")),
    case("cov", F(2, 3), aweights=V([1.0, 2.0, 0.5], grad=False), fweights=V([1, 2, 1], "int64")), case("cov", Z(2, 3)), case("corrcoef", F(3, 5), rtol=2e-5),
    case("corrcoef", F(5), skip="grad"), case("trapezoid", F(2, 4)), case("trapezoid", F(2, 4), V([0.0, 1.0, 3.0, 3.5])), case("trapezoid", F(2, 4), dx=0.5, dim=0),
    case("trapezoid", F(2, 4), F(2, 4)), case("trapz", F(4)), case("cumulative_trapezoid", F(2, 4)), case("cumulative_trapezoid", F(2, 4), V([0.0, 1.0, 3.0, 3.5])),
    case("trapezoid", I(4)), case("vander", F(3), skip="strides grad"), case("vander", F(3), 2, True, skip="grad"), case("vander", I(3), skip="strides"), case("linalg.vander", F(2, 3)), case("vander", F(3), 1),
    case("gradient", F(2, 4)), case("gradient", F(2, 4), spacing=0.5, dim=1), case("gradient", F(4), spacing=(V([0.0, 1.0, 3.0, 3.5], grad=False),)),
    case("gradient", F(5), edge_order=2), case("gradient", F(5), spacing=(V([0.0, 1.0, 3.0, 3.5, 5.0], grad=False),), edge_order=2), case("gradient", F(3, 4), spacing=[0.5, 2.0]),
    case("gradient", I(4)), case("renorm", F(3, 4), 2, 0, 1.0), case("renorm", F(3, 4), 1, 1, 2.0), case("renorm", F(2, 3, 2), 3, -1, 1.5, rtol=2e-5),
    case("cdist", F(3, 2), F(4, 2), skip="second"), case("cdist", F(2, 3, 2), F(4, 2), 1.0, skip="second"), case("cdist", F(3, 2), F(4, 2), inf, skip="second"), case("cdist", F(3, 2), F(4, 2), 0.0, skip="second"), case("cdist", F(3, 2), F(4, 2), 1.5, rtol=2e-5, skip="second"),
    case("cdist", F(27, 2), F(3, 2), rtol=1e-4, skip="second"), case("cdist", V([[1.0, 2.0]]), V([[1.0, 2.0], [0.0, 0.0]]), skip="second"),
    case("cdist", F(3, 2), F(4, 2), compute_mode="use_mm_for_euclid_dist", rtol=1e-4, skip="second"),
    case("cross", F(2, 3), F(2, 3)), case("cross", F(3, 2), F(3, 2), 0), case("linalg.cross", F(2, 3), F(1, 3)), case("cross", I(3), I(3)),
    case("equal", F(3), F(3)), case("equal", I(3), I(2)), case("allclose", F(3), F(3)), case("allclose", F(3), F(3), 10, 10), case("numel", F(2, 3)),
    case("is_floating_point", I(2)), case("is_complex", Z(2)), case("is_nonzero", V([2.0])), case("is_tensor", 3), case("is_same_size", F(2), I(2)),
    case("result_type", F(2), 1), case("result_type", I(2), 1.5), case("result_type", F(), F(2, dtype="float64")), case("is_conj", F(2)), case("is_signed", I(2)),
]  # fmt: skip

CASES: list[Case] = numbered([*JOINING, *MASKING, *GATHERING, *SCATTERING, *SORTING, *SHAPING, *STATISTICS])
