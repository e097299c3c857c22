"""Names with an underscore that libraries build on, against PyTorch's."""

import importlib

import pytest

import torchlike

torch = pytest.importorskip("torch")


def said(call, t):
    try:
        return repr(call(t)).replace("torchlike.", "torch.")
    except Exception as error:
        return type(error).__name__, str(error)


PARSED = [
    lambda t: ("cpu", t.float64),
    lambda t: (t.ones(1, dtype=t.float16),),
    lambda t: (t.float32,),
    lambda t: ("cpu",),
    lambda t: (t.device("cpu"), None, True),
    lambda t: (),
]


@pytest.mark.parametrize("arguments", PARSED)
def test_arguments_of_to(arguments):
    ours, theirs = (t._C._nn._parse_to(*arguments(t)) for t in (torchlike, torch))
    assert repr(ours) == repr(theirs)


def test_arguments_of_to_by_name():
    for kwargs in ({"dtype": "float32", "non_blocking": True}, {"memory_format": "channels_last"}):
        ours, theirs = (
            t._C._nn._parse_to(
                **{k: getattr(t, v) if isinstance(v, str) else v for k, v in kwargs.items()}
            )
            for t in (torchlike, torch)
        )
        assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._C._log_api_usage_once("a"),
        lambda t: t._C._get_tracing_state(),
        lambda t: t._C._get_default_device(),
        lambda t: t._C._get_privateuse1_backend_name(),
        lambda t: t._C._is_torch_function_mode_enabled(),
        lambda t: t._C._are_functorch_transforms_active(),
        lambda t: t._C._functorch.is_batchedtensor(t.ones(1)),
        lambda t: t._C._functorch.is_functorch_wrapped_tensor(t.ones(1)),
        lambda t: isinstance(t.Tensor, t._C._TensorMeta),
        lambda t: isinstance(t.ones(1), t._C.TensorBase),
        lambda t: t._shape_as_tensor(t.ones(2, 3)),
        lambda t: t.torch.Tensor is t.Tensor,
        lambda t: t.ops.aten.index(t.arange(6).reshape(2, 3), [None, t.tensor([0, 2])]),
        lambda t: t.ops.aten._to_copy(t.ones(2), dtype=t.float64),
        lambda t: t.nn.modules.transformer._get_activation_fn("tanh"),
        lambda t: [t.nn.functional._Reduction.get_enum(r) for r in ("none", "mean", "sum")],
        lambda t: [
            x.untyped_storage()._cdata == y.untyped_storage()._cdata
            for a in [t.ones(3)]
            for x, y in [(a, a[1:]), (a, a.clone())]
        ],
        lambda t: [
            getattr(importlib.import_module(t.__name__ + ".nn.attention.bias"), make)(
                2, 3
            )._materialize()
            for make in ("causal_upper_left", "causal_lower_right")
        ],
        lambda t: t.nn.functional._Reduction.get_enum("max"),
        lambda t: [
            t.nn._reduction.legacy_get_enum(a, b, False)
            for a in (None, True, False)
            for b in (None, True, False)
        ],
        lambda t: (t.nn.common_types._size_2_t, t.nn.common_types._ratio_any_t),
        lambda t: t.nn.functional._none_or_dtype(t.ones(1)),
        lambda t: t.nn.functional._canonical_mask(
            t.tensor([True, False]), "mask", None, "", t.float64, check_other=False
        ),
        lambda t: t.nn.functional._mha_shape_check(*[t.ones(3, 2, 4)] * 3, None, None, 2),
        lambda t: t.nn.functional._in_projection_packed(
            *[t.ones(3, 2)] * 3, t.ones(6, 2), t.ones(6)
        ),
        lambda t: t.nn.functional._in_projection(
            *[t.ones(3, 2)] * 3, *[t.ones(2, 2)] * 3, t.ones(2)
        ),
        lambda t: t.utils.data._utils.collate.collate_tensor_fn([t.ones(2), t.zeros(2)]),
        lambda t: t.utils.data._utils.collate.collate_float_fn([1.0, 2.0]),
    ],
)
def test_answers(call):
    assert said(call, torchlike) == said(call, torch)


def test_copies_and_views():
    for t in (torch, torchlike):
        x = t.ones(2)
        assert t.ops.aten.alias(x).data_ptr() == x.data_ptr()
        assert t.ops.aten._to_copy.default(x) is not x


def test_inside_transforms():
    for t in (torch, torchlike):
        seen = []

        def look(x, t=t, seen=seen):
            functorch = t._C._functorch
            seen.append(
                (
                    functorch.is_batchedtensor(x),
                    functorch.get_unwrapped(x).shape,
                    t._C._are_functorch_transforms_active(),
                )
            )
            return x.sum()

        t.func.vmap(look)(t.ones(2, 3))
        assert seen == [(True, t.Size([2, 3]), True)]


@pytest.mark.parametrize(
    "name",
    [
        "torch.serialization:MAP_LOCATION",
        "torch.distributions.utils:_standard_normal",
        "torch.distributions.utils:_sum_rightmost",
        "torch._jit_internal:_copy_to_script_wrapper",
        "torch.jit:_overload",
        "torch.jit:_overload_method",
        "torch.autograd.profiler:EventList",
        "torch.autograd.profiler:emit_nvtx",
        "torch.profiler:kineto_available",
        "torch.utils.data._utils.collate:default_collate",
        "torch._subclasses.fake_tensor:is_fake",
        "torch.utils.data.dataloader:_BaseDataLoaderIter",
        "torch.utils._pytree:_get_node_type",
        "torch.utils.data.dataloader:_MultiProcessingDataLoaderIter",
        "torch.utils.data.dataloader:_collate_fn_t",
        "torch.optim.optimizer:_get_value",
        "torch.fx.experimental.proxy_tensor:get_proxy_mode",
        "torch._C._distributed_c10d:ProcessGroup",
        "torch._C._distributed_rpc:_is_current_rpc_agent_set",
        "torch.__config__:show",
        "torch.distributed._tensor:DTensor",
        "torch.distributed.fsdp.api:StateDictType",
        "torch.distributed._composable.fsdp:FSDPModule",
        "torch.optim.optimizer:_use_grad_for_differentiable",
        "torch._tensor_str:PRINT_OPTS",
        "torch.distributed.constants:default_pg_timeout",
        "torch.utils.flop_counter:FlopCounterMode",
        "torch:PyTorchFileReader",
    ],
)
def test_names_have_their_places(name):
    place, _, attribute = name.partition(":")
    for root in ("torch", "torchlike"):
        module = importlib.import_module(place.replace("torch", root, 1))
        assert hasattr(module, attribute), name


def test_a_loader_gives_iterators_of_its_kind():
    for t in (torch, torchlike):
        iterator = iter(t.utils.data.DataLoader([1, 2]))
        assert isinstance(iterator, t.utils.data.dataloader._BaseDataLoaderIter)
        assert not isinstance(iterator, t.utils.data.dataloader._MultiProcessingDataLoaderIter)


def test_a_subclass_without_the_protocol():
    for t in (torch, torchlike):

        class Plain(t.Tensor):
            __torch_function__ = t._C._disabled_torch_function_impl

        x = t.ones(2).as_subclass(Plain)
        assert type(x) is Plain
        assert type(x + 1) is t.Tensor
        assert not t.overrides.has_torch_function((x,))


def test_containers_of_pytrees_by_name():
    for t in (torch, torchlike):
        tree = t.utils._pytree
        node = tree.SUPPORTED_NODES[tree._get_node_type({"a": 1})]
        children, context = node.flatten_fn({"a": 1})
        assert (children, node.unflatten_fn(children, context)) == ([1], {"a": 1})


def test_values_as_text():
    def text(t):
        options = t._tensor_str.PRINT_OPTS
        before = options.threshold
        t.set_printoptions(threshold=float("inf"))
        said = t._tensor_str._tensor_str(t.arange(2000.0).reshape(20, 100), indent=2)
        t.set_printoptions(threshold=before)
        return said, options.threshold, options.linewidth

    assert text(torchlike) == text(torch)


def test_a_counter_that_is_not_entered():
    for t in (torch, torchlike):
        module = importlib.import_module(f"{t.__name__}.utils.flop_counter")
        counter = module.FlopCounterMode(display=False)
        assert (counter.get_total_flops(), dict(counter.get_flop_counts())) == (0, {"Global": {}})


def test_what_optimizers_import():
    for t in (torch, torchlike):
        names = importlib.import_module(f"{t.__name__}.optim.optimizer")

        class Own(t.optim.Optimizer):
            def __init__(self, params, differentiable=False):
                super().__init__(params, {"differentiable": differentiable})

            @names._use_grad_for_differentiable
            def step(self, closure=None, t=t):
                return t.is_grad_enabled()

        p = t.nn.Parameter(t.ones(1))
        assert [Own([p]).step(), Own([p], True).step()] == [False, True]
        assert names._get_value(t.tensor(2.0)) == 2.0
        assert names._get_value(3) == 3
        assert names._default_to_fused_or_foreach([p], False) == (False, False)
        lists = [t.ones(1, dtype=t.complex64)], [t.ones(1, dtype=t.complex64)]
        names._view_as_real(*lists)
        assert [x[0].shape for x in lists] == [(1, 2)] * 2
