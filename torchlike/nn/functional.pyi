# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int] | None, *, out: Tensor | None = None) -> Tensor:
    """Return the means over windows that divide (N, C, …) into ``output_size`` (1 long)."""

def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int] | None, *, out: Tensor | None = None) -> Tensor:
    """Return the means over windows that divide (N, C, …) into ``output_size`` (2 long)."""

def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int] | None, *, out: Tensor | None = None) -> Tensor:
    """Return the means over windows that divide (N, C, …) into ``output_size`` (3 long)."""

def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over windows that divide (N, C, …) into ``output_size`` (1)."""

def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over adaptive windows, and their flat positions (int64)."""

def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over windows that divide (N, C, …) into ``output_size`` (2)."""

def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over adaptive windows, and their flat positions (int64)."""

def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over windows that divide (N, C, …) into ``output_size`` (3)."""

def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Any, return_indices: Any = False) -> Any:
    """Return the maxima over adaptive windows, and their flat positions (int64)."""

def affine_grid(theta: Tensor, size: Any, align_corners: _bool | None = None) -> Tensor:
    """Return the sampling grid of affine maps ``theta`` (N, 2, 3) or (N, 3, 4) for outputs of
``size``."""

def alpha_dropout(input: Tensor, p: _float = 0.5, training: Any = False, inplace: Any = False) -> Tensor:
    """Apply alpha dropout, when training. ValueError for p outside [0, 1]."""

def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """Return the mean of each window of (N, C, L) or (C, L)."""

def avg_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the mean of each window of (N, C, H, W) or (C, H, W); ``divisor_override`` divides
instead of the window's count."""

def avg_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, divisor_override: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return the mean of each window of (N, C, D, H, W) or (C, D, H, W)."""

def batch_norm(input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: Any = False, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise each channel of (N, C, …) (Ioffe & Szegedy 2015)."""

def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input1 @ W_k @ input2 + bias_k`` for each output k."""

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return ``-(t log x + (1 - t) log(1 - x))`` for probabilities x."""

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """Return binary cross entropy of ``sigmoid(input)``; ``pos_weight`` multiplies the positive
part."""

def celu(input: Tensor, alpha: _float = 1.0, inplace: Any = False) -> Any:
    """Return ``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (Barron 2017)."""

def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """Return ``input`` where positive, else ``alpha * (exp(input / alpha) - 1)`` (Barron 2017)."""

def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""

def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 1 spatial
dimension."""

def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 2 spatial
dimensions."""

def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] | _str = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the cross-correlation over 3 spatial
dimensions."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: Any = 0) -> Tensor:
    """Convolve over time. input (T, N, C_in), weight (K, C_in, C_out), bias (C_out): (T + 2 pad - K
+ 1, N, C_out)."""

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 1 spatial
dimension."""

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 2 spatial
dimensions."""

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Compute the transposed convolution over 3 spatial
dimensions."""

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return a loss that makes pairs (N, D) similar (target 1) or dissimilar (-1) in angle."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None) -> Tensor:
    """Return ``x1 · x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``, broadcast."""

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: _int = -100, reduce: Any = None, reduction: _str = 'mean', label_smoothing: _float = 0.0) -> Tensor:
    """Return the cross entropy of logits (N, C, …) or (C,) with targets: int64 classes (N, …), or
probabilities of the input's shape."""

def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False) -> Tensor:
    """Return the CTC loss of log-probabilities (T, N, C) or (T, C): () or, with "none", (N,)."""

def dropout(input: Tensor, p: _float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero elements with probability p and scale the rest by ``1 / (1 - p)``, when training."""

def dropout1d(input: Tensor, p: _float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero whole channels with probability p, when training (dropout1d)."""

def dropout2d(input: Tensor, p: _float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero whole channels with probability p, when training (dropout2d)."""

def dropout3d(input: Tensor, p: _float = 0.5, training: Any = True, inplace: Any = False) -> Tensor:
    """Zero whole channels with probability p, when training (dropout3d)."""

def elu(input: Tensor, alpha: _float = 1.0, inplace: Any = False) -> Any:
    """Return ``input`` where positive, else ``alpha * (exp(input) - 1)``."""

def elu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """Return ``input`` where positive, else ``alpha * (exp(input) - 1)``."""

def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = None, max_norm: _float | None = None, norm_type: _float = 2.0, scale_grad_by_freq: Any = False, sparse: Any = False) -> Tensor:
    """Return the rows of ``weight`` (V, D) at integer ``input`` (…): (…, D)."""

def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: _float | None = None, norm_type: _float = 2, scale_grad_by_freq: Any = False, mode: _str = 'mean', sparse: Any = False, per_sample_weights: Tensor | None = None, include_last_offset: Any = False, padding_idx: _int | None = None) -> Tensor:
    """Return the sums, means or maxima of the rows of each bag: (B, N) indices, or a flat list with
the ``offsets`` where bags begin. (B, D)."""

def feature_alpha_dropout(input: Tensor, p: _float = 0.5, training: Any = False, inplace: Any = False) -> Tensor:
    """Apply alpha dropout to whole channels, when training."""

def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sum columns (N, C * prod(kernel_size), L) into images (N, C, *output_size)."""

def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """Return the maxima of windows at pseudorandom places (Graham 2014)."""

def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = True, _random_samples: Tensor | None = None) -> _tuple[Tensor, Tensor]:
    """Apply ``fractional_max_pool2d`` and return the indices of the maxima in their planes too."""

def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = False, _random_samples: Tensor | None = None) -> Any:
    """Return the maxima of windows at pseudorandom places (Graham 2014)."""

def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: _bool = True, _random_samples: Tensor | None = None) -> _tuple[Tensor, Tensor]:
    """Apply ``fractional_max_pool3d`` and return the indices of the maxima in their planes too."""

def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: Any = False, eps: _float = 1e-06, reduction: _str = 'mean') -> Tensor:
    """Return the Gaussian negative log likelihood."""

def gelu(input: Tensor, *, approximate: _str = 'none', out: Tensor | None = None) -> Tensor:
    """Return ``input * Φ(input)``; with ``approximate="tanh"`` the tanh form (Hendrycks & Gimpel
2016)."""

def glu(input: Tensor, dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """Return the first half of ``dim`` times the sigmoid of the second (Dauphin et al. 2017)."""

def grid_sample(input: Tensor, grid: Tensor, mode: _str = 'bilinear', padding_mode: _str = 'zeros', align_corners: _bool | None = None) -> Tensor:
    """Read (N, C, H, W) at positions (N, H', W', 2) in [-1, 1], x first (also 5-D)."""

def group_norm(input: Tensor, num_groups: _int, weight: Any = None, bias: Any = None, eps: _float = 1e-05) -> Tensor:
    """Normalise each of ``num_groups`` groups of channels of (N, C, …) (Wu & He 2018)."""

def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None) -> Tensor:
    """Multiply matrices in groups, as a mixture of experts has them."""

def gumbel_softmax(logits: Tensor, tau: _float = 1, hard: _bool = False, eps: _float = 1e-10, dim: _int = -1) -> Tensor:
    """Return a sample of the Gumbel-softmax distribution (Jang et al. 2016; Maddison et al. 2016),
in the logits' shape; ``hard``: one-hot, with the gradient of the soft sample."""

def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where ``|input| > lambd``, else 0."""

def hardsigmoid(input: Tensor, inplace: Any = False) -> Any:
    """Return ``input / 6 + 1/2`` limited to [0, 1]."""

def hardsigmoid_(input: Tensor) -> Tensor:
    """Return ``input / 6 + 1/2`` limited to [0, 1]."""

def hardswish(input: Tensor, inplace: Any = False) -> Any:
    """Return ``input * hardsigmoid(input)`` (Howard et al. 2019)."""

def hardswish_(input: Tensor) -> Tensor:
    """Return ``input * hardsigmoid(input)`` (Howard et al. 2019)."""

def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0, inplace: Any = False) -> Any:
    """Return ``input`` limited to ``[min_val, max_val]``. ValueError when min_val > max_val; in
place all is ``max_val`` then."""

def hardtanh_(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor:
    """Return ``input`` limited to ``[min_val, max_val]``. ValueError when min_val > max_val; in
place all is ``max_val`` then."""

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = 1.0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return a loss that pulls distances to 0 (target 1) or pushes them beyond ``margin`` (-1)."""

def huber_loss(input: Tensor, target: Tensor, reduction: _str = 'mean', delta: _float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Return ``0.5 d²`` where ``|d| <= delta``, else ``delta (|d| - 0.5 delta)``."""

def instance_norm(input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None, use_input_stats: Any = True, momentum: _float = 0.1, eps: _float = 1e-05) -> Tensor:
    """Normalise each channel of each instance of (N, C, …) (Ulyanov et al. 2016)."""

def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: _str = 'nearest', align_corners: _bool | None = None, recompute_scale_factor: _bool | None = None, antialias: Any = False) -> Tensor:
    """Resample the spatial dimensions of (N, C, …) to ``size`` or by ``scale_factor``."""

def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', log_target: Any = False) -> Tensor:
    """Return the Kullback-Leibler divergence of log probabilities ``input`` from ``target``."""

def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Return the absolute difference; with ``weight`` the mean is weighted."""

def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: _float = 1e-05) -> Tensor:
    """Normalise the last dimensions, of shape ``normalized_shape`` (Ba et al. 2016)."""

def leaky_relu(input: Tensor, negative_slope: _float = 0.01, inplace: Any = False) -> Any:
    """Return ``input`` where positive, else ``negative_slope * input``."""

def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """Return ``input`` where positive, else ``negative_slope * input``."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``. input: (…, in), weight: (out, in) or (in,), bias: (out,)
or what else broadcasts to (…, out). RuntimeError for other sizes."""

def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: _str = 'mean', ignore_index: _int | None = None, label_smoothing: _float = 0.0, options: Any = None) -> Tensor:
    """Return ``cross_entropy(linear(input, linear_weight, linear_bias), target)``."""

def local_response_norm(input: Tensor, size: _int, alpha: _float = 0.0001, beta: _float = 0.75, k: _float = 1.0) -> Tensor:
    """Divide by the energy of ``size`` neighbouring channels (Krizhevsky et al. 2012)."""

def log_softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None) -> Tensor:
    """Return ``log(softmax(input, dim))``, without overflow."""

def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(sigmoid(input))``, without overflow."""

def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Any = None, ceil_mode: Any = False) -> Tensor:
    """Return ``sum(x ** p) ** (1 / p)`` of each window."""

def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Any = None, ceil_mode: Any = False) -> Tensor:
    """Return ``sum(x ** p) ** (1 / p)`` of each window."""

def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: Any, stride: Any = None, ceil_mode: Any = False) -> Tensor:
    """Return ``sum(x ** p) ** (1 / p)`` of each window."""

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return a loss that is 0 where ``input1`` ranks above ``input2`` (target 1) or below (-1), by
``margin``."""

def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Return the maximum of each window over 1 dimension."""

def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _tuple[Tensor, Tensor]:
    """Return the maxima, and their flat positions in the input's plane (int64)."""

def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Return the maximum of each window over 2 dimensions."""

def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _tuple[Tensor, Tensor]:
    """Return the maxima, and their flat positions in the input's plane (int64)."""

def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> Any:
    """Return the maximum of each window over 3 dimensions."""

def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: _bool = False, return_indices: _bool = False) -> _tuple[Tensor, Tensor]:
    """Return the maxima, and their flat positions in the input's plane (int64)."""

def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return the partial inverse of max pooling: maxima at their places, zeros elsewhere."""

def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return the partial inverse of max pooling: maxima at their places, zeros elsewhere."""

def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None) -> Tensor:
    """Return the partial inverse of max pooling: maxima at their places, zeros elsewhere."""

def mish(input: Tensor, inplace: Any = False) -> Any:
    """Return ``input * tanh(softplus(input))`` (Misra 2019)."""

def mish_(input: Tensor) -> Tensor:
    """Return ``input * tanh(softplus(input))`` (Misra 2019)."""

def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', weight: Tensor | None = None) -> Tensor:
    """Return the squared difference; with ``weight`` the mean is weighted."""

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = True, key_padding_mask: Tensor | None = None, need_weights: _bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: _bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: _bool = True, is_causal: _bool = False) -> _tuple[Tensor, Tensor | None]:
    """Compute multi-head attention (Vaswani et al., 2017) of query (L, N, E), key and value (S, N,
…)."""

def multi_margin_loss(input: Tensor, target: Tensor, p: _int = 1, margin: _float = 1.0, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return the multi-class hinge loss of scores (N, C) or (C,) with classes (N,), (1,) or ()."""

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return the multi-label hinge loss of scores (N, C); each row of targets lists labels, then
-1."""

def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return the one-versus-all logistic loss of scores (N, C) with targets 0 or 1."""

def native_channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: _int = -100, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return ``-input[target]`` for log probabilities (N, C, …) or (C,) and int64 classes (N, …)."""

def normalize(input: Tensor, p: _float = 2.0, dim: Any = 1, eps: _float = 1e-12, out: Any = None) -> Tensor:
    """Divide vectors along ``dim`` by their p-norm (at least ``eps``)."""

def one_hot(tensor: Tensor, num_classes: _int = -1) -> Tensor:
    """Return int64 codes: 1 at each class, 0 elsewhere, in a new last dimension."""

def pad(input: Tensor, pad: Any, mode: _str = 'constant', value: Any = None) -> Tensor:
    """Surround ``input`` with padding: ``pad`` is (low, high) of the last dimension, then of the
one before, …; negative numbers crop."""

def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the p-norm of ``x1 - x2 + eps`` along the last dimension, broadcast."""

def pdist(input: Tensor, p: Any = 2.0) -> Tensor:
    """Return the p-norm distance of every pair of rows: (N, M) to (N (N - 1) / 2,)."""

def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Move channels into pixels: (…, C r², H, W) -> (…, C, H r, W r) (Shi et al. 2016)."""

def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Move pixels into channels: (…, C, H r, W r) -> (…, C r², H, W), the inverse of
``pixel_shuffle``."""

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: Any = True, full: Any = False, size_average: Any = None, eps: _float = 1e-08, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return ``exp(input) - target * input`` (``log_input``), or ``input - target * log(input +
eps)``."""

def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` where positive, else ``weight * input``; one weight, or one for each
channel."""

def relu(input: Tensor, inplace: Any = False) -> Any:
    """Return ``max(input, 0)``. RuntimeError for bool tensors."""

def relu6(input: Tensor, inplace: Any = False) -> Any:
    """Return ``min(max(input, 0), 6)``."""

def relu6_(input: Tensor) -> Tensor:
    """Return ``min(max(input, 0), 6)``."""

def relu_(input: Tensor) -> Tensor:
    """Return ``max(input, 0)``. RuntimeError for bool tensors."""

def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = None, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions (Zhang &
Sennrich 2019); ``eps`` is the dtype's machine epsilon unless given."""

def rrelu(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, inplace: _bool = False) -> Tensor:
    """Return ``input`` where positive, else times a slope: uniform on [lower, upper] in training
(drawn for each element), their mean otherwise (Xu et al. 2015)."""

def rrelu_(input: Tensor, lower: _float = 0.125, upper: _float = 0.3333333333333333, training: _bool = False, generator: Any = None) -> Tensor:
    """Apply ``rrelu`` in place."""

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: _float = 0.0, is_causal: Any = False, *, scale: _float | None = None, enable_gqa: Any = False) -> Tensor:
    """Compute attention (Vaswani et al. 2017). query (…, L, E), key (…, S, E), value (…, S, V): (…,
L, V)."""

def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any, swizzle_a: Any = None, swizzle_b: Any = None, bias: Tensor | None = None, output_dtype: Any = ..., contraction_dim: Any = ..., use_fast_accum: _bool = False) -> Tensor:
    """Return ``(mat_a * scale_a) @ (mat_b * scale_b) + bias`` of matrices of 8-bit floats."""

def selu(input: Tensor, inplace: Any = False) -> Any:
    """Return ``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""

def selu_(input: Tensor) -> Tensor:
    """Return ``elu`` with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""

def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sigmoid`` elementwise; integers give the default float dtype."""

def silu(input: Tensor, inplace: Any = False) -> Any:
    """Return ``input * sigmoid(input)``, also called swish."""

def silu_(input: Tensor) -> Tensor:
    """Return ``input * sigmoid(input)``, also called swish."""

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean', beta: _float = 1.0) -> Tensor:
    """Return ``0.5 d² / beta`` where ``|d| < beta``, else ``|d| - 0.5 beta``."""

def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return the logistic loss for targets 1 and -1."""

def softmax(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None) -> Tensor:
    """Return ``exp(input) / sum(exp(input))`` along ``dim``; ``dtype`` casts first. IndexError for
a dim out of range, NotImplementedError for integers without ``dtype``."""

def softmin(input: Tensor, dim: _int | None = None, _stacklevel: _int = 3, dtype: Any = None) -> Tensor:
    """Return ``softmax(-input, dim)``."""

def softplus(input: Tensor, beta: _float = 1.0, threshold: _float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input >
threshold``."""

def softshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """Return ``input`` moved toward 0 by ``lambd``, and 0 within it. RuntimeError when lambd <
0."""

def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + |input|)``."""

def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``tanh`` elementwise; integers give the default float dtype."""

def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""

def threshold(input: Tensor, threshold: Number, value: Number, inplace: Any = False) -> Any:
    """Return ``input`` where it exceeds ``threshold``, else ``value``."""

def threshold_(input: Tensor, threshold: Number, value: Number) -> Tensor:
    """Return ``input`` where it exceeds ``threshold``, else ``value``."""

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = 1.0, p: _float = 2, eps: _float = 1e-06, swap: Any = False, size_average: Any = None, reduce: Any = None, reduction: _str = 'mean') -> Tensor:
    """Return a loss that is 0 where the anchor is closer to the positive than to the negative by
``margin``; ``swap`` also uses the distance between positive and negative (Balntas et al. 2016).
ValueError for margin <= 0."""

def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: _float = 1.0, swap: Any = False, reduction: _str = 'mean') -> Tensor:
    """Compute ``triplet_margin_loss`` with any distance (the Euclidean one by default)."""

def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the sliding blocks of (N, C, H, W) as columns (N, C * prod(kernel_size), L)."""

def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, **options: Any) -> Tensor:
    """Call ``interpolate`` under its older name (with PyTorch's warning)."""

def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None, **options: Any) -> Tensor:
    """Call ``interpolate`` under its older name (with PyTorch's warning)."""

def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None, **options: Any) -> Tensor:
    """Call ``interpolate`` under its older name (with PyTorch's warning)."""
