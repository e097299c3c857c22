"""Private names that libraries call: tensors rebuilt, keys of optimizer states, and kin."""

import copy

import pytest

import torchlike
import torchlike.distributed.fsdp
import torchlike.distributed.fsdp.api
import torchlike.onnx

torch = pytest.importorskip("torch")
SIDES = pytest.mark.parametrize("t", [torch, torchlike], ids=["torch", "torchlike"])


def adam(t):
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1))
    optimizer = t.optim.Adam(list(model.parameters())[::-1])
    model(t.ones(1, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


@SIDES
def test_tensors_are_rebuilt(t):
    storage = t.storage.TypedStorage(
        wrap_storage=t.arange(6.0).untyped_storage(), dtype=t.float32, _internal=True
    )
    made = t._utils._rebuild_tensor_v2(storage, 1, (2, 2), (2, 1), True, {})
    assert (made.tolist(), made.stride(), made.requires_grad) == ([[1, 2], [3, 4]], (2, 1), True)
    parameter = t._utils._rebuild_parameter(t.ones(2), False, {})
    assert type(parameter) is t.nn.Parameter
    assert not parameter.requires_grad
    kind = type("Own", (t.Tensor,), {})
    own = t._tensor._rebuild_from_type_v2(lambda: t.ones(2), kind, (), {"a": 3})
    assert (type(own), own.a, own.tolist()) == (kind, 3, [1, 1])


@SIDES
@pytest.mark.parametrize("by", ["model", "optim", "optim_input"])
@pytest.mark.filterwarnings("ignore")
def test_states_of_optimizers_get_other_keys(t, by):
    model, optimizer = adam(t)
    given = {
        "model": {},
        "optim": {"optim": optimizer},
        "optim_input": {"optim_input": list(model.parameters())[::-1]},
    }[by]
    fsdp = t.distributed.fsdp
    rekey = fsdp.FullyShardedDataParallel.rekey_optim_state_dict
    kinds = fsdp.fully_sharded_data_parallel.OptimStateKeyType
    state = optimizer.state_dict()
    names = ["0.weight", "0.bias", "1.weight", "1.bias"]
    named = rekey(state, kinds.PARAM_NAME, model, **given)
    assert list(named["state"]) == (names if by == "model" else names[::-1])
    assert named["param_groups"][0]["params"] == sorted(names)
    again = rekey(named, kinds.PARAM_ID, model, **given)
    assert (list(again["state"]), again["param_groups"][0]["params"]) == ([0, 1, 2, 3],) * 2
    assert rekey(state, kinds.PARAM_ID, model) is state
    with pytest.raises(ValueError, match="Invalid parameter keys"):
        rekey({"state": {0: {}, "a": {}}}, kinds.PARAM_ID, model)


@SIDES
def test_a_deep_copy_has_preserved_attributes(t):
    graph = t.fx.symbolic_trace(t.nn.ReLU())
    graph.meta[t.fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY] = {"kept": 3}
    assert copy.deepcopy(graph).kept == 3


def test_the_world_is_in_the_table_of_groups():
    dist = torchlike.distributed
    table = dist.distributed_c10d._pg_map
    assert len(table) == 0
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        assert (len(table), dist.group.WORLD in table) == (1, True)
        assert table[dist.group.WORLD][0] == "gloo"
    finally:
        dist.destroy_process_group()
    assert len(table) == 0


@SIDES
def test_the_numbers_of_onnxs_types(t):
    kinds = t.onnx.TensorProtoDataType
    assert [int(kinds.FLOAT), int(kinds.BFLOAT16), kinds.INT64.name] == [1, 16, "INT64"]


def test_who_records_a_profile():
    enabled = torchlike.autograd._profiler_enabled
    assert not enabled()
    with torchlike.profiler.profile():
        assert enabled()
        torchlike.autograd._disable_profiler()
        assert not enabled()
    action = torchlike.profiler.profiler._default_schedule_fn(3)
    assert action is torchlike.profiler.ProfilerAction.RECORD
