"""At the keyboard an operation shows its parameters, what they mean and an example."""

import inspect
import pydoc

import pytest

import torchlike as torch
from tools import documented
from torchlike._compat.help import at_the_keyboard, docstrings, signatures

#: How many operations may lack what; whoever brings a figure down lowers it here.
MOST = {"signature": 25, "arguments": 0, "example": 159}


@pytest.fixture(scope="module")
def lacking():
    found = {what: [] for what in MOST}
    for space, name, function in documented.public():
        for what in documented.lacks(function):
            found[what].append(f"{space}.{name}")
    return found


@pytest.mark.parametrize("what", MOST)
def test_few_operations_lack(lacking, what):
    assert len(lacking[what]) <= MOST[what], lacking[what]


def test_a_signature_is_that_of_the_definition():
    assert str(inspect.signature(torch.sum)) == (
        "(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, "
        "dtype: dtype | None = None, out: Tensor | None = None) -> Tensor"
    )
    assert inspect.signature(torch.matmul).bind(1, other=2).arguments == {"input": 1, "other": 2}


def test_a_method_begins_with_self_and_takes_no_out():
    assert list(inspect.signature(torch.Tensor.sum).parameters) == [
        "self",
        "dim",
        "keepdim",
        "dtype",
    ]
    assert list(inspect.signature(torch.ones(2).sum).parameters) == ["dim", "keepdim", "dtype"]


def test_defaults_are_the_values_themselves():
    bound = inspect.signature(torch.flatten).bind(torch.ones(2, 2))
    bound.apply_defaults()
    assert bound.arguments["end_dim"] == -1
    assert torch.flatten(*bound.args).shape == (4,)


def test_what_a_definition_sets_as_signature_stays():
    assert list(inspect.signature(torch.nn.functional.relu).parameters) == ["input", "inplace"]


def test_no_text_is_made_before_it_is_asked_for():
    function = signatures.bare(torch.special.bessel_j1)
    function.__doc__ = "Return it."
    fresh = at_the_keyboard.OperationDocstring(function)
    assert fresh._made is None
    assert fresh.description == "Return it."
    assert len(fresh) > len(fresh.description)
    assert fresh._made is not None


def test_a_docstring_has_all_parts_in_order():
    text = inspect.getdoc(torch.add)
    heads = ["Args:", "Returns:", "Raises:", "Example:"]
    places = [text.index(head) for head in heads]
    assert places == sorted(places)
    assert "alpha (Number, default 1): what the second operand is multiplied by." in text
    assert "RuntimeError: for shapes that do not broadcast" in text
    assert text.startswith(str.strip(torch.add.__doc__.description.splitlines()[0]))


def test_help_shows_the_whole():
    text = pydoc.render_doc(torch.cumsum, renderer=pydoc.plaintext)
    assert "cumsum(input: Tensor, dim: int" in text
    assert "Args:" in text
    assert "Args:" in str(torch.cumsum.__doc__)


def test_errors_in_prose_become_raises():
    prose = ["Do it. IndexError for a dimension\nout of range; RuntimeError unless it fits."]
    kept, raised = docstrings._without_errors(prose)
    assert kept == ["Do it."]
    assert raised == [
        ("IndexError", "for a dimension out of range"),
        ("RuntimeError", "unless it fits"),
    ]


def test_an_in_place_form_says_where_its_result_is():
    assert "written into the tensor itself" in inspect.getdoc(torch.Tensor.add_)


def test_what_is_refused_says_only_that():
    assert str(torch.quantize_per_tensor.__doc__).startswith("Not supported")
    assert "Args:" not in torch.quantize_per_tensor.__doc__
