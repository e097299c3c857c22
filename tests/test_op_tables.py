"""What is a property of one op stands in its definition, and not in a table that knows it by name.

`tools/op_tables.py` finds the tables outside of ``torchlike/_ops``. Those that may stay are here,
each with its reason.
"""

import functools

import pytest

from tools import op_tables

_ATEN = "aten's overloads are PyTorch's data, shared by operators that no op of ours stands for"
_PYTHON = "the entries are operators of Python's, which some ops are called like"
_SHAPES = "one rule for the shapes of many of aten's operators"
_MASKED = "MaskedTensor of PyTorch's has rules for these, and no others"
_PUBLIC = "a public table of PyTorch's, whose names are some of those with a rule here"
_PRIMITIVES = "the entries are JAX's primitives, which some ops are called like"

ALLOWED = {
    "distributed/tensor/_keeping_terms.py:KEEPING": "linear in one operand, so that terms are kept",
    "_jit/capture/unread.py:_ASKING": "special methods of Python's objects",
    "ops/_aten/arguments.py:_NUMBERS_TEXT": "in-place and other overloads of aten's are among them",
    "ops/_aten/calling.py:_OTHER_NAMES_TEXT": "it says which operator of aten's stands for it",
    "ops/_aten/calling.py:_ASKED_TEXT": "tensors and dtypes are asked; most are plain functions",
    "ops/_aten/schemas/creation.py:TEXT": _ATEN,
    "ops/_aten/schemas/layers.py:TEXT": _ATEN,
    "ops/_aten/schemas/linear_algebra.py:TEXT": _ATEN,
    "ops/_aten/schemas/lists.py:TEXT": _ATEN,
    "ops/_aten/schemas/pointwise.py:TEXT": _ATEN,
    "ops/_aten/schemas/reductions.py:TEXT": _ATEN,
    "ops/_aten/schemas/shapes.py:TEXT": _ATEN,
    "ops/_aten/schemas/tags.py:_LISTED": "the tags are those of single overloads of aten's",
    "ops/_aten/schemas/tags.py:_NOT_POINTWISE": "overloads that PyTorch left untagged",
    "_compat/foreach.py:_BINARY": "it says which two operators a function of lists runs",
    "_compat/unsupported.py:GAPS": "the ops here are absent, or absent from the named place",
    "_extensions/overrides/code_exchange.py:_DUNDER_TEXT": "Python's special methods",
    "_extensions/overrides/python_signatures.py:_TENSOR": "most of them are no ops",
    "_jit/capture/scalars.py:_DEVICE": _PYTHON,
    "_jit/capture/scalars.py:_COMPARISONS": _PYTHON,
    "_runtime/computed_once.py:_CHEAP": _PRIMITIVES,
    "_runtime/computed_once.py:_DEAR": _PRIMITIVES,
    "_runtime/first_calls/cost.py:_ELEMENT_TEXT": _PRIMITIVES,
    "_runtime/first_calls/cost.py:_LAPACK": _PRIMITIVES,
    "_runtime/first_calls/cost.py:_SLOW_IN_HALF_TEXT": _PRIMITIVES,
    "_runtime/first_calls/rules/arithmetic.py:_BROADCASTING_TEXT": _PRIMITIVES,
    "_runtime/known_nans.py:_CHOICES_TEXT": _PRIMITIVES,
    "_runtime/known_nans.py:_TOTAL": _PRIMITIVES,
    "_runtime/reference.py:CHANGES": "it says of which functions a release changed what they do",
    "_subclasses/symbolic_rules.py:_as_first": _SHAPES,
    "_subclasses/symbolic_rules.py:_asked": _SHAPES,
    "_subclasses/symbolic_rules.py:_two": _SHAPES,
    "_subclasses/symbolic_rules.py:_written": _SHAPES,
    "export/targets.py:_MATH_TEXT": "the entries are functions of the module math",
    "export/targets.py:_OPERATOR_TEXT": "the entries are functions of the module operator",
    "fx/_codegen.py:_BINARY": _PYTHON,
    "fx/_codegen.py:reflectable_magic_methods": _PYTHON,
    "fx/_names.py:_OF_THE_CORE": "it says in which module of PyTorch's a function stands",
    "fx/experimental/normalize.py:binary_magic_method_remap": _PYTHON,
    "fx/node.py:_RANDOM_TEXT": "PyTorch's fx knows these as random, and no others",
    "fx/passes/dialect/common/cse_pass.py:_RANDOM": "PyTorch's pass knows these, and no others",
    "fx/passes/dialect/common/cse_pass.py:_IN_PLACE": "PyTorch's pass knows these, and no others",
    "masked/_ops.py:_ALONG": "it says which of the functions of torch.masked take a dimension",
    "masked/maskedtensor/core.py:_PLAIN_TEXT": "most entries are special methods or attributes",
    "masked/maskedtensor/binary.py:_BINARY_NAMES": _PUBLIC,
    "masked/maskedtensor/binary.py:_NOT_IN_PLACE": _PUBLIC,
    "masked/maskedtensor/rules.py:_BINARY": _MASKED,
    "masked/maskedtensor/rules.py:_UNARY": _MASKED,
    "masked/maskedtensor/rules.py:both": _MASKED,
    "masked/maskedtensor/rules.py:like": _MASKED,
    "masked/maskedtensor/rules.py:reduce": _MASKED,
    "masked/maskedtensor/unary.py:_UNARY_NAMES": _PUBLIC,
    "masked/maskedtensor/unary.py:_UNARY_NAMES_UNSUPPORTED": _PUBLIC,
    "nested/_internal/base.py:_PLAIN_TEXT": "most entries are special methods or attributes",
    "nested/_internal/rules/reductions.py:_IDENTITIES": "each entry is code for nested tensors",
    "nn/init.py:_LINEAR_TEXT": "PyTorch's calculate_gain knows these words, and no others",
    "overrides.py:_UNTESTED_TEXT": "PyTorch's list of overridable functions leaves these out",
    "porting/divergence/in_float64.py:_KINKED_TEXT": "PyTorch's names, as a script calls",
    "sparse/_gradient_rules.py:_PULLS": "each entry is code for sparse tensors",
}


@functools.cache
def _tables():
    return op_tables.find(op_tables.names_of_ops())


def test_tables_outside_of_ops_are_those_that_may_stay():
    unknown = {t.place: sorted(t.names) for t in _tables() if t.place not in ALLOWED}
    assert unknown == {}, "say it in the ops' definitions, or give the reason here"


def test_every_table_that_may_stay_is_there():
    assert sorted(ALLOWED.keys() - {t.place for t in _tables()}) == []


@pytest.mark.parametrize(
    "source",
    [
        "table = {'add': 1, 'sub': 2, 'mul': 3, 'div': 4, 'exp': 5, 'log': 6}",
        "table: set[str] = {'add', 'sub', 'mul', 'div', 'exp', 'log', 'no op'}",
        "table = dict.fromkeys(('add', 'sub', 'mul', 'div', 'exp', 'log'), 1)",
        "table = [('add', 1), ('sub', 1), ('mul', 1), ('div', 1), ('exp', 1), ('log', 1)]",
        "table = 'add sub mul div exp log'.split()",
        "table = 'add:a sub:a mul:b div:b exp:c log:c'.split()",
        "table = '''\nadd: a\nsub: a\nmul: a\ndiv: a\nexp(a)\nlog.out(a)'''",
    ],
    ids=["dict", "set", "tuple", "pairs", "words", "pairs of words", "lines"],
)
def test_tables_are_found(source):
    (table,) = op_tables.in_source(source, "a.py", op_tables.names_of_ops())
    assert table.place == "a.py:table"
    assert table.names == {"add", "sub", "mul", "div", "exp", "log"}


@pytest.mark.parametrize(
    "source",
    [
        "table = 'add sub mul div exp'.split()",
        "'add sub mul div exp log'",
        "__all__ = ['add', 'sub', 'mul', 'div', 'exp', 'log']",
    ],
    ids=["five", "docstring", "__all__"],
)
def test_what_is_no_table(source):
    assert op_tables.in_source(source, "a.py", op_tables.names_of_ops()) == []
