"""``torch.testing._internal.common_utils``, which other test suites take their cases from."""

import importlib
import unittest

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")
BOTH = (torchlike, torch)
importlib.import_module("torch.testing._internal.common_utils")  # which extends sys.path


def utils(t):
    return importlib.import_module(f"{t.__name__}.testing._internal.common_utils")


def case_of(t, ran):
    u = utils(t)
    values = [1, 2.5, "s", True, None, t.float32, t.nn.Linear, (1, 2), t.device("cpu"), len]
    rows = [(1, 2), u.subtest((3, 4), name="named")]
    rows.append(u.subtest((5, 6), decorators=[unittest.skip("no")]))

    class Case(u.TestCase):
        @u.parametrize("x", values)
        def test_kinds(self, x):
            ran.append(values.index(x))

        @u.parametrize("x,y", rows)
        def test_rows(self, x, y):
            ran.append((x, y))

        @u.parametrize("x", [1, 2])
        @u.parametrize("y", ["a", "b"])
        def test_products(self, x, y):
            ran.append((x, y))

        @u.parametrize("x", [1, 2], name_fn=lambda x: f"n{x}")
        def test_names(self, x):
            ran.append(t.rand(1).item())

        def test_failing(self):
            self.assertEqual(t.ones(2), t.zeros(2))

    u.instantiate_parametrized_tests(Case)
    return Case


def test_cases_have_pytorchs_names_and_run():
    said = []
    for t in BOTH:
        ran = []
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(case_of(t, ran))
        result = unittest.TestResult()
        names = [test.id().rpartition(".")[2] for test in suite]
        suite.run(result)
        failed = [test.id().rpartition(".")[2] for test, _ in result.failures + result.errors]
        said.append((names, ran, failed, result.testsRun, len(result.skipped)))
    assert said[0] == said[1]


def pairs(t):
    one, nan = t.tensor(1.0), t.tensor(float("nan"))
    return [
        (one, 1.0),
        (t.ones(1), 1.0),
        (t.ones(2), 1.0),
        (t.ones(2), [1.0, 1.0]),
        (np.ones(2), t.ones(2)),
        (np.ones(2), t.ones(2, dtype=t.float64)),
        (1, 1.0),
        (True, 1),
        ("a", "b"),
        ({1}, {1}),
        ([one, 2], (one, 2)),
        ([one, 2], [one]),
        ({"a": one}, {"a": one}),
        ({"a": one}, {"b": one}),
        (one, t.tensor(1)),
        (None, None),
        (t.float32, t.float64),
        (nan, nan),
        (1.0, 1.0000001),
        (one, one + 1e-6),
        (one, one + 1e-3),
        (t.Size([1]), [1]),
        (t.device("cpu"), "cpu"),
    ]


def outcome(call):
    try:
        call()
    except (AssertionError, ValueError) as error:
        return type(error).__name__
    return "equal"


@pytest.mark.parametrize("method", ["assertEqual", "assertNotEqual", "assertEqualIgnoreType"])
def test_what_is_equal(method):
    ours, theirs = (
        [outcome(lambda p=p, u=u: getattr(u.TestCase(), method)(*p)) for p in pairs(t)]
        for t, u in ((t, utils(t)) for t in BOTH)
    )
    assert ours == theirs


def test_tolerances_that_are_given():
    for t in BOTH:
        case = utils(t).TestCase()
        case.assertEqual(t.tensor(1.0), t.tensor(1.5), atol=1, rtol=0)
        case.precision = 1.0
        case.assertEqual(t.tensor(1.0), t.tensor(1.5))
        with pytest.raises(AssertionError, match="hello"):
            case.assertEqual(t.tensor(1.0), t.tensor(3.0), "hello")


@pytest.mark.parametrize("t", BOTH)
def test_what_is_within_a_container_is_compared_as_exactly(t):
    case = type("Case", (utils(t).TestCase,), {"runTest": lambda self: None})()
    rows, columns = t.ones(2, 3), t.ones(3, 2).t()
    case.assertEqual([{"a": rows}], [{"a": columns}])
    with pytest.raises(AssertionError):
        case.assertEqual([{"a": rows}], [{"a": columns}], exact_stride=True)
    case.assertNotEqual([rows], [rows + 1], atol=0.5, rtol=0)
    case.assertEqual([rows], [rows + 1], atol=1.5, rtol=0)
