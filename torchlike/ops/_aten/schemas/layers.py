"""What layers are made of, and their gradients: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_adaptive_avg_pool2d(self, SymInt[2] output_size)
_adaptive_avg_pool2d_backward hardsigmoid_backward hardswish_backward(grad_output, self)
_adaptive_avg_pool3d(self, SymInt[3] output_size)
_batch_norm_with_update(input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!)
    running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
_embedding_bag(weight, indices, offsets, bool scale_grad_by_freq=False, int mode=0, bool
    sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int
    padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
_fused_rms_norm(input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)  !c
_fused_rms_norm_backward(grad_out, input, int[] normalized_shape, rstd, Tensor? weight, bool[2]
    output_mask) -> (Tensor, Tensor)
_log_softmax _softmax(self, int dim, bool half_to_float)
_log_softmax_backward_data _softmax_backward_data(grad_output, output, int dim, ScalarType
    input_dtype)  >
_masked_softmax(self, mask, int? dim=None, int? mask_type=None)
_native_batch_norm_legit(input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!)
    running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
_native_batch_norm_legit .no_stats(input, Tensor? weight, Tensor? bias, bool training, float
    momentum, float eps) -> (Tensor, Tensor, Tensor)
_native_batch_norm_legit_functional(input, Tensor? weight, Tensor? bias, running_mean, running_var,
    bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
_native_batch_norm_legit_no_training(input, Tensor? weight, Tensor? bias, running_mean,
    running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
_prelu_kernel(self, weight)
_prelu_kernel_backward(grad_output, self, weight) -> (Tensor, Tensor)
_safe_softmax(self, int dim, ScalarType? dtype=None)
_scaled_dot_product_attention_math(query, key, value, Tensor? attn_mask=None, float dropout_p=0.,
    bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False)
    -> (Tensor, Tensor)  !c
_scaled_dot_product_cudnn_attention(query, key, value, Tensor? attn_bias, bool
    compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False,
    *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor, SymInt, SymInt, Tensor, Tensor,
    Tensor)
_scaled_dot_product_efficient_attention(query, key, value, Tensor? attn_bias, bool
    compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) ->
    (Tensor, Tensor, Tensor, Tensor)
_scaled_dot_product_flash_attention(query, key, value, float dropout_p=0., bool is_causal=False,
    bool return_debug_mask=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor,
    SymInt, SymInt, Tensor, Tensor, Tensor)
_scaled_dot_product_flash_attention .quantized(query, key, value, Tensor? q_descale, Tensor?
    k_descale, Tensor? v_descale, float dropout_p=0., bool is_causal=False, bool
    return_debug_mask=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor, SymInt,
    SymInt, Tensor, Tensor, Tensor)
_scaled_dot_product_flash_attention_for_cpu(query, key, value, float dropout_p=0., bool
    is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor)
_scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, logsumexp,
    float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor,
    Tensor, Tensor)
_upsample_bicubic2d_aa _upsample_bilinear2d_aa(self, SymInt[2] output_size, bool align_corners,
    float? scales_h=None, float? scales_w=None)  >
_upsample_bicubic2d_aa _upsample_bilinear2d_aa upsample_bilinear2d .vec(input, SymInt[]?
    output_size, bool align_corners, float[]? scale_factors)  !c
_weight_norm_interface(v, g, int dim=0) -> (Tensor, Tensor)
adaptive_avg_pool1d(self, int[1] output_size)  !c >
adaptive_avg_pool2d(self, SymInt[2] output_size)  !c >
adaptive_avg_pool3d(self, SymInt[3] output_size)  !c >
adaptive_max_pool1d(self, int[1] output_size) -> (Tensor, Tensor)  !c
adaptive_max_pool2d(self, int[2] output_size) -> (Tensor, Tensor)
adaptive_max_pool3d(self, int[3] output_size) -> (Tensor, Tensor)
affine_grid_generator(theta, SymInt[] size, bool align_corners)
alpha_dropout dropout feature_alpha_dropout feature_dropout(input, float p, bool train)  !c
alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_(Tensor(a!) self, float p, bool
    train) -> Tensor(a!)  !c
avg_pool1d(self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False,
    bool count_include_pad=True)  !c
avg_pool2d(self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False,
    bool count_include_pad=True, int? divisor_override=None)
avg_pool2d_backward(grad_output, self, int[2] kernel_size, int[2] stride, int[2] padding, bool
    ceil_mode, bool count_include_pad, int? divisor_override)
avg_pool3d(self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False,
    bool count_include_pad=True, int? divisor_override=None)
backward(self, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False) -> ()
backward .TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, bool? retain_graph=None,
    bool create_graph=False) -> ()
batch_norm(input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
    training, float momentum, float eps, bool cudnn_enabled)  !c
binary_cross_entropy(self, target, Tensor? weight=None, int reduction=1)  >
binary_cross_entropy_backward(grad_output, self, target, Tensor? weight=None, int reduction=1)
binary_cross_entropy_with_logits(self, target, Tensor? weight=None, Tensor? pos_weight=None, int
    reduction=1)  >
celu(self, Scalar alpha=1.)  !i >
channel_shuffle(self, SymInt groups)  >
col2im(self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2]
    stride)
constant_pad_nd(self, SymInt[] pad, Scalar value=0)
conv1d(input, weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1]
    dilation=[1], SymInt groups=1)  !c
conv1d .padding(input, weight, Tensor? bias=None, SymInt[1] stride=[1], str padding="valid",
    SymInt[1] dilation=[1], SymInt groups=1)  !c
conv2d(input, weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0],
    SymInt[2] dilation=[1, 1], SymInt groups=1)  !c
conv2d .padding(input, weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding="valid",
    SymInt[2] dilation=[1, 1], SymInt groups=1)  !c
conv3d(input, weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0],
    SymInt[3] dilation=[1, 1, 1], SymInt groups=1)  !c
conv3d .padding(input, weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str
    padding="valid", SymInt[3] dilation=[1, 1, 1], SymInt groups=1)  !c
conv_tbc(self, weight, bias, int pad=0)  >
conv_transpose1d(input, weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0],
    SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1])  !c
conv_transpose2d .input(input, weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2]
    padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1])
    !c
conv_transpose3d .input(input, weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3]
    padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3]
    dilation=[1, 1, 1])  !c
convolution(input, weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation,
    bool transposed, SymInt[] output_padding, SymInt groups)
convolution_backward(grad_output, input, weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[]
    padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3]
    output_mask) -> (Tensor, Tensor, Tensor)
cosine_embedding_loss margin_ranking_loss(input1, input2, target, float margin=0., int
    reduction=1)  !c
cosine_similarity(x1, x2, int dim=1, float eps=1e-08)  !c
cross_entropy_loss(self, target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100,
    float label_smoothing=0.)  !c
ctc_loss .IntList(log_probs, targets, int[] input_lengths, int[] target_lengths, int blank=0, int
    reduction=1, bool zero_infinity=False)  !c
ctc_loss .Tensor(log_probs, targets, input_lengths, target_lengths, int blank=0, int reduction=1,
    bool zero_infinity=False)  !c
cumprod_backward(grad, input, int dim, output)  !c
elu(self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)  !i >
elu_backward(grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result,
    self_or_result)
embedding(weight, indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool
    sparse=False)  >
embedding_bag(weight, indices, offsets, bool scale_grad_by_freq=False, int mode=0, bool
    sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor,
    Tensor, Tensor, Tensor)  !c
embedding_bag .padding_idx(weight, indices, offsets, bool scale_grad_by_freq, int mode, bool
    sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor,
    Tensor, Tensor, Tensor)  !c
embedding_dense_backward(grad_output, indices, SymInt num_weights, SymInt padding_idx, bool
    scale_grad_by_freq)
fractional_max_pool2d(self, int[2] kernel_size, int[2] output_size, random_samples) -> (Tensor,
    Tensor)
fractional_max_pool3d(self, int[3] kernel_size, int[3] output_size, random_samples) -> (Tensor,
    Tensor)
frobenius_norm .dim(self, int[1] dim, bool keepdim=False)  !c >out
gelu(self, *, str approximate="none")  !i >
gelu_backward(grad_output, self, *, str approximate="none")
glu(self, int dim=-1)  >
glu_backward(grad_output, self, int dim)
grid_sampler(input, grid, int interpolation_mode, int padding_mode, bool align_corners)  !c
grid_sampler_2d grid_sampler_3d(input, grid, int interpolation_mode, int padding_mode, bool
    align_corners)  >
group_norm(input, int num_groups, Tensor? weight=None, Tensor? bias=None, float
    eps=1.0000000000000001e-05, bool cudnn_enabled=True)  !c
gru rnn_relu rnn_tanh .input(input, hx, Tensor[] params, bool has_biases, int num_layers, float
    dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  !c
gru rnn_relu rnn_tanh .data(data, batch_sizes, hx, Tensor[] params, bool has_biases, int
    num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)  !c
gru_cell rnn_relu_cell rnn_tanh_cell(input, hx, w_ih, w_hh, Tensor? b_ih=None, Tensor? b_hh=None)
     !c
hardshrink softshrink(self, Scalar lambd=0.5)  >
hardshrink_backward(grad_out, self, Scalar lambd)
hardsigmoid hardswish mish relu silu(self)  !i >
hardtanh(self, Scalar min_val=-1, Scalar max_val=1)  !i >
hardtanh_backward(grad_output, self, Scalar min_val, Scalar max_val)
hinge_embedding_loss(self, target, float margin=1., int reduction=1)  !c
huber_loss(self, target, int reduction=1, float delta=1.)  >
huber_loss_backward(grad_output, self, target, int reduction, float delta)
im2col(self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)
index_select_backward(grad, SymInt[] self_sizes, int dim, index)  !c
instance_norm(input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool use_input_stats, float momentum, float eps, bool cudnn_enabled)  !c
kl_div(self, target, int reduction=1, *, bool log_target=False)  !c
l1_loss(self, target, int reduction=1)  !c
layer_norm(input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float
    eps=1.0000000000000001e-05, bool cudnn_enable=True)  !c
leaky_relu(self, Scalar negative_slope=0.01)  !i >
leaky_relu_backward(grad_output, self, Scalar negative_slope, bool self_is_result)
log_sigmoid_backward(grad_output, self, buffer)
log_softmax softmax .int(self, int dim, ScalarType? dtype=None)  !c >
logit_backward(grad_output, self, float? eps=None)
lstm .input(input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout,
    bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)  !c
lstm .data(data, batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers,
    float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)  !c
lstm_cell(input, Tensor[] hx, w_ih, w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor,
    Tensor)  !c
masked_select_backward(grad, input, mask)  !c
max_pool1d(self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1],
    bool ceil_mode=False)  !c
max_pool1d_with_indices(self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1]
    dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)  !c
max_pool2d(self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
    ceil_mode=False)  !c
max_pool2d_with_indices(self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2]
    dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
max_pool2d_with_indices_backward(grad_output, self, int[2] kernel_size, int[2] stride, int[2]
    padding, int[2] dilation, bool ceil_mode, indices)
max_pool3d(self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
    ceil_mode=False)  !c
max_pool3d_with_indices(self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3]
    dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
max_unpool2d(self, indices, SymInt[2] output_size)  >
max_unpool3d(self, indices, SymInt[3] output_size, int[3] stride, int[3] padding)  >
mish_backward silu_backward(grad_output, self)  !c
mse_loss soft_margin_loss(self, target, int reduction=1)  >
mse_loss_backward soft_margin_loss_backward(grad_output, self, target, int reduction)
multi_margin_loss(self, target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int
    reduction=1)  >
multilabel_margin_loss(self, target, int reduction=1)  !c >
native_batch_norm(input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
native_batch_norm_backward(grad_out, input, Tensor? weight, Tensor? running_mean, Tensor?
    running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3]
    output_mask) -> (Tensor, Tensor, Tensor)
native_channel_shuffle(self, SymInt groups)  !c
native_dropout(input, float p, bool? train) -> (Tensor, Tensor)
native_dropout_backward(grad_output, mask, float scale)  >
native_group_norm(input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group,
    float eps) -> (Tensor, Tensor, Tensor)
native_group_norm_backward(grad_out, input, mean, rstd, Tensor? weight, SymInt N, SymInt C,
    SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
native_layer_norm(input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) ->
    (Tensor, Tensor, Tensor)
native_layer_norm_backward(grad_out, input, SymInt[] normalized_shape, mean, rstd, Tensor?
    weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
nll_loss(self, target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)  !c >
nll_loss2d_backward nll_loss_backward(grad_output, self, target, Tensor? weight, int reduction,
    SymInt ignore_index, total_weight)
nll_loss2d_forward nll_loss_forward(self, target, Tensor? weight, int reduction, SymInt
    ignore_index) -> (Tensor, Tensor)
norm .Scalar(self, Scalar p=2)  >
norm .ScalarOpt_dim(self, Scalar? p, int[1] dim, bool keepdim=False)  >out
norm .ScalarOpt_dim_dtype(self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)
    >dtype_out
norm .ScalarOpt_dtype(self, Scalar? p, *, ScalarType dtype)  >
norm_except_dim(v, int pow=2, int dim=0)  !c
normal .Tensor_float(mean, float std=1., *, Generator? generator=None)  >
normal .float_Tensor(float mean, std, *, Generator? generator=None)  >
normal .Tensor_Tensor(mean, std, *, Generator? generator=None)  >
normal .float_float(float mean, float std, SymInt[] size, *, Generator? generator=None,
    ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
nuclear_norm(self, bool keepdim=False)  !c >
nuclear_norm .dim(self, int[2] dim, bool keepdim=False)  !c >
pad(self, SymInt[] pad, str mode="constant", float? value=None)  !c
pairwise_distance(x1, x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False)  !c
pixel_shuffle(self, int upscale_factor)  >
pixel_unshuffle(self, int downscale_factor)  >
poisson_nll_loss(input, target, bool log_input, bool full, float eps, int reduction)  !c
prelu(self, weight)  !c
reflection_pad1d replication_pad1d(self, SymInt[2] padding)
reflection_pad2d replication_pad2d(self, SymInt[4] padding)
relu6 selu(self)  !ci
renorm(self, Scalar p, int dim, Scalar maxnorm)  !i >
rms_norm(input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None)  !c
rrelu(self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None)  !ci
rrelu_with_noise(self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331,
    bool training=False, Generator? generator=None)  !i
scaled_dot_product_attention(query, key, value, Tensor? attn_mask=None, float dropout_p=0., bool
    is_causal=False, *, float? scale=None, bool enable_gqa=False)  !c
select_backward(grad_output, SymInt[] input_sizes, int dim, SymInt index)
sigmoid_backward tanh_backward(grad_output, output)
slice_backward(grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step)
smooth_l1_loss(self, target, int reduction=1, float beta=1.)  >
smooth_l1_loss_backward(grad_output, self, target, int reduction, float beta)
softplus(self, Scalar beta=1, Scalar threshold=20)  >
softplus_backward(grad_output, self, Scalar beta, Scalar threshold)
softshrink_backward(grad_output, self, Scalar lambd)
special_log_softmax(self, int dim, *, ScalarType? dtype=None)  !c
special_softmax(self, int dim, ScalarType? dtype=None)  !c
threshold_backward(grad_output, self, Scalar threshold)
to_padded_tensor(self, float padding, SymInt[]? output_size=None)
triplet_margin_loss(anchor, positive, negative, float margin=1., float p=2., float
    eps=9.9999999999999995e-07, bool swap=False, int reduction=1)  !c
unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
unfold_backward(grad_in, SymInt[] input_sizes, int dim, int size, int step)
unfold_copy(self, int dimension, int size, int step)  >
upsample_bilinear2d(self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None)
upsample_bilinear2d_backward(grad_output, SymInt[2] output_size, SymInt[4] input_size, bool
    align_corners, float? scales_h=None, float? scales_w=None)
upsample_nearest1d(self, SymInt[1] output_size, float? scales=None)
upsample_nearest1d upsample_nearest2d .vec(input, SymInt[]? output_size, float[]? scale_factors)
    !c
upsample_nearest2d(self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None)
upsample_nearest2d_backward(grad_output, SymInt[2] output_size, SymInt[4] input_size, float?
    scales_h=None, float? scales_w=None)
value_selecting_reduction_backward(grad, int dim, indices, SymInt[] sizes, bool keepdim)  !c
_adaptive_avg_pool3d_backward(grad_output, self)
_convolution .deprecated(input, weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[]
    dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool
    deterministic, bool cudnn_enabled)  !c
_convolution(input, weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation,
    bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic,
    bool cudnn_enabled, bool allow_tf32)
_embedding_bag_forward_only(weight, indices, offsets, bool scale_grad_by_freq=False, int mode=0,
    bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int
    padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)
_pad_circular(self, SymInt[] pad)
_pad_enum(self, SymInt[] pad, int mode, float? value=None)
_upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward
    upsample_bicubic2d_backward(grad_output, SymInt[2] output_size, SymInt[4] input_size, bool
    align_corners, float? scales_h=None, float? scales_w=None)
_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_nearest3d
    .vec(input, SymInt[]? output_size, float[]? scale_factors)  !c
_upsample_nearest_exact1d(self, SymInt[1] output_size, float? scales=None)
_upsample_nearest_exact1d_backward upsample_nearest1d_backward(grad_output, SymInt[1] output_size,
    SymInt[3] input_size, float? scales=None)
_upsample_nearest_exact2d(self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None)
_upsample_nearest_exact2d_backward(grad_output, SymInt[2] output_size, SymInt[4] input_size,
    float? scales_h=None, float? scales_w=None)
_upsample_nearest_exact3d upsample_nearest3d(self, SymInt[3] output_size, float? scales_d=None,
    float? scales_h=None, float? scales_w=None)
_upsample_nearest_exact3d_backward upsample_nearest3d_backward(grad_output, SymInt[3] output_size,
    SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None)
_weight_norm(v, g, int dim=0)  !c
adaptive_max_pool2d_backward adaptive_max_pool3d_backward(grad_output, self, indices)
avg_pool3d_backward(grad_output, self, int[3] kernel_size, int[3] stride, int[3] padding, bool
    ceil_mode, bool count_include_pad, int? divisor_override)
embedding_backward(grad, indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq,
    bool sparse)
fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, int axis, int quant_min, int
    quant_max) -> (Tensor, Tensor)
fake_quantize_per_tensor_affine_cachemask(self, float scale, int zero_point, int quant_min, int
    quant_max) -> (Tensor, Tensor)
glu_jvp(glu, x, dx, int dim)
grid_sampler_2d_backward grid_sampler_3d_backward(grad_output, input, grid, int
    interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor,
    Tensor)
linear_backward(self, grad_output, weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
log_sigmoid(self)  !c
max_pool3d_with_indices_backward(grad_output, self, int[3] kernel_size, int[3] stride, int[3]
    padding, int[3] dilation, bool ceil_mode, indices)
multi_margin_loss_backward(grad_output, self, target, Scalar p, Scalar margin, Tensor?
    weight=None, int reduction=1)
multilabel_margin_loss_backward(grad_output, self, target, int reduction, is_target)
multilabel_margin_loss_forward(self, target, int reduction) -> (Tensor, Tensor)
nll_loss_nd(self, target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)
reflection_pad1d_backward replication_pad1d_backward(grad_output, self, SymInt[2] padding)
reflection_pad2d_backward replication_pad2d_backward(grad_output, self, SymInt[4] padding)
reflection_pad3d replication_pad3d(self, SymInt[6] padding)
reflection_pad3d_backward replication_pad3d_backward(grad_output, self, SymInt[6] padding)
rrelu_with_noise_backward(grad_output, self, noise, Scalar lower, Scalar upper, bool training,
    bool self_is_result)
upsample_bicubic2d upsample_linear1d upsample_trilinear3d .vec(input, SymInt[]? output_size, bool
    align_corners, float[]? scale_factors)  !c
upsample_bicubic2d(self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float?
    scales_w=None)
upsample_linear1d(self, SymInt[1] output_size, bool align_corners, float? scales=None)
upsample_linear1d_backward(grad_output, SymInt[1] output_size, SymInt[3] input_size, bool
    align_corners, float? scales=None)
upsample_trilinear3d(self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float?
    scales_h=None, float? scales_w=None)
upsample_trilinear3d_backward(grad_output, SymInt[3] output_size, SymInt[5] input_size, bool
    align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None)
"""
