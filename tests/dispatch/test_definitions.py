"""What definitions of ops say, and who asks for it."""

import pytest

import torchlike
from torchlike._core.dispatch.registry import NAMESPACES, OPS, OPTIONS, composite, names_with, op
from torchlike._core.dispatch.schema import Input
from torchlike._core.dispatch.spec import AUTOCAST, declare_autocast
from torchlike._extensions.overrides import python_signatures
from torchlike.ops._aten.schemas.tags import tags_of
from torchlike.utils.flop_counter import FlopCounterMode


def test_an_option_that_there_is_not_is_refused():
    def halved_again(input: Input):
        return input / 2

    with pytest.raises(TypeError, match="halved_again is defined with what is no option: colour"):
        op(namespaces=(), method=False, colour="red")(halved_again)
    with pytest.raises(
        TypeError, match="halved_again is defined with what is no option: elementwise"
    ):
        composite(namespaces=(), method=False, elementwise=True)(halved_again)
    assert "halved_again" not in OPS


@pytest.mark.parametrize("policies", ["lowest", {"tpu": "low"}, {"cpu": "lowest"}])
def test_a_policy_of_autocast_that_there_is_not_is_refused(policies):
    with pytest.raises(ValueError, match="op halved_again: there is no autocast policy"):
        declare_autocast("halved_again", policies)
    assert not any("halved_again" in names for names in AUTOCAST.values())


def test_a_policy_is_for_all_devices_or_for_some():
    assert [AUTOCAST[device]["mm"] for device in ("cpu", "cuda", "xla")] == ["low"] * 3
    assert [AUTOCAST[device].get("exp") for device in ("cpu", "cuda", "xla")] == [
        None,
        "float32",
        None,
    ]


def test_an_op_and_the_function_that_calls_it_share_what_is_asked_by_name():
    assert OPTIONS["mse_loss"]["autocast"] == "float32"
    assert OPS["mse_loss_op"].name == "mse_loss"
    assert python_signatures.table("nn.functional")["mse_loss"].by_position == ("input", "target")


def test_tags_follow_from_definitions():
    def shown(*overload):
        return [tag.name for tag in tags_of(*overload)]

    assert "pointwise" in shown("exp2", "")  # as it is elementwise
    assert "pointwise" in shown("special_bessel_j0", "out")
    assert "pointwise" not in shown("abs_", "")  # as PyTorch has it
    assert "data_dependent_output" in shown("allclose", "")
    assert "reduction" in shown("prod", "dim_int")
    assert "reduction" not in shown("add", "Tensor")


def test_functions_of_lists_are_those_of_the_definitions():
    assert len(names_with("foreach")) == 30
    for name in names_with("foreach"):
        assert f"_foreach_{name}" in NAMESPACES[""]
        assert f"_foreach_{name}_" in NAMESPACES[""]


def test_functions_that_are_said_to_be_zero_at_zero_are():
    assert len(names_with("zero_at_zero")) == 31
    zeros = torchlike.zeros(3)
    for name in names_with("zero_at_zero"):
        assert not getattr(torchlike, name)(zeros).any(), name


def test_flops_are_counted_by_the_definitions():
    with FlopCounterMode(display=False) as counter:
        torchlike.addmm(torchlike.ones(4), torchlike.ones(2, 3), torchlike.ones(3, 4))
    assert counter.get_total_flops() == OPTIONS["addmm"]["flops"]((4,), (2, 3), (3, 4)) == 48
