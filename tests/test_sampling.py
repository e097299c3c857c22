"""Which cases of a table marked ``sampled`` the plain run takes."""

import random
from pathlib import Path
from types import SimpleNamespace

import pytest


class Case:
    """What collection needs to know of a case."""

    def __init__(self, mark, table, at=0, **params):
        self.nodeid = f"{table}[{params}]"
        self.callspec = SimpleNamespace(params=params, indices={"case": at})
        self._mark, self.added = mark, []

    def get_closest_marker(self, name):
        return self._mark and (self._mark.mark if self._mark.name == name else None)

    def add_marker(self, mark):
        self.added.append(mark)


@pytest.fixture
def conftest(request):
    file = str(Path(__file__).with_name("conftest.py"))
    plugins = request.config.pluginmanager.get_plugins()
    return next(p for p in plugins if getattr(p, "__file__", None) == file)


@pytest.fixture
def kept(conftest):
    """The first parameters of the cases that stay in the plain run."""

    def run(cases, rest="exhaustive"):
        conftest._sample(cases)
        assert all(c.added in ([], [rest]) for c in cases)
        return [next(iter(c.callspec.params.values())) for c in cases if not c.added]

    return run


def test_every_nth_case_of_each_table(kept):
    mark = pytest.mark.sampled(every=3)
    cases = [Case(mark, table, n, n=n) for table in ("a.py::one", "a.py::two") for n in range(7)]
    assert kept(cases) == [0, 3, 6, 0, 3, 6]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_order_the_tests_run_in(kept, seed):
    mark = pytest.mark.sampled(every=3)
    cases = [Case(mark, "a.py::one", n, n=n) for n in range(9)]
    random.Random(seed).shuffle(cases)
    assert sorted(kept(cases)) == [0, 3, 6]


def test_cases_that_are_products_are_counted_as_pytest_makes_them(kept):
    """The decorator next to the function is the outer loop."""
    mark = pytest.mark.sampled(every=2)
    cases = [Case(mark, "a.py::one", name=f"{i}-{j}") for i in range(3) for j in range(3)]
    for case in cases:
        indices = case.callspec.params["name"].split("-")
        case.callspec.indices = {"inner": int(indices[0]), "outer": int(indices[1])}
    expected = kept(cases)
    for case in cases:
        case.added.clear()
    assert sorted(kept(cases[::-1])) == expected == ["0-0", "0-2", "1-1", "2-0", "2-2"]


def test_the_first_case_of_each_key(kept):
    mark = pytest.mark.sampled(per=lambda params: params["name"].partition("-")[0])
    names = ["add-0", "add-1", "mul-0", "add-2", "sub-4", "mul-1"]
    cases = [Case(mark, "a.py::one", at, name=n) for at, n in enumerate(names)]
    assert kept(cases) == ["add-0", "mul-0", "sub-4"]


def test_of_the_compiled_cases_every_nth_and_all_others(kept):
    mark = pytest.mark.sampled(every=3, of=lambda params: params["jitted"])
    cases = [Case(mark, "a.py::one", n, n=n, jitted=n > 3) for n in range(8)]
    assert kept(cases) == [0, 1, 2, 3, 4, 7]


def test_tables_without_the_mark_are_whole(kept):
    assert kept([Case(None, "a.py::one", n=n) for n in range(4)]) == [0, 1, 2, 3]
    assert kept([Case(pytest.mark.parity, "a.py::one", n=n) for n in range(4)]) == [0, 1, 2, 3]


def test_what_is_left_out_may_be_for_the_full_run_alone(kept):
    mark = pytest.mark.sampled(every=3, rest="full")
    assert kept([Case(mark, "a.py::one", n, n=n) for n in range(7)], "full") == [0, 3, 6]


@pytest.mark.parametrize(("length", "taken"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_a_share_takes_a_third_of_what_is_sampled_and_every_case_has_its_turn(
    conftest, length, taken
):
    mark = pytest.mark.sampled(every=2)
    cases = [Case(mark, "a.py::one", n, n=n) for n in range(2 * length)]
    cases += [Case(None, "a.py::two", n=n) for n in range(4)]
    tables = conftest._sample(cases)
    cases, met = [c for c in cases if not c.added], set()

    def take(share, seed):
        gone, left = [], list(cases)
        config = SimpleNamespace(
            getoption=lambda name, default: seed,
            option=SimpleNamespace(share=share),
            hook=SimpleNamespace(pytest_deselected=lambda items: gone.extend(items)),
        )
        conftest._take_share(config, left, tables)
        assert sorted(map(id, left + gone)) == sorted(map(id, cases))
        return left

    assert take(1, 0) == cases
    for seed in range(60):
        left = take(20, seed)
        assert left == take(20, seed)
        assert len(left) == taken + 4
        met.update(left)
    assert met == set(cases)
