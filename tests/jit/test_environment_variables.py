"""What a process is asked for is a guard: its environment, its directory, the default device."""

import os
import sys
from os import environ, getenv

import pytest

import torchlike as torch

NAME = "TORCHLIKE_TEST_GUARD"
variables = os.environ


@pytest.fixture(autouse=True)
def variable(monkeypatch):
    monkeypatch.setenv(NAME, "2")
    monkeypatch.delenv("TORCHLIKE_TEST_OTHER", raising=False)


class Settings:
    """An object that keeps a way of asking."""

    def __init__(self):
        self.ask = os.getenv


settings = Settings()


def by_import_inside():
    from os import getenv as ask

    return ask(NAME)


WAYS = {
    "item": lambda: os.environ[NAME],
    "get": lambda: os.environ.get(NAME, "9"),
    "getenv": lambda: os.getenv(NAME),
    "environ by name": lambda: environ[NAME],
    "getenv by name": lambda: getenv(NAME, "9"),
    "under another name": lambda: variables[NAME],
    "kept by an object": lambda: settings.ask(NAME),
    "imported inside": by_import_inside,
    "bytes": lambda: os.environb[NAME.encode()],
    "getenvb": lambda: os.getenvb(NAME.encode()),
    "by a library": lambda: os.path.expandvars(f"${NAME}"),
    "setdefault": lambda: os.environ.setdefault(NAME, "9"),
}


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("way", WAYS)
def test_a_variable_is_a_guard_whichever_way_it_is_read(way, monkeypatch):
    read = WAYS[way]

    def scaled(x):
        return x * float(read())

    f, x = torch.jit(scaled), torch.ones(2)
    for _ in range(3):
        assert f(x).tolist() == scaled(x).tolist() == [2.0, 2.0]
    monkeypatch.setenv("TORCHLIKE_TEST_OTHER", "1")  # which nobody reads
    monkeypatch.setenv(NAME, "2")  # an equal one
    assert f(x).tolist() == [2.0, 2.0]
    assert f.compiles == 1
    monkeypatch.setenv(NAME, "3")
    for _ in range(3):
        assert f(x).tolist() == scaled(x).tolist() == [3.0, 3.0]
    assert f.compiles == 2
    monkeypatch.setenv(NAME, "2")  # the first program fits again
    assert f(x).tolist() == [2.0, 2.0]
    assert f.compiles == 2


def test_the_message_names_the_variable(monkeypatch, caplog):
    f, x = torch.jit(lambda x: x * float(getenv(NAME))), torch.ones(2)
    f(x)
    monkeypatch.setenv(NAME, "3")
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        f(x)
    assert caplog.messages[0].endswith(f": `os.environ['{NAME}']` changed: '2' → '3'")


def test_a_variable_that_is_not_there(monkeypatch, caplog):
    def f(x):
        return x * (2 if "TORCHLIKE_TEST_OTHER" in os.environ else 1)

    jitted, x = torch.jit(f), torch.ones(1)
    assert (jitted(x).item(), jitted(x).item()) == (1.0, 1.0)
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        monkeypatch.setenv("TORCHLIKE_TEST_OTHER", "")
        assert jitted(x).item() == 2.0
        monkeypatch.delenv("TORCHLIKE_TEST_OTHER")
        assert jitted(x).item() == 1.0
    assert jitted.compiles == 2
    assert "`os.environ['TORCHLIKE_TEST_OTHER']` changed: nothing → ''" in caplog.text


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "read",
    [
        lambda: dict(os.environ),
        lambda: os.environ.copy(),
        lambda: {**os.environ},
        lambda: os.environ | {},
    ],
    ids=["dict", "copy", "unpacked", "or"],
)
def test_all_variables_at_once(read, monkeypatch, caplog):
    f, x = torch.jit(lambda x: x * len(read())), torch.ones(1)
    n = f(x).item()
    assert f(x).item() == n
    monkeypatch.setenv("TORCHLIKE_TEST_OTHER", "1")
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        assert f(x).item() == n + 1
    assert f.compiles == 2
    assert "`os.environ['TORCHLIKE_TEST_OTHER']` changed: nothing → '1'" in caplog.text


def test_a_body_that_sets_a_variable_is_not_kept(monkeypatch):
    def f(x):
        os.environ[NAME] = str(int(os.environ[NAME]) + 1)
        return x * float(os.environ[NAME])

    jitted, x = torch.jit(f), torch.ones(1)
    assert [jitted(x).item() for _ in range(2)] == [3.0, 4.0]
    assert f"`os.environ['{NAME}']` ('3' → '4')" in jitted.latest.why_not


def test_what_a_failed_body_set_is_put_back():
    def f(x):
        os.environ[NAME] = "7"
        os.environ["TORCHLIKE_TEST_OTHER"] = "8"
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        torch.jit(f)(torch.ones(1))
    assert os.environ[NAME] == "2"
    assert "TORCHLIKE_TEST_OTHER" not in os.environ


def test_a_function_of_jax_reads_a_variable(monkeypatch):
    f = torch.jit(torch.from_jax_function(lambda x: x * float(os.environ[NAME])))
    assert f(torch.ones(1)).item() == 2.0
    monkeypatch.setenv(NAME, "3")
    assert f(torch.ones(1)).item() == 3.0


def test_the_directory_is_a_guard(tmp_path, monkeypatch, caplog):
    def f(x):
        return x * len(os.getcwd())

    jitted, x = torch.jit(f), torch.ones(1)
    assert jitted(x).item() == jitted(x).item() == len(os.getcwd())
    assert jitted.compiles == 1
    monkeypatch.chdir(tmp_path)
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        assert jitted(x).item() == f(x).item()
    assert jitted.compiles == 2
    assert "`os.getcwd()` changed" in caplog.text


def test_the_limit_of_recursion_is_a_guard():
    def f(x):
        return x + sys.getrecursionlimit()

    jitted, x, limit = torch.jit(f), torch.zeros(1), sys.getrecursionlimit()
    assert (jitted(x).item(), jitted(x).item(), jitted.compiles) == (limit, limit, 1)
    sys.setrecursionlimit(limit + 1)
    try:
        assert jitted(x).item() == limit + 1
    finally:
        sys.setrecursionlimit(limit)


def test_the_default_device_is_a_guard(caplog):
    def f(x):
        return x * (2 if torch.get_default_device().type == "cpu" else 3)

    jitted, x = torch.jit(f), torch.ones(1)
    assert (jitted(x).item(), jitted(x).item(), jitted.compiles) == (2.0, 2.0, 1)
    with caplog.at_level("INFO", logger="torchlike.recompiles"), torch.device("meta"):
        assert jitted(x).item() == f(x).item() == 3.0
    assert jitted.compiles == 2
    assert "the default device changed: None → meta" in caplog.text
    assert jitted(x).item() == 2.0
    assert jitted.compiles == 2


def test_whether_anomalies_are_looked_for_is_a_guard(caplog):
    def f(x):
        return x * (3 if torch.is_anomaly_enabled() else 2)

    jitted, x = torch.jit(f), torch.ones(1)
    assert (jitted(x).item(), jitted(x).item(), jitted.compiles) == (2.0, 2.0, 1)
    seen = caplog.at_level("INFO", logger="torchlike.recompiles")
    with seen, torch.autograd.set_detect_anomaly(True):
        assert jitted(x).item() == f(x).item() == 3.0
    assert jitted.compiles == 2
    assert "`torch.autograd.set_detect_anomaly()` changed" in caplog.text
