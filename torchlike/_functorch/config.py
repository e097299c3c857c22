"""``torch._functorch.config``: settings that scripts make. What a compiled backward pass keeps and
what it computes again is XLA's decision, so none has an effect."""

from torchlike.utils._config_module import install_config_module

activation_memory_budget = 1.0
activation_memory_budget_runtime_estimator = "flops"
activation_memory_budget_solver = "dp"
aggressive_recomputation = False
backward_pass_autocast = "same_as_forward"
ban_recompute_not_in_allowlist = True
ban_recompute_reductions = True
ban_recompute_used_far_apart = True
bundled_autograd_cache = False
cse = True
debug_assert = False
debug_partitioner = False
donated_buffer = True
enable_activation_offloading = False
enable_autograd_cache = True
enable_remote_autograd_cache = None
fake_tensor_propagate_real_tensors = False
functionalize_rng_ops = False
max_dist_from_bw = 1000
recompute_views = False
static_weight_shapes = True
strict_autograd_cache = False
treat_parameters_as_free_to_save = True
unlift_effect_tokens = False
view_replay_for_aliased_outputs = True

install_config_module(__name__, {})
