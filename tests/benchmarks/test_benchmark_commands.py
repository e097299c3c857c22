"""The commands: their arguments, the worker processes, a small run of each from end to end."""

import json
import os
import re
import subprocess
import sys

import pytest

from benchmarks import environments, frameworks, pool, run, start
from torchlike._runtime import xla_flags

ROOT = pool.ROOT


def command(*words):
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("label", "library", "compiled", "allocator"),
    [
        ("torchlike", "torchlike", False, "tuned"),
        ("torchlike.jit@stock", "torchlike", True, "stock"),
        ("torch.compile", "torch", True, "stock"),
        ("jax@tuned", "jax", True, "tuned"),
        ("jnp", "jax", False, "stock"),
    ],
)
def test_framework_labels(label, library, compiled, allocator):
    parsed = frameworks.parse(label)
    assert (parsed.library, parsed.compiled, parsed.allocator) == (library, compiled, allocator)
    assert parsed.name == label.partition("@")[0]


@pytest.mark.parametrize("label", ["numpy", "torch@fast", ""])
def test_unknown_framework_labels_are_refused(label):
    with pytest.raises(ValueError, match=r"unknown|after @"):
        frameworks.parse(label)


def test_every_cache_is_moved_and_openmp_left_alone():
    for label in ("torch", "torchlike", "jax@tuned"):
        added = environments.variables(frameworks.parse(label), "/cache")
        caches = {name: value for name, value in added.items() if name.endswith("CACHE_DIR")}
        assert set(map(str, caches.values())) == {
            "/cache/torchlike",
            "/cache/inductor",
            "/cache/jax",
        }
        assert not [name for name in added if name.startswith(("OMP", "MKL", "KMP", "GOMP"))]


def test_xla_gets_our_flags_where_the_allocator_is_set():
    def flags(label):
        return environments.variables(frameworks.parse(label), "/c")["XLA_FLAGS"]

    assert flags("jax@tuned") == xla_flags.extended(xla_flags.FOUND)
    assert flags("jax") == flags("torch") == xla_flags.FOUND


def test_allocator_settings_reach_the_process():
    tuned = environments.variables(frameworks.parse("jax@tuned"), "/c")
    assert "MALLOC_MMAP_THRESHOLD_" in tuned
    assert "MALLOC_MMAP_THRESHOLD_" not in environments.variables(frameworks.parse("jax"), "/c")
    stock = environments.variables(frameworks.parse("torchlike@stock"), "/c")
    assert stock["TORCHLIKE_ALLOCATOR"] == "system"
    assert "TORCHLIKE_ALLOCATOR" not in environments.variables(frameworks.parse("torchlike"), "/c")


def test_workloads_are_chosen_by_name_and_by_group():
    assert run.select_workloads(["mlp", "add_"]) == {
        "training steps": ["mlp"],
        "in place": ["add_"],
    }
    assert run.select_workloads(["in place"]) == {"in place": ["row_2mb", "row_100mb", "add_"]}
    assert run.select_workloads(None) == run.GROUPS
    with pytest.raises(ValueError, match="unknown workload 'mpl'"):
        run.select_workloads(["mpl"])


def test_frameworks_without_a_meaning_for_a_workload_are_left_out():
    asked = [frameworks.parse(label) for label in ("jnp", "torch@tuned", "torch.compile")]
    assert [f.label for f in run.select_frameworks("exp_16mb", asked)] == ["jnp", "torch@tuned"]
    assert [f.label for f in run.select_frameworks("mlp", asked)] == [
        "torch@tuned",
        "torch.compile",
    ]


def test_a_worker_serves_rounds_and_sleeps_in_between(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        worker = pool.WorkerProcess(frameworks.parse("jnp"), log)
        try:
            prepared = worker.request("prepare", workload="op")
            assert prepared["first_s"] > 0
            assert prepared["steps"] >= 3
            answers = [worker.request("round", seconds=0.02) for _ in range(2)]
            for answer in answers:
                assert 0 < answer["best_s"] < 0.01
                assert answer["blocks"] >= 3
            with pytest.raises(pool.WorkerError) as error:
                worker.request("prepare", workload="nonsense")
            assert error.value.summary == "KeyError: 'nonsense'"
            # An error is an answer like another: the worker goes on.
            assert worker.request("prepare", workload="op")["steps"] >= 3
        finally:
            peak = worker.close()
    assert peak is None or peak > 10


def test_a_worker_that_dies_is_an_error_and_not_a_hang(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        worker = pool.WorkerProcess(frameworks.parse("jnp"), log)
        worker._process.kill()
        worker._process.wait()
        with pytest.raises(pool.WorkerError, match="ended with code"):
            worker.request("prepare", workload="op")
        assert worker.close() is None


@pytest.mark.exhaustive
def test_run_prints_a_table_and_writes_every_round(tmp_path):
    out = tmp_path / "out.json"
    done = command(
        "benchmarks/run.py",
        "--quick",
        "--workloads",
        "op",
        "--frameworks",
        "jnp",
        "jax",
        "--json",
        out,
    )
    assert done.returncode == 0, done.stderr
    assert "op overhead" in done.stdout
    content = json.loads(out.read_text())
    assert [m["framework"] for m in content["measurements"]] == ["jnp", "jax"]
    for m in content["measurements"]:
        assert len(m["rounds"]) == 3
        assert all(0 < seconds < 0.1 for seconds in m["rounds"])
        assert m["error"] is None


@pytest.mark.exhaustive
def test_run_refuses_unknown_names():
    done = command("benchmarks/run.py", "--workloads", "mpl")
    assert done.returncode == 2
    assert "unknown workload 'mpl'" in done.stderr


def test_workers_import_only_their_own_library():
    program = (
        "import sys; sys.path.insert(0, '.'); from benchmarks import worker;"
        "print(sorted({'torch', 'jax', 'torchlike', 'optax'} & set(sys.modules)))"
    )
    assert command("-c", program).stdout.strip() == "[]"


COUNTING = """
import os, pathlib
cache = pathlib.Path(os.environ["TORCHLIKE_CACHE_DIR"])
cold = not cache.exists()
cache.mkdir(parents=True, exist_ok=True)
(cache / "program").write_text("x" * 1000)
print("epoch 1")
print("first step", "2.5 s" if cold else "500 ms")
"""


def test_start_runs_cold_then_warm(tmp_path, capsys):
    script = tmp_path / "script.py"
    script.write_text(COUNTING)
    code = start.main(["--repeat", "2", "--until", "epoch", "--", sys.executable, str(script)])
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert code == 0
    assert "first step, as printed │ 2.50 s │ 500 ms │ 5.00" in printed
    assert "process start to --until" in printed
    assert "1 files in the cache, 0.0 MB; medians of 2 pairs" in printed


@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        ("raise SystemExit(3)", (), "ended with code 3"),
        ("print('hello')", ("--until", "bye"), "no line of the output matches"),
    ],
)
def test_start_says_why_it_cannot_measure(program, arguments, words, capsys):
    code = start.main([*arguments, "--repeat", "1", "--", sys.executable, "-c", program])
    assert code == 1
    assert words in re.sub(r"\s+", " ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("first step 1.25 s", 1.25),
        ("epoch 1, first step: 40 ms", 0.04),
        ("later step 3 s", None),
        ("first step 12 epochs", None),
    ],
)
def test_first_step_is_read_from_a_line(line, seconds):
    assert start.reported_first_step(line) == (pytest.approx(seconds) if seconds else None)


@pytest.mark.full
def test_first_step_command_prints_what_start_reads():
    done = subprocess.run(
        [sys.executable, "benchmarks/first_step.py", "jax", "mlp"],
        cwd=ROOT,
        env=os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = [start.reported_first_step(line) for line in done.stdout.splitlines()]
    assert len(found) == 3
    assert found[1] is not None
    assert found[1] > 0


@pytest.mark.full
def test_a_small_run_of_the_memory_benchmark():
    found = command("-m", "benchmarks.memory", "--small", "--one", "torchlike", "mlp", "eager")
    assert found.returncode == 0, found.stderr
    assert float(found.stdout.split()[-1]) > 0


@pytest.mark.full
def test_data_loading_is_measured_in_a_process_of_its_own():
    done = command("benchmarks/data.py", "--measure", "torchlike", "first")
    assert done.returncode == 0, done.stderr
    assert 0 < float(done.stdout) < 60
