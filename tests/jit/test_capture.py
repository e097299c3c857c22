"""torchlike.jit finds state by itself, runs the Python body once per compile, and equals eager."""

import gc

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


def test_the_module_is_callable_and_importable():
    import torchlike.jit

    assert torchlike.jit is torch.jit
    assert torch.jit(lambda x: x + 1)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_whole_training_step_equals_eager_with_one_compile():
    def train(wrap):
        w = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
        steps = torch.zeros((), dtype=torch.int64)

        def step(x):
            w.grad = None
            loss = ((w * x) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w.sub_(w.grad, alpha=0.1)
                steps.add_(1)
            return loss

        run = wrap(step)
        losses = [run(torch.tensor([1.0, 2.0, 0.5]) + i).item() for i in range(5)]
        return losses, w.tolist(), w.grad.tolist(), steps.item(), getattr(run, "compiles", 0)

    eager = train(lambda f: f)
    jitted = train(torch.jit)
    for a, b in zip(eager[:3], jitted[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert jitted[3] == eager[3] == 5
    assert jitted[4] == 1


def test_new_shapes_dtypes_grad_modes_and_static_arguments_recompile_and_known_ones_never():
    @torch.jit
    def f(x, k, flag=True):
        return x * k if flag else x

    for _ in range(2):
        f(torch.ones(2), 2.0)
        f(torch.ones(3), 2.0)
        f(torch.ones(2, dtype=torch.float64), 2.0)
        f(torch.ones(2), 3.0)
        f(torch.ones(2), 2)
        f(torch.ones(2), 2.0, flag=False)
        with torch.no_grad():
            f(torch.ones(2), 2.0)
    assert f.compiles == 7


def test_outputs_of_a_jitted_function_join_the_tape():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    f = torch.jit(lambda x: ((w * x).detach() * w * x).sum())
    for _ in range(2):
        w.grad = x.grad = None
        (f(x * 2) * 3).backward()
        got = w.grad.tolist(), x.grad.tolist()
        w.grad = x.grad = None
        (((w * (x * 2)).detach() * w * (x * 2)).sum() * 3).backward()
        assert got == (w.grad.tolist(), x.grad.tolist())
    assert f.compiles == 1


def test_a_graph_run_backward_inside_cannot_be_run_again_outside():
    w = torch.ones(2, requires_grad=True)

    @torch.jit
    def step():
        loss = (w * w).sum()
        loss.backward()
        return loss

    loss = step()
    assert loss.requires_grad
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_gradients_accumulate_and_none_to_tensor_is_another_program():
    w = torch.ones(2, requires_grad=True)
    step = torch.jit(lambda x: (w * x).sum().backward())
    for i in range(1, 5):
        step(torch.ones(2))
        assert w.grad.tolist() == [float(i), float(i)]
    assert step.compiles == 2


def test_a_gradient_kept_from_an_earlier_step_stays_as_it_was():
    w = torch.ones(2, requires_grad=True)

    @torch.jit
    def step(x):
        w.grad = None
        (w * x).sum().backward()

    step(torch.ones(2))
    kept = w.grad
    step(torch.ones(2) * 5)
    assert kept.tolist() == [1.0, 1.0]
    assert w.grad.tolist() == [5.0, 5.0]


def test_in_place_on_arguments_and_their_views_reaches_the_caller():
    @torch.jit
    def f(x, row):
        x[1].add_(row)
        row.mul_(2)

    base = torch.zeros(3, 2)
    row = torch.ones(2)
    f(base, row)
    f(base, row)
    assert base.tolist() == [[0, 0], [3, 3], [0, 0]]
    assert row.tolist() == [4, 4]
    view = base[2]
    f(base, view)  # an argument that is a view of the other one
    assert base.tolist() == [[0, 0], [3, 3], [0, 0]]
    view.fill_(1)
    f(base, view)
    assert base.tolist() == [[0, 0], [4, 4], [2, 2]]


def test_the_same_tensor_twice_is_not_confused_with_two_tensors():
    @torch.jit
    def f(a, b):
        a.add_(1)
        return b * 2

    x, y = torch.zeros(2), torch.zeros(2)
    assert f(x, y).tolist() == [0, 0]
    assert f(x, x).tolist() == [4, 4]
    assert f(y, x).tolist() == [4, 4]


def test_an_argument_that_is_also_state_is_seen_as_such():
    w = torch.ones(2)

    @torch.jit
    def f(x):
        w.add_(1)
        return x * 1

    assert f(torch.zeros(2)).tolist() == [0, 0]
    assert f(w).tolist() == [3, 3]
    assert f(torch.zeros(2)).tolist() == [0, 0]
    assert w.tolist() == [4, 4]


def test_two_cells_holding_one_array_are_two_inputs():
    a = torch.ones(2)
    b = a.clone()  # shares the immutable array until a write
    f = torch.jit(lambda: a + 2 * b)
    assert f().tolist() == [3, 3]
    b.fill_(5)
    assert f().tolist() == [11, 11]
    assert f.compiles == 1


def test_donated_state_never_destroys_what_somebody_still_holds():
    w = torch.zeros(3)
    step = torch.jit(lambda: w.add_(1))
    step()
    array, view, copy = w.jax(), w[1:], w.clone()
    numpy_value = np.asarray(w.jax())
    step()
    assert array.tolist() == [1, 1, 1]
    assert copy.tolist() == [1, 1, 1]
    assert numpy_value.tolist() == [1, 1, 1]
    assert view.tolist() == [2, 2]
    step()
    assert w.tolist() == [3, 3, 3]


def test_an_exception_while_capturing_leaves_state_untouched():
    w = torch.ones(2, requires_grad=True)
    buffer = torch.zeros(2)

    @torch.jit
    def f():
        buffer.add_(1)
        (w * 2).sum().backward()
        raise KeyError("mine")

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f()
        assert buffer.tolist() == [0, 0]
        assert w.grad is None


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: np.asarray(x),
        lambda x: bool(x.sum()),
        lambda x: int(x.sum()),
        lambda x: float(x.sum()),
        lambda x: [0, 1, 2][x.sum().long()],
        lambda x: x[x > 0],
    ],
)
def test_a_value_needed_while_capturing_names_the_line_and_the_remedy(use):
    with pytest.raises(JitCaptureError, match=r"needs a value .*test_capture\.py:\d+\)"):
        torch.jit(lambda x: use(x))(torch.ones(3))


def test_closures_and_globals_bound_anew_are_seen():
    factor = 2.0
    table = {"w": torch.ones(2)}
    w = torch.ones(2)

    def f(x):
        return x * factor + w

    g = torch.jit(f)
    assert g(torch.ones(2)).tolist() == [3, 3]
    factor = 3.0
    assert g(torch.ones(2)).tolist() == [4, 4]
    w = torch.zeros(2)
    assert g(torch.ones(2)).tolist() == [3, 3]
    assert table["w"].tolist() == [1, 1]


def test_data_swapped_between_calls_is_seen():
    w = torch.ones(2)
    f = torch.jit(lambda x: x * w)
    f(torch.ones(2))
    w.data = torch.full((2,), 7.0)
    assert f(torch.ones(2)).tolist() == [7, 7]
    assert f(torch.ones(2)).tolist() == [7, 7]


def test_data_swapped_inside_is_refused():
    w = torch.ones(2)

    @torch.jit
    def f():
        w.data = torch.zeros(2)

    with pytest.raises(JitCaptureError, match="copy_"):
        f()


@pytest.mark.parametrize("make", [torch.zeros_like, lambda x: x.detach()], ids=["made", "alias"])
def test_data_of_what_is_made_inside_may_be_swapped(make):
    w = torch.tensor([0.5, -1.0])

    def attack(x):
        d = make(x).requires_grad_()
        for _ in range(3):
            ((x + d) * w).sum().backward()
            d.data = (d + 0.1 * d.grad).clamp(-0.2, 0.2)
            d.grad.zero_()
        return d.detach(), d.grad

    f = torch.jit(attack)
    for k in (0.0, 1.0):
        x = torch.ones(2) * k
        found, wanted = f(x), attack(torch.ones(2) * k)
        assert [t.tolist() for t in found] == [t.tolist() for t in wanted]
        assert x.tolist() == [k, k]
    assert f.compiles == 1


def test_data_from_outside_are_not_swapped_in():
    def f(x):
        d = x * 2
        d.data = x
        return d.add_(1)

    with pytest.raises(JitCaptureError, match="copy_"):
        torch.jit(f)(torch.ones(2))


def test_tensors_kept_outside_have_their_values_each_time():
    history = []
    f = torch.jit(lambda x: history.append(x * 2))
    f(torch.ones(1))
    f(torch.ones(1) * 3)
    assert [h.item() for h in history] == [2.0, 6.0]
    with pytest.warns(RuntimeWarning, match="kept outside"):
        f(torch.ones(1) * 5)
    assert [h.item() for h in history] == [2.0, 6.0, 10.0]


def test_numpy_memory_is_read_afresh_and_written_through():
    values = np.ones(3, np.float32)
    shared = torch.from_numpy(values)

    @torch.jit
    def f():
        shared.add_(1)
        return shared * 10

    assert f().tolist() == [20, 20, 20]
    values[0] = 5
    assert f().tolist() == [60, 30, 30]
    assert values.tolist() == [6, 3, 3]


def test_nested_jit_is_part_of_the_graph():
    inner = torch.jit(lambda x: x * 2)
    outer = torch.jit(lambda x: inner(x) + 1)
    assert outer(torch.ones(2)).tolist() == [3, 3]
    assert (outer.compiles, inner.compiles) == (1, 0)


def test_results_keep_their_structure_and_views():
    @torch.jit
    def f(x):
        y = x * 1
        return {"a": (y, y.t()), "n": 3, "x": x, "none": None}

    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(2):
        out = f(x)
        assert out["n"] == 3
        assert out["none"] is None
        assert out["x"] is x
        y, transposed = out["a"]
        assert transposed.stride() == (1, 3)
        y[0, 1] = 100
        assert transposed[1, 0].item() == 100  # still one memory


def test_backward_into_a_graph_from_outside_is_refused():
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    with pytest.raises(JitCaptureError, match="recorded outside"):
        torch.jit(lambda: (h * 3).sum().backward())()


def test_methods_and_partials():
    class Model:
        def __init__(self):
            self.w = torch.full((2,), 3.0)

        @torch.jit
        def forward(self, x):
            return self.w * x

    a, b = Model(), Model()
    b.w.fill_(4)
    assert a.forward(torch.ones(2)).tolist() == [3, 3]
    assert b.forward(torch.ones(2)).tolist() == [4, 4]


def test_numpy_arguments_are_refused_because_they_would_be_frozen():
    with pytest.raises(TypeError, match="from_numpy"):
        torch.jit(lambda x: torch.from_numpy(x))(np.ones(2))


def test_a_thousand_steps_compile_once():
    w = torch.ones(4)
    step = torch.jit(lambda x: w.add_(x))
    x = torch.ones(4)
    for _ in range(1000):
        step(x)
    assert step.compiles == 1
    assert w.tolist() == [1001.0] * 4


def _tensors_of_tracers():
    """Tensors that hold a tracer; others' tests may have left some behind."""
    import jax

    gc.collect()
    tensors = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor)]
    return [
        t
        for t in tensors
        if hasattr(t, "_storage") and isinstance(t._storage.cell, jax.core.Tracer)
    ]


def test_programs_hold_no_tracers():
    before = _tensors_of_tracers()  # held, so that their ids stay theirs
    w = torch.ones(2, requires_grad=True)
    f = torch.jit(lambda x: (w * x).sum())
    out = f(torch.ones(2))
    del out
    known = set(map(id, before))
    assert [id(t) for t in _tensors_of_tracers() if id(t) not in known] == []


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2, bias=False)
        self.mask = torch.ones(2)
        self.scale = 1.0

    def forward(self, x):
        return self.linear(x) * self.mask * self.scale


def _changes():
    def freeze(m):
        m.linear.weight.requires_grad_(False)

    def rebind_tensor(m):
        m.mask = torch.tensor([0.0, 2.0])

    def rebind_number(m):
        m.scale = 3.0

    def rebind_parameter(m):
        m.linear.weight = torch.nn.Parameter(torch.full((2, 2), 5.0))

    def rebind_module(m):
        m.linear = torch.nn.Linear(2, 2, bias=False)

    def swap_data(m):
        m.linear.weight.data = torch.full((2, 2), 7.0)

    return freeze, rebind_tensor, rebind_number, rebind_parameter, rebind_module, swap_data


@pytest.mark.parametrize("change", _changes(), ids=lambda f: f.__name__)
def test_a_module_changed_after_the_capture_is_seen(change):
    torch.manual_seed(0)
    module = Scaled()
    compiled = torch.jit(module)
    x = torch.tensor([[1.0, 2.0]])
    compiled(x)
    change(module)
    for _ in range(2):
        eager, jitted = module(x), compiled(x)
        assert jitted.tolist() == eager.tolist()
        assert jitted.requires_grad == eager.requires_grad
    assert compiled.compiles == 2


def test_training_and_evaluation_are_two_programs_with_one_state():
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(3)
    compiled = torch.jit(norm)
    x = torch.randn(8, 3)
    for _ in range(3):
        norm.train()
        compiled(x)
        norm.eval()
        np.testing.assert_allclose(compiled(x).detach(), norm(x).detach(), rtol=1e-5, atol=1e-6)
    assert norm.num_batches_tracked.item() == 3
    assert compiled.compiles == 2


def test_a_result_whose_graph_was_run_backward_inside_a_custom_function_too():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    def step(x):
        y = Square.apply(x)
        y.sum().backward()
        return y

    for run in (step, torch.jit(step)):
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        y = run(x)
        assert (y.tolist(), x.grad.tolist()) == ([1.0, 9.0], [2.0, 6.0])
        with pytest.raises(RuntimeError, match="second time"):
            y.sum().backward()


def test_a_cycle_that_the_body_leaves_costs_no_full_collection(monkeypatch):
    collect, asked = gc.collect, []

    def recorded(generation=2):
        asked.append(generation)
        return collect(generation)

    monkeypatch.setattr(gc, "collect", recorded)

    @torch.jit
    def f(x):
        cycle = [x * 2]
        cycle.append(cycle)
        return x + 1

    gc.disable()  # or one that happens to come now breaks the cycle
    try:
        assert [f(torch.ones(2)).tolist(), f(torch.ones(2)).tolist()] == [[2, 2], [2, 2]]
    finally:
        gc.enable()
    assert f.compiles == 1
    assert 0 in asked[1:]  # the first is made before the body runs
    assert 2 not in asked
