"""What is recorded, what is run, and how often something is compiled."""

import gc
import sys
import threading
import warnings
import weakref

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike._core import modes
from torchlike._core.dispatch.executable import Executable
from torchlike._extensions.deferred import account, calls, pieces, policy, prices, switch
from torchlike._extensions.deferred.queue import Queue
from torchlike._extensions.deferred.value import Deferred
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import statistics
from torchlike._runtime.first_calls.settings import settings
from torchlike.tensor import wrap


def pending(t):
    cell = t._storage.cell
    return type(cell) is Deferred and cell.array is None


def nodes():
    """Return how many calls the tree knows."""
    todo, count = [policy.root()], 0
    while todo:
        node = todo.pop()
        todo += node.edges.values()
        count += 1
    return count


def programs():
    """Return the programs that were compiled."""
    todo, found = [policy.root()], []
    while todo:
        node = todo.pop()
        todo += node.edges.values()
        found += [p for p in node.pieces.values() if p._program is not None]
    return found


def test_shapes_are_known_before_values(deferring):
    x = torch.ones(2, 3)
    y = (x @ x.t()).sum(0, dtype=torch.float64)
    assert pending(y)
    assert (y.shape, y.dtype, y.device.type) == ((2,), torch.float64, "cpu")
    assert (y.stride(), y.is_contiguous(), y.numel(), y.requires_grad) == ((1,), True, 2, False)
    assert pending(y)
    assert y.tolist() == [6, 6]
    assert not pending(y)


def test_a_flush_leaves_no_deferred_value_in_a_cell(deferring):
    t = torch.ones(3) * 2
    other, view = t.detach(), t[1:]
    t.add_(1)
    modes.current.queue.flush("test")
    for held in (t, other, view):
        assert type(held._storage.cell) is not Deferred
    assert view.tolist() == [3, 3]


def test_the_same_calls_are_looked_up(compiling):
    def step(x, k):
        return ((x * k).tanh() + 1).sum().item()

    x = torch.ones(3)
    first = step(x, 2.0)
    known, compiled = nodes(), len(programs())
    assert step(x, 2.0) == first
    # Numbers are inputs, and so is another tensor.
    assert step(x, 3.0) > first
    assert step(x * 1, 2.0) == first
    assert nodes() - known <= 5  # the product by one, in front of the same calls
    assert len(programs()) - compiled <= 1
    for k in range(10):
        step(x, float(k))
    assert len(programs()) - compiled <= 1


def train(steps, deferred):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, eps=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    losses = []
    with torch.deferred(deferred):
        for _ in range(steps):
            x, y = torch.randn(6, 4), torch.randint(2, (6,))
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    return losses, len(programs())


def test_learning_rates_and_draws_are_inputs(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.AtOnce())
    expected, _ = train(8, False)
    found, few = train(3, True)
    np.testing.assert_allclose(found, expected[:3], rtol=1e-5)
    found, more = train(8, True)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert more == few


def test_what_nobody_can_reach_is_no_result(compiling):
    x = torch.ones(4)
    a = x * 2
    b = a + 1
    c = b * b
    del a, b
    gc.collect()
    assert c.tolist() == [9, 9, 9, 9]
    (piece,) = programs()
    assert len(piece._alive) == 1


def test_what_nobody_uses_is_computed_all_the_same(compiling):
    x = torch.ones(4)
    x * 5  # as a script does that measures how long that takes
    torch.cpu.synchronize()
    (piece,) = programs()
    assert (len(piece._calls), piece._n_alive) == (1, 0)


def test_a_dead_input_gives_its_memory(compiling):
    t = torch.ones(300, 300) + 0
    compiling.flush("test")
    for _ in range(3):
        array = weakref.ref(t.jax())
        t = t * 2
        compiling.flush("test")
        assert array() is None or array().is_deleted()
    held = t.jax()
    t = t + 1
    other = t * 2
    assert other[0, 0].item() == 18
    assert float(held[0, 0]) == 8


def test_an_input_that_somebody_holds_this_time_is_left_alone(compiling):
    held = []
    t = torch.ones(64, 64) + 0
    compiling.flush("test")
    for i in range(4):
        if i == 2:
            held.append(t.jax())
        t.mul_(2)
        compiling.flush("test")
    assert float(held[0][0, 0]) == 4
    assert t[0, 0].item() == 16


def test_tensors_go_when_they_would(deferring):
    t = torch.ones(3) * 2
    gone = weakref.ref(t)
    u = t + 1
    del t
    assert gone() is None
    assert u.tolist() == [3, 3, 3]


def test_long_chains_are_cut(deferring, monkeypatch):
    monkeypatch.setattr(calls, "MOST_CALLS", 10)
    x = torch.ones(2)
    for _ in range(25):
        x = x + 1
    assert pending(x)
    assert modes.current.queue._path[-1].depth == 5
    assert x.tolist() == [26, 26]


def test_small_values_leave_the_chain_alone(deferring):
    order = torch.arange(50)
    x = torch.zeros(2)
    for _ in range(20):
        x = x + 1
    picked = [int((order + 1)[i]) for i in range(20)]
    assert picked == list(range(1, 21))
    assert pending(x)
    assert x.tolist() == [20, 20]


def test_an_error_comes_at_its_line(deferring):
    x = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied \(2x3 and 2x3\)"):
        x @ x
    with pytest.raises(RuntimeError, match="must match the size"):
        x + torch.ones(4)
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.embedding(x, torch.tensor([2]))
    with pytest.raises(IndexError, match="index out of range in self"):  # of what is computed
        torch.embedding(x, torch.tensor([1]) + 1)
    y = x * 2
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch.ones(2, requires_grad=True).add_(1)
    assert y.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_a_call_that_fails_when_it_runs(deferring):
    def fails(x):
        raise ValueError("no such row")

    result = jax.ShapeDtypeStruct((2,), np.float32)
    exe = Executable("Fails", lambda x: jax.pure_callback(fails, result, x), 0, 1)
    y = wrap(modes.current.queue.record_op(exe, [torch.ones(2)._read()])) + 1
    for _ in range(2):
        with pytest.raises(Exception, match="no such row"):
            y.tolist()
    assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_a_program_that_fails_is_run_one_by_one(compiling, monkeypatch):
    def fails(piece, inputs):
        def program(*inputs):
            raise RuntimeError("RESOURCE_EXHAUSTED")

        return program

    monkeypatch.setattr(pieces.DeferredPiece, "jitted", fails)
    for _ in range(2):
        assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_the_line_of_a_call_that_fails_when_it_runs(compiling, monkeypatch):
    kept = torch.ones(2) + 1
    line = f"test_recording.py:{sys._getframe().f_lineno - 1}"

    def fails(*args):
        raise RuntimeError("RESOURCE_EXHAUSTED")

    monkeypatch.setattr(first_calls.FirstCalls, "run", fails)
    monkeypatch.setattr(pieces.DeferredPiece, "jitted", fails)
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED") as caught:
        kept.tolist()
    assert any(f"AddBackward0 was called at {line}" in note for note in caught.value.__notes__)


def test_an_interrupted_flush_leaves_no_wrong_values(deferring, monkeypatch):
    kept = torch.ones(2) + 1
    with monkeypatch.context() as patch:
        patch.setattr(pieces.DeferredPiece, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept.tolist()
    other = torch.ones(2) * 5
    with pytest.raises(RuntimeError, match="interrupted"):
        (kept + other).tolist()
    assert (other + 1).tolist() == [6, 6]


def interrupted(*args):
    raise KeyboardInterrupt


def test_checks_ask_for_what_they_read_alone(deferring):
    scores = torch.ones(4, 3) * 2
    loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(np.array([0, 1, 2, 0])))
    assert pending(scores)
    assert loss.item() == pytest.approx(np.log(3))


def test_a_computed_index_is_checked_without_a_cut(deferring):
    table = torch.ones(5, 3) * 2
    picked = torch.embedding(table, torch.arange(4) + 0)
    assert pending(table)
    assert pending(picked)
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.embedding(table, torch.arange(4) + 2)
    assert pending(picked)
    assert picked.sum().item() == 24


def test_what_is_known_of_calls_goes_with_their_tree(deferring, monkeypatch):
    monkeypatch.setattr(policy, "_MOST_NODES", 3)
    calls.known.forget()
    for n in range(1, 30):
        assert (torch.ones(n) * 2 + 1).sum().item() == 3 * n
    assert len(calls.known._calls) < 12


def test_lines_that_cut_are_counted(compiling):
    statistics.cuts.clear()
    for _ in range(3):
        (torch.ones(2) + 1).sum().item()
    ((cause, file, _), times) = torch.compiler.report().cuts[0]
    assert (cause, times) == ("a value is read", 3)
    assert file == __file__
    text = str(torch.compiler.report())
    assert "(torch.ones(2) + 1).sum().item()" in text
    assert "read it every 50th step" in text


def test_pieces_are_reported(compiling):
    statistics.compiled_pieces.clear()
    for _ in range(3):
        (torch.ones(2) + 1).sum().item()
    (piece,) = torch.compiler.report().pieces
    assert piece.operations == ("AddBackward0", "SumBackward0")
    assert (piece.runs, piece.as_program) == (3, 3)
    assert "became a program" in str(torch.compiler.report())


# -- rent or buy -----------------------------------------------------------------------------------


def runs_until_compiled(n, size=4):
    """Return after how many runs of a chain its program is used."""
    x, before = torch.ones(size), len(programs())
    for i in range(n):
        y = x
        for _ in range(20):
            y = y * 1.01 + 0.5
        y = y.sum()
        modes.current.queue.flush("test")
        if len(programs()) > before:
            return i
    return n


def test_a_program_comes_after_as_many_runs_as_estimated(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 200.0)
    monkeypatch.setattr(prices, "COMPILING_RESULT", 10.0)
    monkeypatch.setattr(prices, "EVALUATED", 100.0)
    monkeypatch.setattr(prices, "_COMPILING_UNKNOWN", 10.0)
    monkeypatch.setattr(account, "_SHARE", 1.0)
    counts = []
    for _ in range(2):  # alike each time, whatever the clock says
        policy._Tree.root = calls.DeferredCall(None, None, None, (), None)
        monkeypatch.setattr(calls.known, "_calls", {})
        monkeypatch.setattr(policy, "current", policy.Policy())  # whose queue has heard nothing
        with torch.deferred(True):
            counts.append(runs_until_compiled(400))
    assert counts[0] == counts[1]
    assert 50 < counts[0] < 400


def test_a_chain_of_many_sizes_has_few_programs(monkeypatch, caplog):
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 200.0)
    monkeypatch.setattr(prices, "COMPILING_RESULT", 10.0)
    monkeypatch.setattr(account, "_SHARE", 1.0)
    monkeypatch.setattr(account, "_PATIENCE", 0.01)
    statistics.compiled_pieces.clear()
    with torch.deferred(True):
        for size in (200, 300, 400, 500, 600):
            runs_until_compiled(40, size)
    assert len(statistics.compiled_pieces) == policy.MOST_ALIKE
    (said,) = [r.getMessage() for r in caplog.records]
    assert "test_recording.py:" in said
    assert "pad to a few sizes" in said


def test_a_form_that_is_due_waits_for_its_piece(monkeypatch):
    with torch.deferred(True):
        pass  # from now on forms ask
    form = first_calls.jit(lambda x: x * 3.0 + 1, name="waits")
    x = torch.ones(300, 300).jax()
    form(x)
    (program,) = form.by_numpy.__self__._programs.values()
    program.calls_left = 0
    with monkeypatch.context() as patch:
        patch.setattr(first_calls.put_off, "function", lambda program: True)
        for _ in range(3):
            form(x)
    assert (program.calls, program.can_wait) == (4, True)
    form(x)
    assert (program.calls, program.can_wait) == (4, False)


def test_an_optimizer_that_runs_one_by_one_writes_in_place(monkeypatch):
    compiled = []
    forms = first_calls.FirstCalls
    compile_, build = forms._compile, forms._build_program

    def compiles(form, program, args):
        compiled.append((form.name, *form.options))
        return compile_(form, program, args)

    def builds(form, *args):
        program = build(form, *args)
        if form.name == "optimizer step":  # due after two steps
            program.calls_left, program.stays = 2, False
        return program

    monkeypatch.setattr(forms, "_compile", compiles)
    monkeypatch.setattr(forms, "_build_program", builds)
    monkeypatch.setattr(policy, "current", policy.OneByOne())
    train(5, True)
    assert set(compiled) == {("optimizer step", "donate_argnums")}  # as at once


def test_one_operation_is_never_compiled(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 1.0)
    a = torch.ones(600, 600)
    with torch.deferred(True):
        for _ in range(50):
            b = a @ a
            modes.current.queue.flush("test")
    assert b[0, 0].item() == 600
    assert not programs()


def recording():
    return modes.current.watcher is modes.current.queue


def test_a_script_that_never_recurs_is_not_recorded(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 1.0)
    with torch.deferred(True):
        for n in range(2, 60):
            x = torch.ones(n)
            for _ in range(3):
                x = x + 1
            assert x.sum().item() == 4 * n
            assert not recording()
    assert nodes() == 1


def test_what_recurs_in_vain_is_recorded_ever_more_seldom(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.Policy())
    monkeypatch.setattr(prices, "COMPILING", 5e3)
    x, recorded = torch.ones(4), []
    with torch.deferred(True):
        for i in range(20_000):
            (x + 1).sum().item()  # no program of two calls is worth it
            if recording():
                recorded.append(i)
    assert 0 < len(recorded) < 500
    assert len([i for i in recorded if i > 10_000]) < len(recorded) / 2
    assert not programs()


def test_nothing_is_warned_of(compiling):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert train(2, True)[0]


def test_nodes_around_no_array_and_symbols_for_sizes_are_not_heard(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.Policy())
    dynamic = ({0: torch.export.Dim("n")},)
    with torch.deferred(True):
        listener = modes.current.watcher
        node = jax.tree.map(lambda array: "label", torch.ones(2))
        assert node.jax() == "label"
        exported = torch.export.export(
            torch.nn.Tanh(), (torch.zeros(4, 6),), dynamic_shapes=dynamic
        )
        listener._hear()
    assert all(type(n) is int for shape in listener._shapes for n in shape)
    assert exported.module()(torch.zeros(9, 6)).shape == (9, 6)


def test_a_program_is_used_once_the_estimated_time_has_passed(monkeypatch):
    """Of what is heard while it is waited for not all is known; the price of the rest is."""
    spent = account.Account()
    spent.compare(prices.Price(30.0, 15.0, 0.0), prices.Price(10.0, 5.0, 0.0))
    spent.take(100.0)
    runs = 0
    while spent.waits:
        spent.heard(10.0, 0.0)
        runs += 1
    assert runs == 1  # 0.3 * 100 / 30


def test_forms_wait_until_a_program_that_was_bought_has_had_its_turn(monkeypatch):
    class Program:
        calls, calls_left = 100, -1000  # long overdue

    monkeypatch.setattr(policy, "current", policy.Policy())
    with torch.deferred(True):
        queue = modes.current.queue
        assert not queue.puts_off(Program)
        queue._account.take(100.0)
        assert queue.puts_off(Program)
        queue._account.clock = queue._account.ready
        assert queue.puts_off(Program)
        queue._begin_to_record()
        for _ in range(20):
            assert (torch.ones(2) + 1).sum().item() == 4
        assert not queue.puts_off(Program)


def test_a_thread_that_has_ended_records_no_more():
    gc.collect()
    before = settings.recording
    made = Queue(policy.AtOnce())
    assert settings.recording == before + 1
    del made
    gc.collect()
    assert settings.recording == before


def test_a_new_thread_may_record_from_its_first_call_on(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.AtOnce())
    monkeypatch.setattr(modes.queue_of_thread, "function", lambda: switch._made(policy.current))
    found = []
    thread = threading.Thread(target=lambda: found.append(pending(torch.ones(2) + 1)))
    thread.start()
    thread.join()
    assert found == [True]


def test_results_take_the_memory_of_what_they_replace(compiling, monkeypatch):
    made, jitted = [], pieces.DeferredPiece.jitted

    def noted(piece, inputs, **options):
        program = jitted(piece, inputs, **options)
        made.append((piece, program, [np.array(x) for x in inputs]))
        return program

    monkeypatch.setattr(pieces.DeferredPiece, "jitted", noted)
    first, second = [
        torch.nn.Parameter(wrap(jax.device_put(np.full(4, x, np.float32)))) for x in (0, 9)
    ]
    optimizer = torch.optim.SGD([first, second], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (second * 2 + first).sum().backward()  # the one that is updated last is met first
        optimizer.step()
    np.testing.assert_allclose(first.tolist(), [-0.3] * 4, rtol=1e-6)
    np.testing.assert_allclose(second.tolist(), [8.4] * 4, rtol=1e-6)
    piece, program, inputs = made[-1]
    before = [inputs[i] for i in sorted(piece._donated)]
    after = program(*inputs)[: len(before)]  # JAX pairs them in this order
    assert [float(x[0]) for x in before] == [9.0, 0.0]
    assert [float(x[0]) for x in after] == pytest.approx([8.8, -0.1])
