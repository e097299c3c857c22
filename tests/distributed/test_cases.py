"""Ranks give what PyTorch's do: the stored values are PyTorch's (see tests/golden).

One launch runs those cases of a file that this session has.
"""

import json
from pathlib import Path

import pytest

from tests.distributed.launching import results

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "distributed.json").read_text())
#: Files of which own_cases.py has a sample.
LONG = (
    "captured_cases.py",
    "captured_group_cases.py",
    "compiled_sharded_cases.py",
    "compiled_two_dimensional_cases.py",
    "context_parallel_cases.py",
    "sharded_cases.py",
    "terms_of_two_cases.py",
    "two_dimensional_cases.py",
    "uneven_cases.py",
)
#: Files of which a part runs, unless all long tests do.
SAMPLED = ("everyday_cases.py", "everyday_group_cases.py", "terms_cases.py")
RANKS = {file: len(ranks) for file, ranks in GOLDEN.items()}


def _marks(file):
    if file in LONG:
        return [pytest.mark.full]
    return [pytest.mark.sampled(every=4)] if file in SAMPLED else []


CASES = [
    pytest.param(file, name, marks=_marks(file))
    for file, ranks in GOLDEN.items()
    for name in ranks[0]
]


@pytest.fixture(scope="module")
def found(request, tmp_path_factory):
    made = {}
    here = [i for i in request.session.items if i.path == request.path and hasattr(i, "callspec")]
    wanted = [(i.callspec.params["file"], i.callspec.params["name"]) for i in here]

    def of(file):
        if file not in made:
            only = [name for of_file, name in wanted if of_file == file]
            folder = tmp_path_factory.mktemp("ranks")
            made[file] = results(file, folder, RANKS.get(file, 2), only=only)
        return made[file]

    return of


def close(own, theirs):
    """Equal, numbers to 1e-4: sums over ranks are taken in another order, and training goes on
    from them."""
    if isinstance(theirs, list):
        return len(own) == len(theirs) and all(map(close, own, theirs))
    if isinstance(theirs, dict):
        return own.keys() == theirs.keys() and all(close(own[k], theirs[k]) for k in theirs)
    if isinstance(theirs, float):
        return own == pytest.approx(theirs, rel=1e-4, abs=1e-5)
    return own == theirs


@pytest.mark.sampled(every=13)
@pytest.mark.parametrize(("file", "name"), CASES, ids=[c.values[1] for c in CASES])
def test_case(found, file, name):
    for rank, theirs in enumerate(GOLDEN[file]):
        own = found(file)[rank][name]
        assert close(own, theirs[name]), f"rank {rank}: {own}, PyTorch: {theirs[name]}"


@pytest.mark.exhaustive
def test_own_cases(found):
    """They check themselves, and give nothing, or what they raised."""
    for rank, cases in enumerate(found("own_cases.py")):
        assert len(cases) > 10
        assert {name: said for name, said in cases.items() if said is not None} == {}, rank
