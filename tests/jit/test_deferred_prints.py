"""What is exchanged for ``print`` while bodies are captured is put back, in whatever order."""

import types

from torchlike._jit.capture.effects import DeferredPrints

# ruff: noqa: T201


def printed(told):
    def refuse(what, instead):
        raise AssertionError(what, instead)

    return DeferredPrints(told.append, refuse, lambda file: True)


def test_captures_that_overlap_without_being_nested(capsys):
    told = [], []
    first, second = map(printed, told)
    first.__enter__()
    second.__enter__()
    print("both")
    first.__exit__(None, None, None)
    print("one")
    second.__exit__(None, None, None)
    assert isinstance(print, types.BuiltinFunctionType)
    print("none")
    assert capsys.readouterr().out == "both\none\nnone\n"


def test_the_innermost_sees(capsys):
    told = [], []
    outer, inner = map(printed, told)
    inner.is_deferring = True
    with outer:
        with inner:
            print("a")
        print("b")
    assert told == (["print"], ["print"])
    assert capsys.readouterr().out == "b\n"
    again = inner.effect()
    assert again is not None
    again()
    again()
    assert capsys.readouterr().out == "a\na\n"
    assert outer.effect() is None
