"""What PyTorch's page on torch.sparse lists: linear algebra, methods, functions, of each layout."""

from __future__ import annotations

#: Name of a layout -> the tensor in the scope of a case.
LAYOUTS = ("coo", "dup", "csr", "csc", "bsr", "bsc")

UNARY = (
    "abs", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
    "conj_physical", "floor", "log1p", "neg", "negative", "round", "sin", "sinh", "sign", "sgn",
    "signbit", "tan", "tanh", "trunc", "expm1", "sqrt", "square", "angle", "isinf", "isposinf",
    "isneginf", "isnan", "erf", "erfinv", "relu", "deg2rad", "rad2deg", "frac", "positive",
)  # fmt: skip
#: Of those, what has no twin in place.
NOT_IN_PLACE = {
    "signbit", "angle", "isinf", "isposinf", "isneginf", "isnan", "positive",
}  # fmt: skip

PRODUCTS = (
    "S @ v", "S @ d", "d @ S", "v @ S", "S @ S", "t.mv(S, v)", "S.mv(v)", "t.mm(S, d)", "S.mm(d)",
    "t.mm(S, S)", "t.mm(d, S)", "t.matmul(S, d)", "t.matmul(S, v)", "t.matmul(d, S)",
    "t.sparse.mm(S, d)", "t.sparse.mm(S, S)", "t.sparse.mm(d, S)", "t.smm(S, d)", "S.smm(d)",
    "t.hspmm(S, d)", "t.addmm(d, S, d)", "t.addmm(d, S, d, beta=0.5, alpha=2)",
    "t.addmm(d, d, S)", "t.addmm(S, S, S)", "t.addmm(S, S, d)", "d.addmm(S, d)",
    "d.clone().addmm_(S, d)", "t.sparse.addmm(d, S, d)", "t.sparse.addmm(d, S, d, beta=2.0)",
    "t.sspaddmm(S, S, d)", "S.sspaddmm(S, d)", "t.sspaddmm(S, S, d, beta=0.5, alpha=2)",
    "t.addmv(v, S, v)", "t.addmv(v, S, v, beta=0.5, alpha=3)", "t.dsmm(S, d)", "t.spmm(S, d)",
    "t.sparse.sampled_addmm(S, d, d)", "t.sparse.mm(S, d, 'sum')", "t.sparse.mm(S, d, 'mean')",
    "t.sparse.mm(S, d, 'amax')", "t.nn.functional.linear(d, S)", "t.nn.functional.linear(S, d)",
    "t.nn.functional.linear(d, S, v)", "t.mm(S, d, out=d.clone())", "t.dot(S, S)",
    "t.svd_lowrank(S, 2)[1]", "t.pca_lowrank(S, 2)[1]", "S.t() @ d", "S.t() @ v", "S @ d.t()",
    "S.T @ d", "S.mT @ d", "t.mm(S.t(), d)", "t.outer(S, v)", "t.baddbmm(S, S, S)",
    "t.bmm(S, S)",
)  # fmt: skip
SUMS = (
    "S + S", "S - S", "S + d", "d + S", "S - d", "d - S", "S * S", "S * d", "d * S", "S * 2",
    "2 * S", "S / 2", "S / d", "S / S", "S // 2", "S + 1", "S * v", "t.add(S, S, alpha=3)",
    "t.sub(S, S, alpha=3)", "S * t.tensor(2.0)", "S / t.tensor(2.0)",
    "t.div(S, 2, rounding_mode='floor')", "t.div(S, 2, rounding_mode='trunc')",
    "t.true_divide(S, 2)", "t.floor_divide(S, 2)", "S.pow(2)", "S ** 2", "t.pow(S, 3)", "S ** 0.5",
    "S.add_(S)", "S.sub_(S)", "S.mul_(2)", "S.mul_(S)", "S.div_(2)", "S.floor_divide_(2)",
    "S.add_(d)", "d.clone().add_(S)", "d.clone().sub_(S)", "d.clone().mul_(S)",
    "S.zero_()", "S.pow_(2)", "S.sum()", "S.sum(0)", "S.sum(1)", "S.sum((0, 1))", "S.sum(-1)",
    "S.sum(0, keepdim=True)", "S.sum(dtype=t.float64)", "t.sparse.sum(S)", "t.sparse.sum(S, 0)",
    "t.sparse.sum(S, (0, 1))", "t.sparse.sum(S, dtype=t.float64)", "S.any()", "(S > 0)", "S == S",
    "t.norm(S)", "S.norm()", "t.norm(S, 1)", "t.norm(S, p=1, dim=0)", "t.native_norm(S)",
    "t.linalg.norm(S)", "t.maximum(S, S)", "t.sparse.softmax(S, 0)", "t.sparse.softmax(S, 1)",
    "t.sparse.log_softmax(S, 1)", "t.softmax(S, 0)", "t.mean(S)", "t.amax(S, 0)",
    "t.nan_to_num(S)", "t.clamp(S, 0, 1)", "t.exp(S)", "t.cos(S)", "t.sigmoid(S)",
    "t.threshold(S, 0.5, 0)", "t.nn.functional.relu(S)", "t.nn.functional.dropout(S, 0.0)",
    "t.where(S > 0, S, S)", "t.equal(S, S)", "t.allclose(S, S)",
)  # fmt: skip
SHAPES = (
    "S.t()", "S.transpose(0, 1)", "S.transpose(0, 0)", "t.t(S)", "S.t_()", "S.transpose_(0, 1)",
    "S.T", "S.mT", "S.permute(1, 0)", "S.permute(0, 1)", "S[0]", "S[1, 2]", "S[-1]", "S[0:2]",
    "S[..., 0]", "S.select(0, 1)", "S.select(1, 1)", "S.index_select(0, i(0, 2))",
    "S.index_select(1, i(3, 0))", "t.index_select(S, 0, i(1, 1))", "S.narrow_copy(0, 1, 2)",
    "S.narrow_copy(1, 0, 3)", "S.narrow(0, 1, 2)", "S.unsqueeze(0)", "S.unsqueeze(-1)",
    "t.unsqueeze(S, 1)", "S.squeeze()", "t.cat([S, S])", "t.cat([S, S], 1)", "t.cat([S, d])",
    "t.hstack([S, S])", "t.vstack([S, S])", "t.dstack([S, S])", "t.stack([S, S])",
    "t.stack([S, S], 1)", "t.stack([S, S], 2)", "S.reshape(2, 8)", "S.view(16)", "S.flatten()",
    "S.expand(4, 4)", "t.broadcast_to(S, (2, 4, 4))", "t.flip(S, (0,))", "t.roll(S, 1, 0)",
    "S.split(2)", "S.chunk(2)", "t.tril(S)", "t.triu(S)", "t.diagonal(S)", "t.trace(S)",
    "list(S.unbind())", "S.unbind(0)", "t.nonzero(S)", "t.masked_select(S, d > 0)",
    "S.masked_fill(d > 0, 1.0)", "S.resize_as_(S)", "S.sparse_resize_((5, 5), 2, 0)",
    "S.sparse_resize_and_clear_((5, 5), 2, 0)", "S.resize_(5, 5)",
    "S.fill_(2.0)", "S.copy_(S)", "S.clone()", "S.detach()", "S.contiguous()",
)  # fmt: skip
FACTS = (
    "S.is_sparse", "S.is_sparse_csr", "S.layout", "S.dense_dim()", "S.sparse_dim()", "S.dim()",
    "S.ndim", "S.size()", "S.size(0)", "S.shape", "S.numel()", "S._nnz()", "S.is_coalesced()",
    "S.coalesce()", "S.indices()", "S.values()", "S._indices()", "S._values()", "S.crow_indices()",
    "S.col_indices()", "S.ccol_indices()", "S.row_indices()", "S.dtype", "S.device.type",
    "S.get_device()", "S.element_size()", "S.requires_grad", "S.is_leaf", "S.is_floating_point()",
    "S.is_complex()", "S.is_signed()", "S.is_same_size(S)", "t.is_tensor(S)", "S.is_contiguous()",
    "S.stride()", "S.storage_offset()", "t.numel(S)", "t.is_nonzero(S)", "len(S)", "S.tolist()",
    "S.item()", "S.numpy()", "S.data_ptr()", "hash(S) == hash(S)", "S.is_cuda", "S.is_meta",
    "S.is_quantized", "S.names", "S.itemsize", "S.nbytes", "S.is_pinned()", "S.is_shared()",
    "S.to_dense()", "S.to_sparse()", "S.to_sparse_coo()", "S.to_sparse_csr()",
    "S.to_sparse_csc()", "S.to_sparse_bsr((2, 2))", "S.to_sparse_bsc((2, 2))",
    "S.to_sparse(layout=t.sparse_csr)", "S.to_sparse(2)", "S.to_dense(dtype=t.float64)",
    "d.sparse_mask(S)", "S.sparse_mask(S)", "S.to(t.float64)", "S.double()", "S.half()",
    "S.bool()", "S.int()", "S.to('cpu')", "S.cpu()", "S.type(t.float64)", "S.type()",
    "S.type_as(d)", "t.zeros_like(S)", "t.empty_like(S).shape", "t.ones_like(S)",
    "t.full_like(S, 2.0)", "t.rand_like(S).shape", "S.new_zeros(2, 2)", "S.new_tensor([1.0])",
    "S.new_ones(2, 2)", "S.new_empty(2, 2).shape", "S.is_inference()", "repr(S)", "str(S.layout)",
    "t.complex(S, S)", "t.real(S)", "t.is_conj(S)", "S.conj()", "t.resolve_conj(S)",
    "S.requires_grad_().requires_grad", "S.retains_grad", "S.grad", "S.grad_fn",
    "S.float() is S", "t.result_type(S, 1)", "t.can_cast(S.dtype, t.int64)", "bool(S)",
    "t.sparse.spsolve(S, v)", "S.data", "S.share_memory_().layout",
)  # fmt: skip
#: Of tensors that there is one of: batches, and with dense dimensions.
OTHERS = (
    "t.bmm(batch, cube)", "batch.bmm(cube)", "t.bmm(batch, batch)", "t.matmul(batch, cube)",
    "batch @ cube", "batch.sum(0)", "batch.sum((1, 2))", "batch.transpose(0, 2)", "batch[0]",
    "batch.permute(2, 0, 1)", "batch.coalesce()", "batch * 2", "batch.select(2, 1)",
    "batch.index_select(1, i(1, 0))", "batch.narrow_copy(0, 1, 1)", "batch.unsqueeze(1)",
    "t.cat([batch, batch], 2)", "t.stack([batch, batch])", "t.sparse.softmax(batch, 0)",
    "t.bmm(batch_csr, cube)", "batch_csr @ cube", "batch_csr[0]", "batch_csr.transpose(1, 2)",
    "batch_csr.sum()", "batch_csr * 2", "batch_csr.to_sparse()", "batch_csr.to_dense()",
    "batch_csr.unsqueeze(0)", "batch_csr.values()", "batch_csr.sin()", "batch_csr + batch_csr",
    "hybrid + hybrid", "hybrid * 2", "hybrid.sum(0)", "hybrid.sum(1)", "hybrid.sum(2)",
    "hybrid.transpose(0, 1)", "hybrid.transpose(0, 2)", "hybrid.transpose(1, 2)",
    "hybrid.permute(1, 0, 2)", "hybrid[0]", "hybrid[1, 1]", "hybrid.select(2, 1)",
    "hybrid.select(0, 1)", "hybrid.index_select(0, i(1))", "hybrid.index_select(2, i(1, 0))",
    "hybrid.narrow_copy(0, 1, 1)", "hybrid.narrow_copy(2, 0, 1)", "hybrid.unsqueeze(0)",
    "hybrid.unsqueeze(3)", "hybrid.unsqueeze(2)", "t.cat([hybrid, hybrid], 0)",
    "t.cat([hybrid, hybrid], 2)", "t.stack([hybrid, hybrid])", "t.stack([hybrid, hybrid], 3)",
    "hybrid.to_dense()", "hybrid.dense_dim()", "hybrid.coalesce()", "hybrid.sin()",
    "hybrid * hybrid", "hybrid * cube", "hybrid.to_sparse_csr()", "hybrid_csr.to_dense()",
    "hybrid_csr.sum()", "hybrid_csr * 2", "hybrid_csr.dense_dim()", "hybrid_csr.transpose(0, 1)",
    "hybrid_csr.sin()", "hybrid_csr.to_sparse()", "t.sparse.softmax(hybrid, 2)",
    "t.sparse.softmax(hybrid, 0)", "hybrid.norm()", "t.hspmm(coo, d)", "t.smm(coo, d)",
    "t.lobpcg(spd.to_sparse(), k=1)[0]", "t.lobpcg(spd.to_sparse_csr(), k=1)[0]",
    "t.sparse.spdiags(d[:2], i(0, 1), (4, 4))", "t.sparse.spdiags(d, i(0, 1), (4, 4))",
    "t.sparse_coo_tensor(i(0, 1).reshape(2, 1), t.ones(1), (2, 2), check_invariants=True)",
    "t.sparse_coo_tensor(i(0, 3).reshape(2, 1), t.ones(1), (2, 2), check_invariants=True)",
    "t.sparse.check_sparse_tensor_invariants.is_enabled()",
    "flags()", "t.empty(2, 2, layout=t.sparse_coo)", "t.empty((2, 2), layout=t.sparse_csr).shape",
    "t.sparse_csr_tensor(i(0, 1), i(0), t.ones(1), (1, 1)).to_dense()", "coo.is_sparse and 1",
    "wide.sum(0)", "wide @ cube[0][:, :1]", "wide.t()", "none.to_dense()", "none + none",
    "none.coalesce()", "none.sum()", "none @ d", "none._nnz()", "ints + ints", "ints @ di",
    "ints.sum()", "ints * 2", "ints / 2", "ints // 2", "bools.to_dense()", "bools.sum()",
    "complexes @ complexes.to_dense()", "complexes.conj()", "complexes.abs()", "complexes.sum()",
    "complexes.conj_physical()", "complexes * 2j", "coo * 2j", "coo + ints", "coo * ints",
)  # fmt: skip


def cases() -> list[tuple[str, str]]:
    """A layout and an expression on S, the sparse tensor."""
    unary = [f"t.{name}(S)" for name in UNARY]
    in_place = [f"S.{name}_()" for name in UNARY if name not in NOT_IN_PLACE]
    every = [*unary, *in_place, *PRODUCTS, *SUMS, *SHAPES, *FACTS]
    return [(layout, text) for text in every for layout in LAYOUTS] + [("", t) for t in OTHERS]
