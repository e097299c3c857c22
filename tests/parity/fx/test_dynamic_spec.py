"""Specifications of shapes are shown, and refused, as PyTorch does it."""

import importlib
import re

import pytest

import torchlike

torch = pytest.importorskip("torch")

TEXTS = """\
A
B
C
A + 1
1 + A
A * 2 + 1
A - B
A // 2
A % 2
A ** 2
-A
A > 0
A == B
A != 1
A + B > 10
A % 2 == 0
(A > 0) & (B > 1)
(A > 0) | (B > 1)
torch.sym_not(A > 0)
torch.sym_max(A, B)
hash(A) == id(A)
isinstance(A + 1, torch.SymInt), isinstance(A > 0, torch.SymBool)
A.to_jsonable()
TensorSpec([A, None, 3, A + 1])
TensorSpec([A, None]).to_jsonable()
ObjectSpec({"w": TensorSpec([A]), "n": B})
ObjectSpec({"w": TensorSpec([A]), "n": B}).to_jsonable()
DictSpec({"w": TensorSpec([A]), 0: B})
DictSpec({"w": TensorSpec([A]), 0: B}).to_jsonable()
SeqSpec([TensorSpec([A]), 1])
SeqSpec([TensorSpec([A]), 1]).to_jsonable()
ParamsSpec({"x": TensorSpec([A]), "n": B, "*args": [TensorSpec([A]), None], "**kwargs": {"k": B}})
ParamsSpec({"*args": [A], "**kwargs": {"k": A}}).to_jsonable()
ShapesSpec({"x": TensorSpec([A])}, assumptions=[A > 3])
ShapesSpec({"x": TensorSpec([A])}, assumptions=[A > 3]).to_jsonable()
ShapesSpec({"x": A}).assumptions
len(TensorSpec([A, B])), list(TensorSpec([A, B])), TensorSpec([A, B])[1]
"w" in ObjectSpec({"w": A}), list(ObjectSpec({"w": A})), len(DictSpec({"w": A}))
list(ObjectSpec({"w": A}).items())""".splitlines()

REFUSED = """\
bool(A > 0)
int(A)
float(A)
range(A)
hash(A + 1)
A + "x"
min(A, B)
TensorSpec([1.5])
TensorSpec(3)
DictSpec({1.5: A})
ParamsSpec({"*args": A})
ParamsSpec({"**kwargs": [A]})
ParamsSpec({"*a": [A]})
ShapesSpec({"x": A}, assumptions=[True])
ShapesSpec([A])
ShapesSpec(globals=1)
ShapeVar("q", min=-1)""".splitlines()


def value(package, text):
    specs = importlib.import_module(f"{package.__name__}.fx.experimental.dynamic_spec")
    names = {n: getattr(specs, n) for n in specs.__all__} | {"torch": package}
    names["A"] = names["ShapeVar"]("a")
    names["B"] = names["IntVar"]("b", min=-3, max=9, optimization_hint=4)
    names["C"] = names["IntVar"]()
    return eval(text, names)


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_shown_as_in_pytorch(text):
    ours, theirs = [re.sub(r"#\d+", "#", repr(value(p, text))) for p in (torchlike, torch)]
    assert ours == theirs


@pytest.mark.parametrize("text", REFUSED)
def test_it_is_refused_as_in_pytorch(text):
    with pytest.raises(Exception) as theirs:
        value(torch, text)
    with pytest.raises(type(theirs.value)) as ours:
        value(torchlike, text)
    assert str(ours.value).replace("SpecInt", "SymInt") == str(theirs.value)
