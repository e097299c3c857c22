"""state_dict and load_state_dict."""

import gc
from collections import OrderedDict

import pytest

import torchlike as torch
import torchlike.nn as nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def test_layout():
    state = net().state_dict()
    assert type(state) is OrderedDict
    assert {k: tuple(v.shape) for k, v in state.items()} == {
        "0.weight": (3, 2),
        "0.bias": (3,),
        "1.weight": (3,),
        "1.bias": (3,),
        "1.running_mean": (3,),
        "1.running_var": (3,),
        "1.num_batches_tracked": (),
    }
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    assert not any(v.requires_grad for v in state.values())


def test_values_share_memory_and_loading_copies():
    a, b = net(), net()
    state = a.state_dict()
    assert repr(b.load_state_dict(state)) == "<All keys matched successfully>"
    assert b[0].weight.tolist() == a[0].weight.tolist()
    with torch.no_grad():
        a[0].weight.fill_(5)
    assert state["0.weight"].tolist() == [[5, 5]] * 3
    assert b[0].weight.tolist() != a[0].weight.tolist()


def test_prefix_keep_vars_and_destination():
    layer = nn.Linear(1, 1)
    own = OrderedDict()
    assert layer.state_dict(destination=own, prefix="a.", keep_vars=True) is own
    assert own["a.weight"] is layer.weight
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(layer.state_dict(None, "b.")) == ["b.weight", "b.bias"]


def test_all_problems_are_reported_at_once():
    state = {"0.weight": torch.ones(3), "0.bias": 3, "extra": torch.ones(1)}
    with pytest.raises(RuntimeError) as error:
        net()[:1].load_state_dict(state)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tUnexpected key(s) in state_dict: "extra". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([3]) from checkpoint, "
        "the shape in current model is torch.Size([3, 2]).\n"
        '\tWhile copying the parameter named "0.bias", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>"
    )
    with pytest.raises(RuntimeError, match=r'Missing key.s. in state_dict: "0.weight", "0.bias"'):
        net()[:1].load_state_dict({})
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>"):
        net().load_state_dict(3)


def test_not_strict_says_what_did_not_match():
    found = net()[:1].load_state_dict({"0.bias": torch.ones(3), "z": torch.ones(1)}, strict=False)
    assert found.missing_keys == ["0.weight"]
    assert found.unexpected_keys == ["z"]
    assert repr(found) == "_IncompatibleKeys(missing_keys=['0.weight'], unexpected_keys=['z'])"


def test_assign_binds_the_given_tensors():
    layer, weight = nn.Linear(2, 1), torch.ones(1, 2)
    layer.load_state_dict({"weight": weight, "bias": torch.zeros(1)}, assign=True)
    weight.fill_(4)
    assert layer.weight.tolist() == [[4, 4]]
    assert isinstance(layer.weight, nn.Parameter)
    assert layer.weight.requires_grad


def test_dtypes_are_converted_and_optimizers_keep_their_parameters():
    layer = nn.Linear(1, 1)
    weight = layer.weight
    layer.load_state_dict(nn.Linear(1, 1).double().state_dict())
    assert layer.weight is weight
    assert weight.dtype is torch.float32


def test_a_checkpoint_from_before_num_batches_tracked_loads():
    norm = nn.BatchNorm1d(2)
    state = dict(norm.state_dict())
    del state["num_batches_tracked"]
    assert repr(norm.load_state_dict(state)) == "<All keys matched successfully>"


def test_extra_state():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def get_extra_state(self):
            return {"steps": self.steps}

        def set_extra_state(self, state):
            self.steps = state["steps"]

    a, b = nn.Sequential(Counting()), nn.Sequential(Counting())
    a[0].steps = 5
    assert a.state_dict() == {"0._extra_state": {"steps": 5}}
    b.load_state_dict(a.state_dict())
    assert b[0].steps == 5
    with pytest.raises(RuntimeError, match="_extra_state"):
        b.load_state_dict({})


def test_hooks_on_saving_and_loading():
    layer, log = nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("save", prefix)))
    layer.register_state_dict_post_hook(
        lambda m, state, prefix, meta: state.pop("bias", None) and None
    )
    state = layer.state_dict()
    assert list(state) == ["weight"]

    def add_bias(module, state_dict, prefix, *rest):
        log.append(("load", module is layer))
        state_dict[f"{prefix}bias"] = torch.ones(1)

    layer.register_load_state_dict_pre_hook(add_bias)
    layer.register_load_state_dict_post_hook(lambda m, keys: log.append(keys.missing_keys))
    layer.load_state_dict(state)
    assert layer.bias.tolist() == [1]
    assert "bias" not in state
    assert log == [("save", ""), ("load", True), []]


def test_a_prefix_is_taken_off_the_names_of_a_saved_wrapper():
    wrapper = nn.Module()
    wrapper.module, wrapper.head = nn.Sequential(nn.Linear(1, 1)), nn.Linear(1, 1)
    state = wrapper.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["head.weight", "head.bias", "0.weight", "0.bias"]
    assert list(state._metadata) == ["", "head", "0"]
    wrapper.module.load_state_dict({k: v for k, v in state.items() if k.startswith("0")})


def test_a_loaded_state_is_freed_without_the_garbage_collector():
    module = net()
    module.load_state_dict(net().state_dict())
    gc.collect()
    module.load_state_dict(net().state_dict())
    assert gc.collect() == 0
