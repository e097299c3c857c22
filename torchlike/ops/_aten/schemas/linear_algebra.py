"""Products, decompositions, Fourier transforms: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_cdist_backward(grad, x1, x2, float p, cdist)
_cdist_forward(x1, x2, float p, int? compute_mode)
_fft_c2c(self, SymInt[] dim, int normalization, bool forward)
_fft_c2r(self, int[] dim, int normalization, SymInt last_dim_size)
_fft_r2c(self, int[] dim, int normalization, bool onesided)
_grouped_mm(self, mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None)
_int_mm bmm mm(self, mat2)  >
_linalg_check_errors(info, str api_name, *, bool is_matrix) -> ()
_linalg_det(A) -> (Tensor, Tensor, Tensor)
_linalg_eigh(A, str UPLO="L", bool compute_v=True) -> (Tensor, Tensor)
_linalg_slogdet(A) -> (Tensor, Tensor, Tensor, Tensor)
_linalg_solve_ex(A, B, *, bool left=True, bool check_errors=False) -> (Tensor, Tensor, Tensor,
    Tensor)
_linalg_svd(A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor,
    Tensor, Tensor)
_scaled_mm(self, mat2, scale_a, scale_b, Tensor? bias=None, Tensor? scale_result=None,
    ScalarType? out_dtype=None, bool use_fast_accum=False)  >
_scaled_mm_v2(self, mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b,
    int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[],
    bool use_fast_accum=False)  >
_trilinear(i1, i2, i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int
    unroll_dim=1)
_convert_weight_to_int4pack_for_cpu(self, int innerKTiles)
_weight_int4pack_mm_for_cpu(self, mat2, int qGroupSize, qScaleAndZeros)
_weight_int8pack_mm(self, mat2, scales)
addbmm baddbmm(self, batch1, batch2, *, Scalar beta=1, Scalar alpha=1)  !i >
addmm(self, mat1, mat2, *, Scalar beta=1, Scalar alpha=1)  !i >
addmm .dtype(self, mat1, mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1)  >
addmv(self, mat, vec, *, Scalar beta=1, Scalar alpha=1)  !i >
addr(self, vec1, vec2, *, Scalar beta=1, Scalar alpha=1)  !i >
baddbmm .dtype(self, batch1, batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1)  >
bilinear(input1, input2, weight, Tensor? bias=None)  !c
bmm mm .dtype(self, mat2, ScalarType out_dtype)  >
cdist(x1, x2, float p=2., int? compute_mode=None)  !c
chain_matmul(Tensor[] matrices)  !c
cholesky cholesky_inverse(self, bool upper=False)  >
cholesky_solve(self, input2, bool upper=False)  >
cross(self, other, int? dim=None)  !c >
det logdet matrix_exp(self)  !c
dot(self, tensor)  >
einsum(str equation, Tensor[] tensors, *, int[]? path=None)  !c
fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft(self, SymInt? n=None, int dim=-1, str?
    norm=None)  !c >
fft_fft2 fft_hfft2 fft_ifft2 fft_ihfft2 fft_irfft2 fft_rfft2(self, SymInt[1]? s=None, int[1]
    dim=[-2, -1], str? norm=None)  !c >
fft_fftfreq fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None)
fft_fftn fft_hfftn fft_ifftn fft_ihfftn fft_irfftn fft_rfftn(self, SymInt[1]? s=None, int[1]?
    dim=None, str? norm=None)  !c >
fft_fftshift fft_ifftshift(self, int[1]? dim=None)  !c
geqrf linalg_eig(self) -> (Tensor, Tensor)
ger outer(self, vec2)  !c >
inner kron linalg_matmul matmul(self, other)  !c >
inverse linalg_eigvals(self)  !c >
linalg_cholesky(self, *, bool upper=False)  !c >
linalg_cholesky_ex(self, *, bool upper=False, bool check_errors=False) -> (Tensor, Tensor)
linalg_cond(self, Scalar? p=None)  !c >
linalg_cond .p_str(self, str p)  !c >
linalg_cross(self, other, *, int dim=-1)  >
linalg_det linalg_inv(A)  !c >
linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)  !c
linalg_eigh(self, str UPLO="L") -> (Tensor, Tensor)  !c
linalg_eigvalsh(self, str UPLO="L")  !c >
linalg_householder_product(input, tau)  >
linalg_inv_ex(A, *, bool check_errors=False) -> (Tensor, Tensor)
linalg_ldl_factor(self, *, bool hermitian=False) -> (Tensor, Tensor)  !c
linalg_ldl_factor_ex(self, *, bool hermitian=False, bool check_errors=False) -> (Tensor, Tensor,
    Tensor)
linalg_ldl_solve(LD, pivots, B, *, bool hermitian=False)  >
linalg_lstsq(self, b, float? rcond=None, *, str? driver=None) -> (Tensor, Tensor, Tensor, Tensor)
linalg_lu(A, *, bool pivot=True) -> (Tensor, Tensor, Tensor)
linalg_lu_factor(A, *, bool pivot=True) -> (Tensor, Tensor)  !c
linalg_lu_factor_ex(A, *, bool pivot=True, bool check_errors=False) -> (Tensor, Tensor, Tensor)
linalg_lu_solve(LU, pivots, B, *, bool left=True, bool adjoint=False)  >
linalg_matrix_exp trace(self)  >
linalg_matrix_norm(self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType?
    dtype=None)  !c
linalg_matrix_norm .str_ord(self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *,
    ScalarType? dtype=None)  !c
linalg_matrix_power matrix_power(self, int n)  !c >
linalg_matrix_rank(self, float tol, bool hermitian=False)  !c >
linalg_matrix_rank .tol_tensor(input, tol, bool hermitian=False)  !c >out_tol_tensor
linalg_matrix_rank .atol_rtol_tensor(input, *, Tensor? atol=None, Tensor? rtol=None, bool
    hermitian=False)  !c >
linalg_matrix_rank linalg_pinv .atol_rtol_float(self, *, float? atol=None, float? rtol=None, bool
    hermitian=False)  !c >
linalg_multi_dot(Tensor[] tensors)  !c
linalg_norm(self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType?
    dtype=None)  !c >
linalg_norm .ord_str(self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType?
    dtype=None)  !c >
linalg_pinv(self, float rcond, bool hermitian=False)  !c >
linalg_pinv .atol_rtol_tensor(self, *, Tensor? atol=None, Tensor? rtol=None, bool
    hermitian=False)  >
linalg_pinv .rcond_tensor(self, rcond, bool hermitian=False)  !c >out_rcond_tensor
linalg_qr(A, str mode="reduced") -> (Tensor, Tensor)
linalg_slogdet(A) -> (Tensor, Tensor)  !c
linalg_solve(A, B, *, bool left=True)  !c >
linalg_solve_ex(A, B, *, bool left=True, bool check_errors=False) -> (Tensor, Tensor)  !c
linalg_solve_triangular(self, B, *, bool upper, bool left=True, bool unitriangular=False)  >
linalg_svd(A, bool full_matrices=True, *, str? driver=None) -> (Tensor, Tensor, Tensor)  !c
linalg_svdvals(A, *, str? driver=None)  !c >
linalg_tensorinv(self, int ind=2)  !c >
linalg_tensorsolve(self, other, int[]? dims=None)  !c
linalg_vander(x, *, SymInt? N=None)  !c
linalg_vecdot(x, y, *, int dim=-1)  !c >
linalg_vector_norm(self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType?
    dtype=None)  >
linear(input, weight, Tensor? bias=None)  !c >
lu_solve(self, LU_data, LU_pivots)  !c >
lu_unpack(LU_data, LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor, Tensor,
    Tensor)
mv(self, vec)  >
orgqr(self, input2)  !c >
ormqr(self, input2, input3, bool left=True, bool transpose=False)  >
pdist(self, float p=2.)  !c
pinverse(self, float rcond=1.0000000000000001e-15)  !c
qr(self, bool some=True) -> (Tensor, Tensor)  !c
slogdet(self) -> (Tensor, Tensor)  !c
svd(self, bool some=True, bool compute_uv=True) -> (Tensor, Tensor, Tensor)  !c
tensordot(self, other, int[] dims_self, int[] dims_other)  !c
triangular_solve(self, A, bool upper=True, bool transpose=False, bool unitriangular=False) ->
    (Tensor, Tensor)
vdot(self, other)  >
"""
