"""`torchlike.porting.recorder` with a framework of a few lines and a clock that can be set."""

import functools
import math
import threading

import pytest

from torchlike.porting.recorder import RecordedFramework, Recorder


class World:
    """Classes like PyTorch's, fresh for each test because recording changes them."""

    def __init__(self, compile_=lambda fn: fn):
        self.time = 100.0
        world = self

        class Tensor:
            def __init__(self, value, elements=1):
                self.value = value
                self.elements = elements

            def numel(self):
                return self.elements

            def detach(self):
                return self

            def backward(self, gradient=None):
                world.time += 0.25

        class Module:
            def __call__(self):
                world.time += 0.5
                return Tensor(1.0)

        class Optimizer:
            def __init__(self, parameters):
                self.parameters = parameters

            def step(self):
                raise NotImplementedError

        class SGD(Optimizer):
            def step(self):
                world.time += 0.25
                return "stepped"

        class Scaler:
            def scale(self, loss):
                return Tensor(None if loss.value is None else loss.value * 1024, loss.elements)

        class Loader:
            def __init__(self, batches):
                self.batches = iter(batches)

            def __iter__(self):
                world.time += 7.0
                return self

            def __next__(self):
                world.time += 5.0
                return next(self.batches)

        self.Tensor, self.Module, self.Optimizer, self.SGD = Tensor, Module, Optimizer, SGD
        self.Scaler, self.Loader, self.waited = Scaler, Loader, []
        self.compile = compile_
        self.reads = []
        self.recorder = Recorder(
            RecordedFramework(
                tensor=Tensor,
                module=Module,
                optimizer=Optimizer,
                compilers=((self, "compile"),),
                keep=lambda tensor: tensor.value,
                read=lambda value: self.reads.append(value) or value,
                wait=self.waited.append,
                scaler=Scaler,
                loading=((Loader, "__iter__"), (Loader, "__next__")),
            ),
            clock=lambda: self.time,
        )
        self.recorder.install()


@pytest.fixture
def world():
    return World()


def measured(world):
    result = world.recorder.result()
    return {name: result[name] for name in ("first_step", "steps", "losses")}


def train(world, losses, optimizer, model):
    for loss in losses:
        model()
        world.Tensor(loss).backward()
        optimizer.step()
        world.time += 1.0


def test_steps_are_timed_from_the_first_forward_and_between_optimizer_steps(world):
    optimizer, model = world.SGD([]), world.Module()
    world.time += 50
    train(world, [3.0, 2.0, 1.0], optimizer, model)
    assert measured(world) == {"first_step": 1.0, "steps": [2.0, 2.0], "losses": [3.0, 2.0, 1.0]}


def test_optimizer_steps_give_back_what_they_gave(world):
    assert world.SGD([]).step() == "stepped"


def test_script_without_optimizer_steps_at_backward(world):
    for loss in (3.0, 2.0):
        world.Tensor(loss).backward()
        world.time += 1.0
    assert measured(world) == {"first_step": 0.25, "steps": [1.25], "losses": [3.0, 2.0]}


def test_script_without_any_of_it(world):
    assert measured(world) == {"first_step": None, "steps": [], "losses": []}


def test_backward_on_more_than_one_element_is_no_loss(world):
    world.Tensor(3.0, elements=4).backward(gradient=1)
    assert world.recorder.result()["losses"] == []


def test_several_losses_to_a_step(world):
    optimizer = world.SGD([])
    for loss in (1.0, 2.0, 3.0, 4.0):
        world.Tensor(loss).backward()
        if loss in (2.0, 4.0):
            optimizer.step()
    world.Tensor(5.0).backward()  # of an update that does not come
    result = world.recorder.result()
    assert result["losses"] == [3.0, 7.0]  # each pass has its share of the gradient
    assert result["passes"] == 2
    assert len(result["steps"]) == 1


def test_accumulation_in_two_compiled_functions(world):
    optimizer = world.SGD([])

    @world.compile
    def accumulate(loss):
        world.Tensor(loss / 2).backward()
        return world.Tensor(loss)

    @world.compile
    def update():
        optimizer.step()
        return world.Tensor(100.0)  # a norm: no loss

    for loss in (1.0, 3.0, 5.0, 7.0):
        accumulate(loss)
        if loss in (3.0, 7.0):
            update()
    result = world.recorder.result()
    assert result["losses"] == [2.0, 6.0]  # returned whole: their mean
    assert result["whole_steps"] == []
    assert len(result["steps"]) == 1


def test_without_updates_each_backward_pass_has_its_loss(world):
    for loss in (1.0, 2.0):
        world.Tensor(loss).backward()
    result = world.recorder.result()
    assert result["losses"] == [1.0, 2.0]
    assert result["passes"] == 1


def test_optimizers_defined_by_the_script_and_wrapped_ones_count_once(world):
    class Own(world.SGD):
        def step(self):
            return super().step()

    class Wrapper(world.Optimizer):
        def __init__(self, inner):
            super().__init__([])
            self.inner = inner

        def step(self):
            self.inner.step()
            self.inner.step()

    Own([]).step()
    Wrapper(Own([])).step()
    Wrapper(world.SGD([])).step()
    assert len(world.recorder.step_ends) == 3


def test_step_that_raises_is_over(world):
    optimizer = world.Optimizer([])
    with pytest.raises(NotImplementedError):
        optimizer.step()
    world.SGD([]).step()
    assert len(world.recorder.step_ends) == 2


def test_losses_are_read_late_but_not_only_at_the_end(world):
    train(world, [5.0, 4.0, 3.0, 2.0], world.SGD([]), world.Module())
    assert world.reads == [5.0, 4.0]


def test_a_loss_that_is_not_a_number_stays_one(world):
    world.Tensor(math.nan).backward()
    assert math.isnan(world.recorder.result()["losses"][0])


def compiled_step(world):
    """A training step that runs its Python body once and is then replayed, as compiled code is."""
    optimizer, model = world.SGD([]), world.Module()
    calls = []

    def step(loss):
        world.time += 2.0
        if not calls:
            model()
            world.Tensor(None).backward()  # a value is not there yet
            optimizer.step()
        calls.append(loss)
        return world.Tensor(loss), world.Tensor(0.0, elements=9)

    return world.compile(step)


def test_compiled_step_counts_once_a_call(world):
    step = compiled_step(world)
    for loss in (3.0, 2.0, 1.0):
        step(loss)
    assert measured(world) == {"first_step": 3.0, "steps": [2.0, 2.0], "losses": [3.0, 2.0, 1.0]}


def test_the_same_step_uncompiled_is_recorded_alike(world):
    optimizer, model = world.SGD([]), world.Module()

    @world.compile
    def step(loss):
        model()
        loss = world.Tensor(loss)
        loss.backward()
        optimizer.step()
        return loss

    for loss in (3.0, 2.0, 1.0):
        step(loss)
    assert measured(world) == {"first_step": 1.0, "steps": [1.0, 1.0], "losses": [3.0, 2.0, 1.0]}


def test_compiled_function_without_a_step_is_no_step(world):
    forward = world.compile(lambda: world.Tensor(1.0))
    forward()
    forward()
    assert world.recorder.result()["losses"] == []
    assert world.recorder.step_ends == []


def test_compiled_function_keeps_name_attributes_and_binding(world):
    def forward(self, x):
        """What it does."""
        return (self, x)

    forward.compilations = 1
    compiled = world.compile(forward)
    assert compiled.__name__ == "forward"
    assert compiled.__doc__ == "What it does."
    assert compiled.compilations == 1

    class Holder:
        method = compiled

    holder = Holder()
    assert holder.method(3) == (holder, 3)


def test_compiled_module_stays_a_module(world):
    model = world.Module()
    assert world.compile(model) is model


@pytest.mark.parametrize("options", [{}, {"option": 3}])
def test_compile_as_a_decorator_with_parentheses(options):
    world = World(compile_=lambda fn=None, **options: fn or (lambda fn: fn))
    optimizer = world.SGD([])

    @world.compile(**options)
    def step():
        optimizer.step()
        optimizer.step()

    step()
    step()
    assert len(world.recorder.step_ends) == 2


def test_compile_by_keyword(world):
    def step(fn):
        return fn

    step = world.compile(fn=step)
    assert step(3) == 3


# --- data, scaled losses, what is compiled


def test_the_clock_stands_still_while_data_are_loaded(world):
    optimizer, model = world.SGD([]), world.Module()
    for loss in world.Loader([3.0, 2.0, 1.0]):
        train(world, [loss], optimizer, model)
    assert measured(world) == {"first_step": 1.0, "steps": [2.0, 2.0], "losses": [3.0, 2.0, 1.0]}
    assert world.recorder.result()["loaded"] == 7.0 + 4 * 5.0


def test_what_is_under_way_belongs_to_the_step_before_the_loading(world):
    optimizer = world.SGD([])
    iter(world.Loader([]))
    assert world.waited == [optimizer]


def test_a_loader_within_a_loader_and_one_of_another_thread_take_no_time_twice(world):
    outer = world.Loader(world.Loader([1, 2]))
    assert world.recorder.loaded == 7.0
    next(outer)
    assert world.recorder.loaded == 17.0
    other = threading.Thread(target=next, args=(world.Loader([1]),))
    other.start()
    other.join()
    assert world.recorder.loaded == 17.0


def test_a_scaled_loss_counts_as_it_was(world):
    scaler, optimizer = world.Scaler(), world.SGD([])
    for loss in (3.0, 2.0):
        scaler.scale(world.Tensor(loss)).backward()
        optimizer.step()
    first, second = (scaler.scale(world.Tensor(loss)) for loss in (1.0, 0.5))
    first.backward()
    optimizer.step()
    second.backward()
    optimizer.step()
    scaler.scale(world.Tensor(1.0, elements=4)).backward(gradient=1)
    assert world.recorder.result()["losses"] == [3.0, 2.0, 1.0, 0.5]


def test_scaled_losses_that_nobody_uses_are_let_go(world):
    scaler = world.Scaler()
    for loss in range(100):
        scaler.scale(world.Tensor(loss))
    assert len(world.recorder._scaled) <= 8


def test_what_a_script_compiles_is_named(world):
    step = compiled_step(world)
    forward = world.compile(lambda: world.Tensor(1.0))
    world.compile(world.Module())
    step(3.0)
    forward()
    result = world.recorder.result()
    assert result["marked"][0].endswith("step")
    assert result["marked"][2] == "Module"
    assert result["whole_steps"] == result["marked"][:1]


def test_what_fell_back_is_named_with_the_first_line(world):
    def forward():
        return None

    world.compile(forward).call.fell_back = {"key": "needs a value\nand more"}
    assert list(world.recorder.result()["fell_back"].values()) == ["needs a value"]


def test_a_whole_step_gives_the_losses_of_backward_not_what_it_returns():
    program = {}

    def compile_(fn):
        """Runs the Python body once, and gives what it gave from then on."""

        @functools.wraps(fn)
        def call(loss):
            if "result" not in program:
                program["result"] = fn(loss)
            result, losses = program["result"]
            return result, [world.Tensor(loss) for _ in losses]

        return call

    world = World(compile_=compile_)
    optimizer, scaler = world.SGD([]), world.Scaler()

    def step(loss):
        scaler.scale(world.Tensor(None if program else loss)).backward()
        optimizer.step()
        return world.Tensor(99.0)

    step = world.recorder.whole_step(step)
    for loss in (3.0, 2.0, 1.0):
        assert step(loss).value == 99.0
    result = world.recorder.result()
    assert result["losses"] == [3.0, 2.0, 1.0]
    assert len(result["steps"]) == 2
    assert step.__name__ == "step"
