"""One view of bytecode, whichever release of Python compiled it."""

from torchlike._jit.capture.bytecode import instructions


def named(code, opname):
    return [i.argval for i in instructions(code) if i.opname == opname]


def test_locals_are_loaded_and_stored_one_by_one():
    def f(a, b):
        c, d = a, b
        e = c
        return d, e

    assert sorted(named(f.__code__, "LOAD_FAST")) == ["a", "b", "c", "d", "e"]
    assert sorted(named(f.__code__, "STORE_FAST")) == ["c", "d", "e"]


def test_a_line_begins_with_one_instruction():
    def f(a, b):
        a.append(b)
        a, b = b, a
        a.p.q = b

        return a

    assert sum(i.starts_line for i in instructions(f.__code__)) == 4
    assert all(isinstance(i.starts_line, bool) for i in instructions(f.__code__))


def test_subscripts_and_small_integers():
    def f(a):
        return a[3]

    found = instructions(f.__code__)
    assert [i.opname for i in found[:3]] == ["LOAD_FAST", "LOAD_CONST", "BINARY_SUBSCR"]
    assert found[1].argval == 3


def test_what_is_called_is_told():
    def of_a_variable(f, x):
        return f(x)

    def of_a_global(x):
        return sorted(x)

    found = instructions(of_a_variable.__code__)
    assert found[0].opname == "PUSH_NULL" or found[0].called
    assert not found[1].called
    called = [i.argval for i in instructions(of_a_global.__code__) if i.called]
    assert called == ["sorted"]
    assert sum(i.effect for i in found if i.opname.startswith(("LOAD_", "PUSH_"))) == 3
