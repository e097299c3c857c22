"""One operator on each tensor of a list: aten's operators (see ``schemas/__init__.py``)."""

TEXT = """
_foreach_abs _foreach_acos _foreach_asin _foreach_atan _foreach_ceil _foreach_cos _foreach_cosh
    _foreach_erf _foreach_erfc _foreach_exp _foreach_expm1 _foreach_floor _foreach_frac
    _foreach_lgamma _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 _foreach_max
    _foreach_neg _foreach_reciprocal _foreach_round _foreach_rsqrt _foreach_sigmoid _foreach_sign
    _foreach_sin _foreach_sinh _foreach_sqrt _foreach_tan _foreach_tanh _foreach_trunc(Tensor[]
    self) -> Tensor[]
_foreach_abs_ _foreach_acos_ _foreach_asin_ _foreach_atan_ _foreach_ceil_ _foreach_cos_
    _foreach_cosh_ _foreach_erf_ _foreach_erfc_ _foreach_exp_ _foreach_expm1_ _foreach_floor_
    _foreach_frac_ _foreach_lgamma_ _foreach_log10_ _foreach_log1p_ _foreach_log2_ _foreach_log_
    _foreach_neg_ _foreach_reciprocal_ _foreach_round_ _foreach_rsqrt_ _foreach_sigmoid_
    _foreach_sign_ _foreach_sin_ _foreach_sinh_ _foreach_sqrt_ _foreach_tan_ _foreach_tanh_
    _foreach_trunc_ _foreach_zero_(Tensor(a!)[] self) -> ()
_foreach_add .Tensor(Tensor[] self, other, *, Scalar alpha=1) -> Tensor[]
_foreach_add _foreach_clamp_max _foreach_clamp_min _foreach_div _foreach_maximum _foreach_minimum
    _foreach_mul _foreach_sub .Scalar(Tensor[] self, Scalar scalar) -> Tensor[]
_foreach_add _foreach_clamp_max _foreach_clamp_min _foreach_div _foreach_maximum _foreach_minimum
    _foreach_mul _foreach_sub .ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]
_foreach_add _foreach_sub .List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]
_foreach_add_ .Tensor(Tensor(a!)[] self, other, *, Scalar alpha=1) -> ()
_foreach_add_ _foreach_clamp_max_ _foreach_clamp_min_ _foreach_div_ _foreach_maximum_
    _foreach_minimum_ _foreach_mul_ _foreach_sub_ .Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
_foreach_add_ _foreach_clamp_max_ _foreach_clamp_min_ _foreach_div_ _foreach_maximum_
    _foreach_minimum_ _foreach_mul_ _foreach_sub_ .ScalarList(Tensor(a!)[] self, Scalar[] scalars)
    -> ()
_foreach_add_ _foreach_sub_ .List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()
_foreach_addcdiv _foreach_addcmul .Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2,
    Scalar value=1) -> Tensor[]
_foreach_addcdiv _foreach_addcmul .ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2,
    Scalar[] scalars) -> Tensor[]
_foreach_addcdiv _foreach_addcmul .Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2,
    scalars) -> Tensor[]
_foreach_addcdiv_ _foreach_addcmul_ .Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2,
    Scalar value=1) -> ()
_foreach_addcdiv_ _foreach_addcmul_ .ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[]
    tensor2, Scalar[] scalars) -> ()
_foreach_addcdiv_ _foreach_addcmul_ .Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2,
    scalars) -> ()
_foreach_clamp_max _foreach_clamp_min _foreach_div _foreach_maximum _foreach_minimum _foreach_mul
    .List(Tensor[] self, Tensor[] other) -> Tensor[]
_foreach_clamp_max_ _foreach_clamp_min_ _foreach_div_ _foreach_maximum_ _foreach_minimum_
    _foreach_mul_ .List(Tensor(a!)[] self, Tensor[] other) -> ()
_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]
_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()
_foreach_div _foreach_mul .Tensor(Tensor[] self, other) -> Tensor[]
_foreach_div_ _foreach_mul_ .Tensor(Tensor(a!)[] self, other) -> ()
_foreach_lerp .List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]
_foreach_lerp .Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]
_foreach_lerp .ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]
_foreach_lerp_ .List(Tensor(a!)[] self, Tensor[] tensors1, Tensor[] weights) -> ()
_foreach_lerp_ .Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()
_foreach_lerp_ .ScalarList(Tensor(a!)[] self, Tensor[] tensors1, Scalar[] weight) -> ()
_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]
_foreach_norm _foreach_powsum .Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) ->
    Tensor[]
_foreach_pow .List(Tensor[] self, Tensor[] exponent) -> Tensor[]
_foreach_pow .Scalar(Tensor[] self, Scalar exponent) -> Tensor[]
_foreach_pow .ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]
_foreach_pow .ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]
_foreach_pow_ .List(Tensor(a!)[] self, Tensor[] exponent) -> ()
_foreach_pow_ .Scalar(Tensor(a!)[] self, Scalar exponent) -> ()
_foreach_pow_ .ScalarList(Tensor(a!)[] self, Scalar[] exponent) -> ()
"""
