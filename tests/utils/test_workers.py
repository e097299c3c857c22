"""DataLoader's worker processes: what they do, how they fail, and that nothing of them is left."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from jax._src import xla_bridge

import torchlike as torch
from tests import interruptions
from torchlike.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchlike.utils.data.processes import worker_pool

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


class Rows(Dataset):
    """Twenty rows, each its number; one of them may do something else."""

    def __init__(self, at_five=None):
        self.at_five = at_five

    def __len__(self):
        return 20

    def __getitem__(self, i):
        if i == 5 and self.at_five is not None:
            self.at_five()
        return i


def loaded(dataset, batch_size=2, num_workers=2, **options):
    loader = DataLoader(dataset, batch_size=batch_size, num_workers=num_workers, **options)
    return [b.tolist() for b in loader]


IN_ORDER = [[i, i + 1] for i in range(0, 20, 2)]


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what, seconds):
    late = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < late
        time.sleep(0.02)


def pids_of(iterator):
    return iterator._batches.pids


# -- what they do ----------------------------------------------------------------------------------


def test_they_are_processes():
    class Pids(Rows):
        def __getitem__(self, i):
            return os.getpid(), get_worker_info().id, get_worker_info().num_workers

    rows = [tuple(map(int, batch)) for batch in DataLoader(Pids(), num_workers=2)]
    assert len({pid for pid, *_ in rows}) == 2
    assert os.getpid() not in {pid for pid, *_ in rows}
    assert [place for _, place, _ in rows] == [0, 1] * 10
    assert {count for *_, count in rows} == {2}


def test_the_order_is_that_of_the_jobs_unless_told():
    def late():
        time.sleep(0.3)

    assert loaded(Rows(late)) == IN_ORDER
    found = loaded(Rows(late), in_order=False)
    assert found != IN_ORDER
    assert sorted(found) == IN_ORDER


def test_persistent_workers_begin_again_after_a_loop_that_was_left():
    class Pids(Rows):
        def __getitem__(self, i):
            return i, os.getpid()

    loader = DataLoader(Pids(), num_workers=2, persistent_workers=True, prefetch_factor=3)
    first = iter(loader)
    seen = {int(next(first)[1]) for _ in range(3)}
    assert iter(loader) is first
    rows = list(loader)
    assert [int(i) for i, _ in rows] == list(range(20))
    assert {int(pid) for _, pid in rows} == seen == set(pids_of(first))


def test_a_batch_is_loaded_without_a_backend():
    class Backends(Rows):
        def __getitem__(self, i):
            made = torch.from_numpy(np.full((3, 64, 64), i, np.float32))
            return made, torch.tensor([i]), np.ones(3), i, 0.5, len(xla_bridge._backends)

    for batch in DataLoader(Backends(), batch_size=4, num_workers=1):
        assert batch[0].shape == (4, 3, 64, 64)
        assert batch[-1].tolist() == [0] * 4


def test_batches_may_be_kept_and_written():
    class Images(Rows):
        def __getitem__(self, i):
            return torch.from_numpy(np.full((3, 40, 40), i, np.float32)), np.full(5000, i)

    kept, passing = [], []
    for images, numbers in DataLoader(Images(), batch_size=2, num_workers=2):
        images.mul_(2)
        kept.append((images, numbers))
    for i, (images, numbers) in enumerate(kept):
        expected = np.repeat([2 * i, 2 * i + 1], 4800).reshape(2, 3, 40, 40)
        np.testing.assert_array_equal(images.numpy(), 2 * expected)
        np.testing.assert_array_equal(numbers.numpy(), expected[:, 0, 0, :1].repeat(5000, 1))
    iterator = iter(DataLoader(Images(), batch_size=2, num_workers=1, prefetch_factor=1))
    for images, _ in iterator:  # memory is used again once nobody refers to it
        passing.append(images.double().mean().item())
        del images
    assert passing == [2 * i + 0.5 for i in range(10)]
    assert len(iterator._batches._workers[0].received._blocks) <= 6


def test_views_of_much_memory_go_without_the_rest():
    big = torch.arange(300_000.0).reshape(300, 1000)

    class Views(Rows):
        def __getitem__(self, i):
            return big[i]

    def together(rows):
        pair = torch.zeros(100_000)
        return rows, pair[:10], pair[10:20], pair

    batches = list(DataLoader(Views(), batch_size=None, num_workers=1))
    assert all(torch.equal(b, big[i]) for i, b in enumerate(batches))
    assert batches[3].untyped_storage().nbytes() == 4000
    _, left, right, whole = next(iter(DataLoader([0], num_workers=1, collate_fn=together)))
    whole.fill_(3)  # those that share memory share it still
    assert left.tolist() == right.tolist() == [3.0] * 10


@pytest.mark.exhaustive
def test_a_shared_tensor_is_seen_on_both_sides():
    counts = torch.zeros(20, dtype=torch.int64).share_memory_()

    class Counting(Rows):
        def __getitem__(self, i):
            counts[i] += i
            return i

    assert loaded(Counting()) == IN_ORDER
    assert counts.tolist() == list(range(20))


class Counted(Dataset):
    def __init__(self, seen):
        self.seen = seen

    def __len__(self):
        return 3

    def __getitem__(self, i):
        self.seen.append(i)
        return i


def test_a_manager_of_the_dataset_knows_the_workers():
    # Not forked: JAX warns of a fork among its threads.
    with multiprocessing.get_context("spawn").Manager() as manager:
        seen = manager.list()
        assert [b.item() for b in DataLoader(Counted(seen), num_workers=1)] == [0, 1, 2]
        assert list(seen) == [0, 1, 2]


def test_other_memory_of_the_dataset_is_each_workers_own():
    class Counting(Rows):
        def __init__(self):
            self.counts = torch.zeros(50_000)
            self.array = np.zeros(50_000)

        def __getitem__(self, i):
            self.counts[0] += 1
            self.array[0] += 1
            return self.counts[0].item() + self.array[0]

    dataset = Counting()
    found = [b.item() for b in DataLoader(dataset, num_workers=2)]
    assert found == [2.0 * (1 + i // 2) for i in range(20)]
    assert dataset.counts[0] == dataset.array[0] == 0


def test_kinds_of_batches_that_only_the_script_knows():
    class Batch:
        def __init__(self, rows):
            self.rows = rows

    def collate(rows):
        return Batch(rows)

    found = list(DataLoader(Rows(), batch_size=10, num_workers=1, collate_fn=collate))
    assert all(type(batch) is Batch for batch in found)
    assert [batch.rows for batch in found] == [list(range(10)), list(range(10, 20))]


def test_state_that_workers_take_over(tmp_path, monkeypatch):
    monkeypatch.setenv("SAID_TO_WORKERS", "yes")
    monkeypatch.chdir(tmp_path)

    class State(Rows):
        def __getitem__(self, i):
            return os.environ["SAID_TO_WORKERS"], os.getcwd(), torch.ones(1).dtype, sys.argv

    torch.set_default_dtype(torch.float64)
    try:
        said = next(iter(DataLoader(State(), batch_size=None, num_workers=1)))
    finally:
        torch.set_default_dtype(torch.float32)
    assert said == ["yes", str(tmp_path), torch.float64, sys.argv]


def test_many_jobs_ahead_wait_for_nobody():
    class Texts(Rows):
        def __len__(self):
            return 400

        def __getitem__(self, i):
            return "x" * 8000

    loader = DataLoader(Texts(), batch_size=1, num_workers=2, prefetch_factor=200)
    assert sum(len(batch[0]) for batch in loader) == 400 * 8000


# -- how they fail ---------------------------------------------------------------------------------


def fail():
    raise KeyError("five")


class Wrong(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)


def fail_with_two_words():
    raise Wrong(3, "words")


def test_an_error_has_the_workers_traceback():
    words = (
        r"(?s)^Caught KeyError in DataLoader worker process 0\.\n"
        r"Original Traceback \(most recent call last\):\n.*line \d+, in fail\n.*KeyError: 'five'"
    )
    with pytest.raises(KeyError, match=words):
        loaded(Rows(fail))
    with pytest.raises(RuntimeError, match=r"Caught Wrong in DataLoader worker process 0\."):
        loaded(Rows(fail_with_two_words))
    with pytest.raises(ZeroDivisionError, match=r"Caught ZeroDivisionError in DataLoader worker"):
        loaded(Rows(), worker_init_fn=lambda place: 1 // 0)
    with pytest.raises(TypeError, match="found <class 'object'>"):
        loaded([object()] * 4)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by signal: Killed"),
        (lambda: sys.exit(3), "with exit code 3"),
    ],
)
def test_a_worker_that_ends_is_told(end, how):
    batches = iter(DataLoader(Rows(end), num_workers=2))
    began = time.monotonic()
    words = rf"DataLoader worker \(pid\(s\) {pids_of(batches)[1]}\) exited unexpectedly \({how}\)"
    with pytest.raises(RuntimeError, match=words):
        list(batches)
    assert time.monotonic() - began < 5
    with pytest.raises(RuntimeError, match=words):
        next(batches)


def test_persistent_workers_that_have_ended_are_replaced():
    loader = DataLoader(Rows(), batch_size=2, num_workers=2, persistent_workers=True)
    batches = iter(loader)
    os.kill(pids_of(batches)[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(batches)
    assert [b.tolist() for b in loader] == IN_ORDER


def test_waiting_has_an_end():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        loaded(Rows(lambda: time.sleep(60)), timeout=0.3)


def test_a_batch_that_cannot_be_pickled_is_an_error():
    def collate(rows):
        return (i for i in rows)

    with pytest.raises(TypeError, match=r"(?s)Caught TypeError.*cannot pickle 'generator' object"):
        list(DataLoader(Rows(), num_workers=1, collate_fn=collate))


def test_a_dataset_that_cannot_be_pickled_is_loaded_by_threads():
    with open(__file__) as file:
        rows = Rows()
        rows.file = file
        for context in (None, "fork"):
            with pytest.warns(RuntimeWarning, match="workers are threads.*TextIOWrapper"):
                assert loaded(rows, multiprocessing_context=context) == IN_ORDER
        assert loaded(rows, multiprocessing_context="thread") == IN_ORDER
        for context in ("spawn", torch.multiprocessing.get_context("spawn")):
            with pytest.raises(TypeError, match=r"cannot pickle '_io\.TextIOWrapper' object"):
                loaded(rows, multiprocessing_context=context)


@pytest.mark.exhaustive
def test_a_server_that_was_killed_is_started_again():
    assert loaded(Rows()) == IN_ORDER
    workers = iter(DataLoader(Rows(lambda: time.sleep(60)), num_workers=2))
    with open(f"/proc/{pids_of(workers)[0]}/stat") as stat:
        parent = int(stat.read().rpartition(")")[2].split()[1])
    assert parent != os.getpid()
    os.kill(parent, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(workers)
    assert loaded(Rows()) == IN_ORDER


@pytest.mark.exhaustive
def test_a_module_that_computes_when_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "computes_at_import.py").write_text(
        "import torchlike as torch, jax\njax.devices()\n"
        "class Rows:\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i): return (torch.ones(200, 200) @ torch.ones(200, 200))[0, i]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import computes_at_import

    for _ in range(2):
        assert loaded(computes_at_import.Rows()) == [[200, 200], [200, 200]]
    assert "computes_at_import" in worker_pool._spoiling


# -- that nothing is left --------------------------------------------------------------------------


def interrupted(times):
    pids = []
    for i in range(times):
        batches = iter(DataLoader(Rows(), num_workers=2, persistent_workers=bool(i % 2)))
        next(batches)
        pids += pids_of(batches)
        del batches
    wait_for(lambda: not any(map(is_there, pids)), 10)


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("times", [4, pytest.param(100, marks=pytest.mark.full)])
def test_loops_that_are_left_leave_nothing(times):
    interrupted(1)
    before = open_files()
    interrupted(times)
    assert open_files() == before


class Endless(IterableDataset):
    def __iter__(self):
        while True:
            yield 1


@pytest.mark.exhaustive
def test_a_worker_that_does_not_listen_is_killed(monkeypatch):
    batches = iter(DataLoader(Rows(lambda: time.sleep(60)), num_workers=1, prefetch_factor=6))
    next(batches)
    (pid,) = pids_of(batches)
    time.sleep(0.1)
    del batches
    assert is_there(pid)
    wait_for(lambda: not is_there(pid), 10)


SCRIPT = """
    import os, sys, time
    import numpy as np
    import {torch} as torch
    from {torch}.utils.data import DataLoader, Dataset

    FACTOR = 10
    if "computed" in sys.argv:
        (torch.ones(300, 300) @ torch.ones(300, 300)).sum().item()

    def scaled(i):
        return torch.tensor(i) * FACTOR

    class Rows(Dataset):
        def __len__(self): return 8
        def __getitem__(self, i):
            if i == 5 and "waits" in sys.argv:
                time.sleep(60)
            return scaled(i), np.ones(30_000)

    batches = iter(DataLoader(Rows(), batch_size=2, num_workers=2))
    print(*batches._batches.pids, flush=True)
    for numbers, _ in batches:
        print(numbers.tolist(), flush=True)
"""


@contextlib.contextmanager
def running(tmp_path, *words, command=(), name="torchlike", **options):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.replace("{torch}", name)))
    program = subprocess.Popen(
        [sys.executable, *command, str(script), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    with program:
        try:
            yield program
        finally:
            program.kill()


WHOLE = "".join(f"[{10 * i}, {10 * i + 10}]\n" for i in range(0, 8, 2))


@pytest.mark.exhaustive
@pytest.mark.parametrize("computed", [False, True])
def test_a_script_without_a_guard(computed, tmp_path):
    with running(tmp_path, *["computed"] * computed) as program:
        out, err = program.communicate(timeout=60)
    assert out.partition("\n")[2] == WHOLE, err
    assert err == ""


@pytest.mark.exhaustive
def test_under_the_launcher_torch_is_torchlike_in_workers(tmp_path):
    command = ["-m", "torchlike", "run"]
    with running(tmp_path, "computed", command=command, name="torch") as program:
        out, err = program.communicate(timeout=60)
    assert out.partition("\n")[2] == WHOLE, err


def left_behind(tmp_path, *words, send):
    """Whether workers and their server end within 10 s of what is sent to their user."""
    with running(tmp_path, "waits", *words, start_new_session=True) as program:
        pids = [int(pid) for pid in program.stdout.readline().split()]
        assert program.stdout.readline() == "[0, 10]\n"
        with open(f"/proc/{pids[0]}/stat") as stat:
            pids.append(int(stat.read().rpartition(")")[2].split()[1]))
        assert all(map(is_there, pids))
        send(program)
        errors = program.stderr.read()
    wait_for(lambda: not any(map(is_there, pids)), 10)
    return errors


TIMES = [1, pytest.param(10, marks=pytest.mark.full)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("words", [(), ("computed",)])
def test_workers_of_a_killed_process_end(words, times, tmp_path):
    for _ in range(times):
        left_behind(tmp_path, *words, send=lambda program: program.kill())


@pytest.mark.exhaustive
def test_control_c(tmp_path):
    with interruptions.heard():
        errors = left_behind(tmp_path, send=lambda program: os.killpg(program.pid, signal.SIGINT))
    assert errors.count("Traceback") == 1
    assert errors.endswith("KeyboardInterrupt\n")


IGNORING = """
    import os, signal, subprocess, sys
    from torchlike.utils.data import DataLoader, Dataset

    SHOWS = "import signal; print(signal.getsignal(signal.SIGINT).name)"

    class Rows(Dataset):
        def __len__(self): return 8
        def __getitem__(self, i):
            if i == 5:
                os.killpg(0, signal.SIGINT)
            command = [sys.executable, "-S", "-c", SHOWS]
            started = subprocess.run(command, capture_output=True, text=True)
            return i, signal.getsignal(signal.SIGINT).name, started.stdout.strip()

    for numbers, *names in DataLoader(Rows(), batch_size=4, num_workers=1):
        print(numbers.tolist(), *names)
"""


@pytest.mark.exhaustive
def test_where_the_signal_is_ignored_workers_and_what_they_start_ignore_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(IGNORING))
    with interruptions.ignored():
        ended = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, start_new_session=True
        )
    all_four = "('SIG_IGN', 'SIG_IGN', 'SIG_IGN', 'SIG_IGN')"
    expected = "".join(f"{n} {all_four} {all_four}\n" for n in ([0, 1, 2, 3], [4, 5, 6, 7]))
    assert (ended.returncode, ended.stdout.replace("['", "('").replace("']", "')")) == (
        0,
        expected,
    ), ended.stderr


def test_a_loader_pickled_with_its_threads_before_they_had_this_name():
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(4)),
        batch_size=2,
        num_workers=1,
        multiprocessing_context="thread",
        persistent_workers=True,
    )
    assert len(list(loader)) == 2
    text = (
        pickle.dumps(loader, 0).replace(b"_thread_pool", b"_crew").replace(b"ThreadPool", b"Crew")
    )
    assert b"Crew" in text
    assert [x.tolist() for (x,) in pickle.loads(text)] == [[0, 1], [2, 3]]
