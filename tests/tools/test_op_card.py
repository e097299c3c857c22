"""tools.op_card: what is known of an op, and where it stands."""

import functools
from pathlib import Path

import pytest

from tools import op_card

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def card_of(name):
    return list(op_card.card(name))


def about(name):
    """The lines of an op's card by what they are about."""
    found = {}
    for what, text, place in card_of(name):
        found.setdefault(what, []).append((text, place))
    return found


def line_at(place):
    path, _, number = place.rpartition(":")
    return (ROOT / path).read_text().splitlines()[int(number) - 1]


def test_an_op_of_elements():
    card = about("exp")
    assert [text for text, _ in card["parameter"]] == ["input: Tensor (operand)"]
    assert card["saved"][0][0].startswith("its output")
    assert card["gradient"][0][0].startswith("ExpBackward0")
    assert card["strides"][0][0] == "of_loop"
    assert card["in place"][0][0] == "exp_"
    assert [text for text, _ in card["first calls"]] == ["exp"]
    (text, place), *_ = card["fact autocast"]
    assert text == "{'cuda': 'float32'}"
    assert line_at(card["definition"][0][1]).startswith('_from_output("exp"')
    assert any("exp.default" in t and "pointwise" in t for t, _ in card["aten"])
    assert any('"exp"' in text and "formula" in text for text, _ in card["formula"])
    assert any(text.startswith("def exp(") for text, _ in card["generated"])
    assert all("exp" in text and place.startswith("tests/") for text, place in card["test"][:3])
    assert place.startswith("torchlike/_ops/elementwise/unary.py")


def test_an_op_with_a_check_and_a_refusal():
    card = about("index_select")
    assert "def " in line_at(card["check"][0][1])
    assert card["out="][0][0] == "casts: False"
    text, place = card["fact out_refusal"][0]
    assert "same scalar type" in text
    assert "same scalar type" in line_at(place)
    assert {text.partition(":")[0] for text, _ in card["parameter"]} == {"input", "dim", "index"}


def test_an_op_and_the_function_that_calls_it():
    card = about("mse_loss")
    assert len(card["definition"]) == 2
    assert "torchlike.nn.functional.mse_loss" in [text for text, _ in card["public"]]
    assert card["fact python_signature"][0][0] == "True"
    assert "mse_loss" in line_at(card["decomposition"][0][1])


def test_a_function_that_is_made_of_ops():
    """What it calls has the gradient: by name, through helpers, and as methods of tensors."""
    card = about("cholesky_ex")
    assert "gradient" not in card
    ((text, place),) = card["calls"]
    assert text.startswith("cholesky: gradient LinalgCholeskyExBackward0: jax.vjp")
    assert place.startswith("torchlike/_ops/linalg/decompositions.py")
    calls = [text for text, _ in about("multi_head_attention_forward")["calls"]]
    assert any("saved: for each gradient: {'input': ['weight']" in text for text in calls)
    assert any(text.startswith("mean: gradient MeanBackward0") for text in calls)
    assert "calls" not in about("exp")


@pytest.mark.parametrize("name", ["exp", "index_select", "mse_loss", "cholesky_ex"])
def test_every_place_is_a_line(name):
    places = [place for _, _, place in card_of(name) if place]
    assert places
    for place in places:
        assert line_at(place).strip()


def test_a_name_that_there_is_not():
    with pytest.raises(KeyError):
        list(op_card.card("no_such_op"))
