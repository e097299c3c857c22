"""Which loop of a script makes its training steps, and what of its body is a step."""

import ast
import sys
import textwrap

import pytest

from torchlike.porting.plan import logging_lines, loops, modules
from torchlike.porting.plan.reach import Reach


class Recorder:
    """Anything that a script calls, by name."""

    def __init__(self, told):
        self._told = told

    def __getattr__(self, name):
        return lambda *args: self._told.append(name)


class Took(Exception):
    """A plan ends the script at its first step."""


def run(tmp_path, text, take=None, **names):
    """Run a script; ``take(step, *batch)`` is given its steps. Returns the module and what was
    called."""
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(text))
    told = []
    main = type(sys)("main")
    main.__dict__.update(loss=Recorder(told), optimizer=Recorder(told), **names)
    code = compile(script.read_text(), str(script), "exec")
    prepare = loops.planning_loops(take or (lambda step, *batch: step(*batch)))
    with modules.prepared(prepare):
        exec(prepare(code, main), main.__dict__)
    return main, told


def planned(tmp_path, text, **names):
    """The batch of a script's first step."""
    found = []

    def take(step, *batch):
        found.append(batch)
        step(*batch)
        raise Took

    with pytest.raises(Took):
        run(tmp_path, text, take, **names)
    return found[0]


def test_a_loop_becomes_a_function(tmp_path):
    main, told = run(
        tmp_path,
        """
        total = 0
        def run(items):
            count = 0
            for x in items:
                if x < 0:
                    break
                count += x
                loss.backward()
                optimizer.step()
            return count
    """,
    )
    assert main.run([1, 2, -1, 4]) == 7
    assert told == ["backward", "step"] * 3


def test_a_loop_that_calls_a_function(tmp_path):
    batch = planned(
        tmp_path,
        """
        def train_step(x):
            loss.backward()
            finish()
        def finish():
            optimizer.step()
        for epoch in range(2):
            for x in [3, 4]:
                train_step(x)
            scheduler.step()
    """,
    )
    assert batch == (3,)


@pytest.mark.parametrize("made", ["compile(train_step, fullgraph=True)", "Step(train_step)"])
def test_a_loop_that_calls_what_was_made_of_a_function(tmp_path, made):
    batch = planned(
        tmp_path,
        f"""
        def train_step(x):
            loss.backward()
            optimizer.step()
        fast = {made}
        for x in [3]:
            fast(x)
    """,
        compile=lambda f, fullgraph: f,
        Step=lambda f: f,
    )
    assert batch == (3,)


def test_a_loop_within_a_function_of_a_loop(tmp_path):
    batch = planned(
        tmp_path,
        """
        class Trainer:
            def fit(self):
                for epoch in range(3):
                    self.epoch(epoch)
            def epoch(self, epoch):
                for i, (x, y) in enumerate([(5, 6)]):
                    self.step(x, y)
            def step(self, x, y):
                loss.backward()
                optimizer.step()
        Trainer().fit()
    """,
    )
    assert batch == (0, 5, 6)


def test_gradients_of_several_parts_are_one_step(tmp_path):
    _, told = run(
        tmp_path,
        """
        for x in [1]:
            for part in range(3):
                loss.backward()
            optimizer.step()
    """,
    )
    assert told == ["backward"] * 3 + ["step"]


def test_an_update_by_hand(tmp_path):
    class P:
        data = grad = 0

    batch = planned(
        tmp_path,
        """
        for epoch in range(2):
            for x in [8]:
                loss.backward()
                for p in parameters:
                    p.data -= 0.1 * p.grad
    """,
        parameters=[P()],
    )
    assert batch == (8,)
    done = Reach(ast.parse("p.data.add_(p.grad, alpha=-lr)"), "").of
    assert done(ast.parse("p.data.add_(p.grad, alpha=-lr)")) == {"update"}
    assert done(ast.parse("total += p.grad.norm(); p.grad.clamp_(-1, 1)")) == set()


def test_values_that_are_only_kept_or_shown_are_left_out(tmp_path):
    """Hold that what a step goes by stays, and what that is made of."""
    kept = """
        for x in [1]:
            last = norm.item()
            losses.append(last)
            total += loss.item()
            print(total)
            known = loss.item()
            scale = known / 2
            loss.backward(scale)
            if scale:
                shown = loss.item()
                optimizer.step()
    """
    step = logging_lines.left_out(ast.parse(textwrap.dedent(kept)).body[0].body)
    assert [ast.unparse(x).partition("(")[0] for x in step] == [
        *["pass"] * 4,
        "known = loss.item",
        "scale = known / 2",
        "loss.backward",
        "if scale:\n    pass\n    optimizer.step",
    ]


@pytest.mark.parametrize(
    ("text", "always"),
    [
        ("if i % 2 == 0:\n    optimizer.step()", False),
        ("if scaled:\n    scaler.step(optimizer)\nelse:\n    optimizer.step()", True),
        ("def finish():\n    if last:\n        optimizer.step()\nfinish()", False),
        ("for p in parameters:\n    p.data -= 0.1 * p.grad", True),
    ],
)
def test_updates_under_a_condition(text, always):
    tree = ast.parse(text)
    assert Reach(tree, "").always_updates(*tree.body) is always


def test_what_tells_of_steps_is_left_out(tmp_path):
    """Values are read after the update, and where an ``if`` prints."""
    _, told = run(
        tmp_path,
        """
        for i, x in enumerate([1]):
            if i % 10 == 0:
                print("evaluation", loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total = loss.item()
    """,
    )
    assert told == ["backward", "step", "zero_grad"]


def test_an_if_that_decides_something_stays(tmp_path):
    seen = []
    run(
        tmp_path,
        """
        for x in [1]:
            if x == 1:
                print("the first")
                rate = 2
            loss.backward()
            seen.append(rate)
            optimizer.step()
    """,
        seen=seen,
    )
    assert seen == [2]


def test_batches_are_fetched_before_the_step(tmp_path):
    text = """
        def get_batch(n):
            return n, n + 1
        def run():
            batches = iter([(1, 2)])
            while True:
                FETCH
                both = x + y
                loss.backward()
                optimizer.step()
        run()
    """
    assert planned(tmp_path, text.replace("FETCH", "x, y = get_batch(4)")) == (4, 5)
    assert planned(tmp_path, text.replace("FETCH", "x, y = next(batches)")) == (1, 2)


def test_batches_that_the_step_before_fetched(tmp_path):
    batch = planned(
        tmp_path,
        """
        def get_batch():
            return 1, 2
        x, y = get_batch()
        while True:
            loss.backward(x, y)
            x, y = get_batch()
            optimizer.step()
    """,
    )
    assert batch == (1, 2)


def test_an_iterator_that_begins_anew(tmp_path):
    batch = planned(
        tmp_path,
        """
        def run():
            data = iter([])
            while True:
                try:
                    batch = next(data)
                except StopIteration:
                    data = iter([7])
                    batch = next(data)
                loss.backward(batch)
                optimizer.step()
        run()
    """,
    )
    assert batch == (7,)


def test_names_that_are_global(tmp_path):
    main, _ = run(
        tmp_path,
        """
        steps = 0
        def run():
            global steps
            for x in [1, 2]:
                loss.backward()
                steps = steps + 1
                optimizer.step()
        run()
    """,
    )
    assert main.steps == 2


def test_loops_in_modules_beside_the_script(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "engine_beside.py").write_text(
        textwrap.dedent("""
        def train(loss, optimizer):
            for x in [9]:
                one(loss, optimizer)
        def one(loss, optimizer):
            loss.backward()
            optimizer.step()
    """)
    )
    (tmp_path / "steps_beside.py").write_text("from engine_beside import train\n")
    assert planned(
        tmp_path,
        """
        import steps_beside
        for epoch in range(2):
            steps_beside.train(loss, optimizer)
    """,
    ) == (9,)
    assert planned(
        tmp_path,
        """
        from engine_beside import one
        for x in [10]:
            one(loss, optimizer)
    """,
    ) == (10,)
    assert not any(type(x).__module__ == modules.__name__ for x in sys.meta_path)


@pytest.mark.parametrize(
    "text",
    [
        "for x in [1]:\n    loss.backward()\n",
        "for x in [1]:\n    scheduler.step()\n    evaluate()\n",
        "def evaluate():\n    pass\nfor x in [1]:\n    evaluate()\n    optimizer.step()\n",
    ],
)
def test_loops_without_steps_stay(tmp_path, text):
    def refuse(step, *batch):
        raise AssertionError

    run(tmp_path, text, refuse, scheduler=Recorder([]), evaluate=lambda: None)
