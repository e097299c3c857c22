"""Element by element: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_assert_async(self) -> ()
_assert_scalar(Scalar self, str assert_msg) -> ()
_assert_async .msg(self, str assert_msg) -> ()
_conj_physical nanmedian(self)
_dirichlet_grad(x, alpha, total)  >
_local_scalar_dense(self) -> Scalar
_sample_dirichlet _standard_gamma poisson(self, Generator? generator=None)  >
_scaled_grouped_mm(self, mat2, scale_a, scale_b, Tensor? offs=None, Tensor? bias=None, Tensor?
    scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False)
_shape_as_tensor atleast_1d atleast_2d atleast_3d corrcoef data isfinite isreal(self)  !c
_standard_gamma_grad(self, output)  >
_unique2(self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor,
    Tensor, Tensor)
_version get_device numel(self) -> int  !c
abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv
    exp exp2 expm1 floor frac i0 lgamma log log10 log1p log2 logical_not neg rad2deg reciprocal
    round rsqrt sgn sigmoid sign sin sinc sinh sqrt tan tanh trunc(self)  !i >
absolute arccos arccosh arcsin arcsinh arctan arctanh conj_physical fix negative square(self)
    !ci >
add sub .Tensor(self, other, *, Scalar alpha=1)  !i >
add sub .Scalar(self, Scalar other, Scalar alpha=1)  !hi >
addcdiv addcmul(self, tensor1, tensor2, *, Scalar value=1)  !i >
allclose(self, other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False)
    -> bool
angle int_repr isinf isnan isneginf isposinf q_per_channel_scales q_per_channel_zero_points
    signbit special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr
    special_erfcx special_i0e special_i1 special_i1e special_log_ndtr special_modified_bessel_i0
    special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
    special_ndtri(self)  >
arctan2(self, other)  !ci >
atan2 gcd hypot igamma igammac lcm logical_and logical_or logical_xor nextafter(self, other)  !i >
atleast_1d atleast_2d atleast_3d .Sequence(Tensor[] tensors) -> Tensor[]  !c
bernoulli(self, *, Generator? generator=None)  >
bernoulli .p(self, float p, *, Generator? generator=None)  >float_out
bernoulli .Tensor(self, p, *, Generator? generator=None)  !i >Tensor_out
bincount(self, Tensor? weights=None, SymInt minlength=0)  >
binomial(count, prob, Generator? generator=None)  >
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor eq fmod ge gt le lt ne
    remainder .Tensor(self, other)  !i >Tensor_out
bitwise_and bitwise_or bitwise_xor eq floor_divide fmod ge gt le lt ne remainder .Scalar(self,
    Scalar other)  !i >
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder
    .Scalar_Tensor(Scalar self, other)  >
bitwise_left_shift bitwise_right_shift .Tensor_Scalar(self, Scalar other)  !i >
broadcast_tensors(Tensor[] tensors) -> Tensor[]  !c
bucketize .Tensor(self, boundaries, *, bool out_int32=False, bool right=False)  >Tensor_out
bucketize .Scalar(Scalar self, boundaries, *, bool out_int32=False, bool right=False)  >
cartesian_prod(Tensor[] tensors)  !c
chalf(self, *, MemoryFormat? memory_format=None)  !c
clamp(self, Scalar? min=None, Scalar? max=None)  !i >
clamp .Tensor(self, Tensor? min=None, Tensor? max=None)  !i >Tensor_out
clamp_max(self, Scalar max)  !i >
clamp_max .Tensor(self, max)  !i >Tensor_out
clamp_min(self, Scalar min)  !i >
clamp_min .Tensor(self, min)  !i >Tensor_out
clip(self, Scalar? min=None, Scalar? max=None)  !ci >
clip .Tensor(self, Tensor? min=None, Tensor? max=None)  !ci >Tensor_out
combinations(self, int r=2, bool with_replacement=False)  !c
complex(real, imag)  >
cov(self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)  !c
dense_dim element_size q_per_channel_axis q_zero_point(self) -> int
dequantize .self(self)  >
dequantize .tensors(Tensor[] tensors) -> Tensor[]
dequantize .tensor(qtensor)
dequantize .list(Tensor[] qtensors) -> Tensor[]
dist(self, other, Scalar p=2)  >
div mul .Tensor(self, other)  !i >
div mul .Scalar(self, Scalar other)  !hi >
div .Tensor_mode(self, other, *, str? rounding_mode)  !i >out_mode
div .Scalar_mode(self, Scalar other, *, str? rounding_mode)  !hi >
divide multiply true_divide .Tensor(self, other)  !ci >
divide multiply true_divide .Scalar(self, Scalar other)  !ci
divide .Tensor_mode(self, other, *, str? rounding_mode)  !ci >out_mode
divide .Scalar_mode(self, Scalar other, *, str? rounding_mode)  !ci
eq ne .Tensor_list(Tensor[] a, Tensor[] b) -> bool
equal is_same_size(self, other) -> bool
exponential(self, float lambd=1., *, Generator? generator=None)  !i
fake_quantize_per_channel_affine(self, scale, zero_point, int axis, int quant_min, int quant_max)
     !c
fake_quantize_per_tensor_affine(self, float scale, int zero_point, int quant_min, int quant_max)
    !c
fake_quantize_per_tensor_affine .tensor_qparams(self, scale, zero_point, int quant_min, int
    quant_max)  !c
float_power .Tensor_Tensor(self, exponent)  !c >
float_power .Tensor_Scalar(self, Scalar exponent)  !c >
float_power .Scalar(Scalar self, exponent)  !c >
floor_divide fmax fmin logaddexp logaddexp2 maximum minimum special_xlog1py special_zeta(self,
    other)  >
frexp .Tensor(self) -> (Tensor, Tensor)
grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None,
    bool create_graph=False, bool allow_unused=False) -> Tensor?[]
greater greater_equal less less_equal not_equal .Tensor(self, other)  !ci >Tensor_out
greater greater_equal less less_equal not_equal .Scalar(self, Scalar other)  !ci >
heaviside(self, values)  !i >
histc(self, int bins=100, Scalar min=0, Scalar max=0)  >
is_coalesced(self) -> bool
is_complex is_conj is_distributed is_floating_point is_inference is_leaf is_neg is_signed
    retains_grad(self) -> bool  !c
isclose(self, other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False)
    !c
isin .Tensor_Tensor(elements, test_elements, *, bool assume_unique=False, bool invert=False)  >
isin .Tensor_Scalar(elements, Scalar test_element, *, bool assume_unique=False, bool
    invert=False)  >
isin .Scalar_Tensor(Scalar element, test_elements, *, bool assume_unique=False, bool
    invert=False)  >
istft(self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool
    center=True, bool normalized=False, bool? onesided=None, int? length=None, bool
    return_complex=False)  !c
ldexp .Tensor(self, other)  >
lerp .Scalar(self, end, Scalar weight)  !i >
lerp .Tensor(self, end, weight)  !i >Tensor_out
log_sigmoid_forward(self) -> (Tensor, Tensor)
logit(self, float? eps=None)  !i >
msort special_digamma special_erf special_erfc special_erfinv special_exp2 special_expit
    special_expm1 special_gammaln special_i0 special_log1p special_ndtr special_psi
    special_sinc(self)  !c >
multinomial(self, SymInt num_samples, bool replacement=False, *, Generator? generator=None)  >
mvlgamma(self, int p)  !i >
one_hot(self, int num_classes=-1)  !c
polar(abs, angle)  >
polygamma(int n, self)  >
pow .Tensor_Tensor(self, exponent)  >
pow .Tensor_Scalar(self, Scalar exponent)  >
pow .Scalar(Scalar self, exponent)  >
q_scale(self) -> float
qscheme(self) -> QScheme
quantize_per_channel(self, scales, zero_points, int axis, ScalarType dtype)  >
quantize_per_tensor(self, float scale, int zero_point, ScalarType dtype)  >
quantize_per_tensor .tensor_qparams(self, scale, zero_point, ScalarType dtype)  >
quantize_per_tensor .tensors(Tensor[] tensors, scales, zero_points, ScalarType dtype) -> Tensor[]
quantize_per_tensor_dynamic(self, ScalarType dtype, bool reduce_range)  >
round .decimals(self, *, int decimals)  !i >
rsub .Tensor(self, other, *, Scalar alpha=1)  >Tensor_out
rsub .Scalar(self, Scalar other, Scalar alpha=1)  >
searchsorted .Tensor(sorted_sequence, self, *, bool out_int32=False, bool right=False, str?
    side=None, Tensor? sorter=None)  >Tensor_out
searchsorted .Scalar(sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False,
    str? side=None, Tensor? sorter=None)  >
segment_reduce(data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor?
    offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None)  >
special_airy_ai special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_spherical_bessel_j0(x)  >
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w(x, n)  >
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
    .x_scalar(Scalar x, n)  >
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w .n_scalar(x,
    Scalar n)  >
special_gammainc special_gammaincc special_xlogy(self, other)  !c >
special_logit(self, float? eps=None)  !c >
special_multigammaln(self, int p)  !c >
special_polygamma(int n, self)  !c >
special_round(self, *, int decimals=0)  !c >
special_xlog1py special_zeta .other_scalar(self, Scalar other)  >
special_xlog1py special_zeta .self_scalar(Scalar self, other)  >
special_xlogy .other_scalar(self, Scalar other)  !c >
special_xlogy .self_scalar(Scalar self, other)  !c >
std_mean var_mean(self, bool unbiased=True) -> (Tensor, Tensor)  !c
stft(self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool
    normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None)
     !c
stft .center(self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None,
    bool center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool?
    return_complex=None, bool? align_to_window=None)  !c
subtract .Tensor(self, other, *, Scalar alpha=1)  !ci >
subtract .Scalar(self, Scalar other, Scalar alpha=1)  !ci
sym_numel(self) -> SymInt  !c
sym_size sym_stride(self) -> SymInt[]
threshold(self, Scalar threshold, Scalar value)  !i >
uniform(self, float from=0., float to=1., *, Generator? generator=None)  !i
vander(x, int? N=None, bool increasing=False)  !c
xlogy .Tensor(self, other)  !i
xlogy .Scalar_Other(self, Scalar other)  !i
xlogy .Scalar_Self(Scalar self, other)
zero(self)  !i
__and__ __or__ __xor__ .Scalar(self, Scalar other)  !c
__and__ __or__ __xor__ .Tensor(self, other)  !c
__iand__ __ior__ __ixor__ .Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)  !c
__iand__ __ior__ __ixor__ .Tensor(Tensor(a!) self, other) -> Tensor(a!)  !c
__ilshift__ __irshift__ .Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
__ilshift__ __irshift__ .Tensor(Tensor(a!) self, other) -> Tensor(a!)
__lshift__ __rshift__ .Scalar(self, Scalar other)
__lshift__ __rshift__ .Tensor(self, other)
_addmm_activation(self, mat1, mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False)
_aminmax .dim(self, int dim, bool keepdim=False) -> (Tensor, Tensor)
_aminmax(self) -> (Tensor, Tensor)
_euclidean_dist(x1, x2)
_is_all_true _is_any_true(self)
_pdist_forward(self, float p=2)
cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) ->
    Tensor(a!)
geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)
log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) ->
    Tensor(a!)
normal_functional(self, float mean=0, float std=1, *, Generator? generator=None)
random_ .from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)
random_ .to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
"""
