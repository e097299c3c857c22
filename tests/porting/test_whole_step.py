"""`torchlike.porting.whole_step`: a decorator put into a script that keeps its lines."""

from types import ModuleType

import pytest

from torchlike.porting.whole_step import decorating

SOURCE = """\
def plain():
    return "plain"

@staticmethod
def wrapped():
    return "wrapped"

class Trainer:
    @staticmethod
    def step():
        return "step"

    def method(self):
        return self

def fails():
    raise ValueError
"""


def run(tmp_path, line):
    path = tmp_path / "script.py"
    path.write_text(SOURCE)
    main = ModuleType("__main__")
    decorator = lambda fn: lambda *args: ("decorated", fn(*args))  # noqa: E731
    code = compile(SOURCE, str(path), "exec")
    exec(decorating(line, decorator)(code, main), main.__dict__)
    return main


@pytest.mark.parametrize(
    ("line", "call"),
    [
        (1, lambda main: main.plain()),
        (4, lambda main: main.wrapped()),
        (9, lambda main: main.Trainer.step()),
        (13, lambda main: main.Trainer().method()),
    ],
)
def test_the_function_at_the_line_is_decorated(tmp_path, line, call):
    assert call(run(tmp_path, line))[0] == "decorated"
    assert call(run(tmp_path, 2)) != ("decorated", call(run(tmp_path, 2)))


def test_lines_keep_their_numbers(tmp_path):
    with pytest.raises(ValueError) as raised:
        run(tmp_path, 1).fails()
    assert raised.traceback[-1].lineno + 1 == SOURCE.splitlines().index("    raise ValueError") + 1


def test_a_script_in_no_file_stays_as_it_is():
    code = compile(SOURCE, "<stdin>", "exec")
    assert decorating(1, print)(code, ModuleType("__main__")) is code
