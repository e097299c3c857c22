"""`torchlike.porting.aliases` with a small package of its own in the place of torchlike."""

import importlib
import importlib.metadata
import importlib.util
import sys

import pytest

from torchlike.porting import aliases

FILES = {
    "__init__.py": "from stand_in import nn\nname = 'top'\nones_like = 1\n"
    "__version__ = '1.2.3+other'",
    "nn/__init__.py": "runs = globals().get('runs', 0) + 1\nclass Module:\n    pass",
    "nn/functional.py": "import stand_in.counter as c\nc.runs += 1\ndef relu():\n    return 'relu'",
    "counter.py": "runs = 0",
    "lazy.py": "def __getattr__(name):\n    if name == 'late':\n        return 'came late'\n"
    "    raise AttributeError(name)",
    "demand/__init__.py": "import importlib\ndef __getattr__(name):\n    if name == 'sub':\n"
    "        return importlib.import_module('stand_in.demand.sub')\n    raise AttributeError(name)",
    "demand/sub.py": "",
    "broken.py": "import no_such_package_at_all",
    "optim/__init__.py": "",
    "check/__init__.py": "from stand_in.check.slopes import slopes",
    "check/slopes.py": "def slopes():\n    return 'checked'",
    "optim/lr_scheduler.py": "class StepLR:\n    pass",
}


@pytest.fixture
def aliased(tmp_path, monkeypatch):
    """Installs `borrowed` as another name for the package `stand_in`; cleans up behind the test."""
    for name, text in FILES.items():
        path = tmp_path / "stand_in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    # Real modules of the alias's name, which must never be found.
    (tmp_path / "borrowed").mkdir()
    (tmp_path / "borrowed" / "__init__.py").write_text("raise SystemExit('the real one')")
    (tmp_path / "borrowed" / "only_real.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield aliases.install("borrowed", "stand_in")
    for name in set(sys.modules) - before:
        del sys.modules[name]


def run(source):
    namespace = {}
    exec(compile(source, "user.py", "exec"), namespace)
    return namespace


def test_each_path_is_the_very_same_module(aliased):
    run("import borrowed, borrowed.nn as nn, borrowed.nn.functional as F; F.relu()")
    for name in ("", ".nn", ".nn.functional"):
        assert sys.modules["borrowed" + name] is sys.modules["stand_in" + name]


def test_a_function_keeps_its_place_when_its_module_of_that_name_is_imported(aliased):
    found = run(
        "import borrowed.check, borrowed.check.slopes\nfrom borrowed.check.slopes import slopes\n"
        "answer = borrowed.check.slopes()"
    )
    assert found["answer"] == "checked"
    assert sys.modules["borrowed.check.slopes"] is sys.modules["stand_in.check.slopes"]


@pytest.mark.parametrize(
    "order",
    [
        "import stand_in.nn.functional, borrowed.nn.functional",
        "import borrowed.nn.functional, stand_in.nn.functional",
        "from borrowed.nn import functional; import stand_in.nn.functional; import borrowed.nn",
        "from stand_in.nn import functional; from borrowed.nn.functional import relu",
    ],
)
def test_a_module_is_executed_once(aliased, order):
    run(order)
    assert sys.modules["stand_in.nn"].runs == 1
    assert sys.modules["stand_in.counter"].runs == 1


def test_modules_keep_their_own_identity(aliased):
    module = run("import borrowed.nn.functional as F")["F"]
    assert module.__name__ == "stand_in.nn.functional"
    assert module.__spec__.name == "stand_in.nn.functional"
    assert importlib.reload(module) is module


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("from borrowed import name as x", "top"),
        ("from borrowed.nn.functional import relu; x = relu()", "relu"),
        ("import borrowed; x = borrowed.nn.Module.__name__", "Module"),
        ("from borrowed.optim import lr_scheduler; x = lr_scheduler.StepLR.__name__", "StepLR"),
        ("from borrowed.lazy import late as x", "came late"),
        ("from importlib import import_module; x = import_module('borrowed.counter').runs", 0),
    ],
)
def test_ways_to_import(aliased, statement, value):
    assert run(statement)["x"] == value


def test_the_root_has_the_name_it_is_imported_by(aliased):
    assert run("import borrowed")["borrowed"].__name__ == "borrowed"
    assert run("import stand_in; from stand_in.nn import functional as x")["x"] is not None


def test_classes_pickle_under_the_real_name(aliased):
    assert run("from borrowed.nn import Module")["Module"].__module__ == "stand_in.nn"


@pytest.mark.parametrize("name", ["borrowed.fx", "borrowed.nn.fx", "borrowed.only_real"])
def test_missing_module_says_its_name(aliased, name):
    with pytest.raises(ModuleNotFoundError, match=f"torchlike has no {name}; ") as raised:
        run(f"import {name}")
    assert raised.value.name == name


def test_missing_module_below_the_torch_name_says_what_to_use(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    finder = aliases.AliasFinder("torch", "torchlike")
    with pytest.raises(ModuleNotFoundError, match=r"no torch\.fx\.other; jax\.make"):
        finder.find_spec("torch.fx.other")


def test_asking_for_a_missing_module_is_no_error(aliased):
    run("import borrowed")
    assert importlib.util.find_spec("borrowed.only_real") is None
    assert importlib.util.find_spec("borrowed.nn") is not None


@pytest.mark.parametrize(
    "access", ["borrowed.zeta", "borrowed.nn.zeta", "getattr(borrowed, 'zeta')"]
)
def test_missing_name_is_an_attribute_error_with_its_name(aliased, access):
    with pytest.raises(AttributeError, match=r"torchlike has no borrowed(\.nn)?\.zeta; "):
        run(f"import borrowed; {access}")


@pytest.mark.parametrize("module", ["borrowed", "borrowed.nn", "borrowed.nn.functional"])
def test_missing_name_in_from_import_is_an_import_error_with_its_name(aliased, module):
    with pytest.raises(ImportError, match=f"torchlike has no {module}.zeta; "):
        run(f"from {module} import zeta")


def test_missing_name_is_no_hindrance_to_hasattr_and_default(aliased):
    names = run("import borrowed; a = hasattr(borrowed, 'zeta'); b = getattr(borrowed, 'zeta', 3)")
    assert (names["a"], names["b"]) == (False, 3)


def test_missing_name_offers_the_nearest(aliased, capsys):
    with pytest.raises(AttributeError) as raised:
        run("import borrowed; borrowed.ones_lke")
    sys.__excepthook__(raised.type, raised.value, None)
    assert "Did you mean: 'ones_like'?" in capsys.readouterr().err


def test_dunder_names_are_not_explained(aliased):
    with pytest.raises(AttributeError, match=r"^module 'stand_in' has no attribute '__wrapped__'$"):
        run("import borrowed; borrowed.__wrapped__")


def test_own_getattr_of_a_module_is_asked_first(aliased):
    assert run("import borrowed.lazy as lazy; x = lazy.late")["x"] == "came late"
    with pytest.raises(AttributeError, match=r"torchlike has no borrowed\.lazy\.never;"):
        run("import borrowed.lazy as lazy; lazy.never")


def test_missing_name_of_a_module_imported_on_demand(aliased):
    with pytest.raises(AttributeError, match=r"torchlike has no borrowed\.demand\.sub\.never;"):
        run("import borrowed.demand; borrowed.demand.sub.never")
    assert run("import borrowed.demand.sub as sub")["sub"] is sys.modules["stand_in.demand.sub"]


def test_error_inside_a_module_is_its_own(aliased):
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'no_such_package_at_all'$"):
        run("import borrowed.broken")
    assert "borrowed.broken" not in sys.modules


def test_installing_twice_is_installing_once(aliased):
    assert aliases.install("borrowed", "stand_in") is aliased


def test_too_late_when_the_real_one_has_been_imported(monkeypatch):
    with pytest.raises(RuntimeError, match="'json' has been imported before"):
        aliases.install("json", "stand_in")


def test_the_version_is_known_to_importlib(aliased):
    assert importlib.metadata.version("borrowed") == "1.2.3+other"
    assert importlib.metadata.packages_distributions()["borrowed"] == ["borrowed"]
    found = importlib.metadata.distribution("borrowed")
    assert (found.metadata["Name"], found.files, list(found.entry_points)) == ("borrowed", None, [])
    for missing in ("stand_in", "borrowed-vision"):
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version(missing)


@pytest.fixture
def for_programs(aliased, tmp_path, monkeypatch):
    """`lent` is `stand_in`, for programs; `asker` is an installed package that looks for it."""
    installed = tmp_path / "installed"
    (installed / "asker-1.0.dist-info").mkdir(parents=True)
    (installed / "asker").mkdir()
    (installed / "asker" / "__init__.py").write_text(
        "import importlib.util\n"
        "def found():\n    return importlib.util.find_spec('lent') is not None\n"
        "def imported():\n    import lent.nn\n    return lent\n"
    )
    monkeypatch.syspath_prepend(installed)
    return aliases.install("lent", "stand_in", for_programs=True)


def test_installed_packages_do_not_find_what_is_for_programs(for_programs):
    asker = run("import asker")["asker"]
    assert not asker.found()
    with pytest.raises(ModuleNotFoundError, match=r"no lent for installed packages such as asker"):
        asker.imported()
    assert run("import lent.nn")["lent"] is sys.modules["stand_in"]
    assert asker.imported() is sys.modules["stand_in"]
