"""Compressed sparse tensors: other layouts, blocks, values that are views, solving, errors."""

from __future__ import annotations

from typing import Any


def _csr(t: Any) -> Any:
    return t.tensor([[0.0, 1, 0], [2, 0, 3]]).to_sparse_csr()


def _bsr(t: Any) -> Any:
    return t.arange(16.0).reshape(4, 4).to_sparse_bsr((2, 2))


def _lower(t: Any) -> Any:
    return t.tril(t.arange(1.0, 17).reshape(4, 4))


def _empty(t: Any, model: Any, layout: str) -> Any:
    made = t.empty_like(model, layout=getattr(t, layout))
    return str(made.layout), tuple(made.shape), made._nnz() if layout != "strided" else 0


def values_of_a_transposed_block_tensor_are_a_view(t: Any) -> Any:
    b = _bsr(t)
    other = b.t()
    values = other.values()
    values.mul_(2)
    return str(other.layout), values.shape, values.stride(), other.to_dense(), b.to_dense()


def blocks_from_lists(t: Any) -> Any:
    blocks = [[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]
    rows = t.sparse_bsr_tensor([0, 1, 2], [0, 1], blocks)
    columns = t.sparse_bsc_tensor([0, 1, 2], [0, 1], blocks, (4, 4))
    return rows.to_dense(), columns.to_dense(), str(rows)


def an_empty_one_has_the_elements(t: Any) -> Any:
    made = t.empty_like(_csr(t))
    return made.crow_indices(), made.col_indices(), made.values().shape, made._nnz()


def a_sampled_product_into_out(t: Any) -> Any:
    out = _csr(t)
    found = t.sparse.sampled_addmm(_csr(t), t.ones(2, 4), t.ones(4, 3), out=out)
    return found is out, out.to_dense()


def resized_to_more_rows(t: Any) -> Any:
    a = _csr(t)
    return a.resize_(3, 3).shape, a.to_dense()


_TABLE = {
    "empty_of_another_layout_strided": lambda t: _empty(t, _csr(t), "strided"),
    "empty_of_another_layout_coordinates": lambda t: _empty(t, _csr(t), "sparse_coo"),
    "empty_of_another_layout_columns": lambda t: _empty(t, _csr(t), "sparse_csc"),
    "empty_of_another_layout_blocks": lambda t: _empty(t, _csr(t), "sparse_bsr"),
    "empty_of_blocks_as_rows": lambda t: _empty(t, _bsr(t), "sparse_csr"),
    "empty_of_blocks_strided": lambda t: _empty(t, _bsr(t), "strided"),
    "zeros_of_another_layout": lambda t: t.zeros_like(_csr(t), layout=t.strided),
    "ones_of_another_layout": lambda t: t.ones_like(_csr(t), layout=t.strided),
    "zeros_in_coordinates": lambda t: str(t.zeros_like(_csr(t), layout=t.sparse_coo)),
    "empty_of_coordinates_strided": lambda t: _empty(t, t.ones(4, 4).to_sparse(), "strided"),
    "blocks_that_do_not_divide": lambda t: _csr(t).to_sparse_bsr((2, 2)),
    "blocks_of_a_number_that_does_not_divide": lambda t: _csr(t).to_sparse_bsr(2),
    "blocks_of_one_number_in_a_tuple": lambda t: _csr(t).to_sparse_bsr((2,)),
    "blocks_of_no_rows": lambda t: _csr(t).to_sparse_bsr((0, 1)),
    "columns_of_blocks_that_do_not_divide": lambda t: _csr(t).to_sparse_bsc((2, 2)),
    "dense_blocks_that_do_not_divide": lambda t: t.ones(2, 3).to_sparse_bsr((2, 2)),
    "a_sum_with_a_row": lambda t: _csr(t) + t.ones(3),
    "a_sum_with_a_number": lambda t: _csr(t) + 1,
    "a_sum_with_a_dense_one": lambda t: _csr(t) + t.ones(2, 3),
    "a_product_with_a_row": lambda t: (_csr(t) * t.ones(3)).to_dense(),
    "a_product_with_one_row": lambda t: (t.ones(1, 3) * _csr(t)).to_dense(),
    "a_dense_copy": lambda t: t.empty(2, 3).copy_(_csr(t)),
    "a_copy_of_a_dense_one": lambda t: _csr(t).copy_(t.ones(2, 3)),
    "a_copy_of_another_layout": lambda t: _csr(t).copy_(t.ones(2, 3).to_sparse_csc()),
    "solved_by_rows": lambda t: t.triangular_solve(
        t.ones(4, 2), _lower(t).to_sparse_csr(), upper=False
    )[0],
    "solved_by_blocks": lambda t: t.triangular_solve(
        t.ones(4, 2), _lower(t).to_sparse_bsr((2, 2)), upper=False
    )[0],
    "solved_by_the_transpose_of_blocks": lambda t: t.triangular_solve(
        t.ones(4, 2), _lower(t).t().to_sparse_bsr((2, 2)), transpose=True
    )[0],
    "rows_of_a_vector": lambda t: t.ones(3).to_sparse_csr(),
    "rows_of_columns": lambda t: _csr(t).to_sparse_csc().crow_indices(),
    "checked_first_pointer": lambda t: t._validate_sparse_csr_tensor_args(
        t.tensor([1, 1, 1]), t.tensor([0]), t.tensor([1.0]), [2, 3]
    ),
    "checked_columns": lambda t: t._validate_sparse_compressed_tensor_args(
        t.tensor([0, 1]), t.tensor([5]), t.tensor([1.0]), [1, 3], t.sparse_csr
    ),
    "a_power": lambda t: _csr(t).pow(2),
    "an_exponential": lambda t: _csr(t).exp(),
    "resized_blocks": lambda t: _bsr(t).resize_(2, 4).shape,
}
globals().update(_TABLE)
