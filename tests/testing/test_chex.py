"""chex with our tensors and modules: as they are, and by torchlike.testing.chex."""

import chex as plain
import jax
import pytest

import torchlike as torch
from torchlike.testing import chex

t = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5]])


def linear(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 2)


@pytest.mark.parametrize("chex", [plain, chex], ids=["plain", "ours"])
class TestBoth:
    def test_trees_all_close(self, chex):
        chex.assert_trees_all_close({"a": t}, {"a": t + 1e-9})
        chex.assert_trees_all_close(linear(), linear())
        chex.assert_trees_all_close(t.clone().requires_grad_(), t)
        with pytest.raises(AssertionError, match="not approximately equal"):
            chex.assert_trees_all_close(linear(), linear(1))

    def test_trees_all_equal(self, chex):
        chex.assert_trees_all_equal(t.bfloat16(), t.bfloat16())
        chex.assert_trees_all_equal(linear(), linear())
        with pytest.raises(AssertionError, match="differ"):
            chex.assert_trees_all_equal([t], [t + 1e-3])

    def test_shapes(self, chex):
        chex.assert_trees_all_equal_shapes(linear(), linear(1))
        with pytest.raises(AssertionError, match="shapes"):
            chex.assert_trees_all_equal_shapes(t, t[:1])

    def test_dtypes(self, chex):
        chex.assert_trees_all_equal_dtypes(linear(), linear(1))
        with pytest.raises(AssertionError, match="float32 != float64"):
            chex.assert_trees_all_equal_dtypes(linear(), linear().double())

    def test_finite(self, chex):
        chex.assert_tree_all_finite(linear())
        chex.assert_tree_all_finite({"n": torch.arange(3)})
        with pytest.raises(AssertionError, match="non-finite"):
            chex.assert_tree_all_finite({"x": t / 0})

    def test_shape_rank_and_type(self, chex):
        chex.assert_shape(t, (2, None))
        chex.assert_rank(t, 2)
        chex.assert_type([t, torch.arange(3)], [torch.float32, int])
        with pytest.raises(AssertionError, match="shape"):
            chex.assert_shape(t, (2, 4))
        with pytest.raises(AssertionError, match="rank"):
            chex.assert_rank(t, 3)
        with pytest.raises(AssertionError, match="type"):
            chex.assert_type(t, torch.float64)

    @pytest.mark.parametrize("frozen", [False, True])
    def test_dataclasses(self, chex, frozen):
        @chex.dataclass(frozen=frozen)
        class State:
            x: object
            model: object

        state = State(x=t, model=linear())

        def step(state):
            return state.replace(x=state.model(state.x))

        for run in (step, torch.jit(step), jax.jit(step)):
            found = run(state)
            assert type(found) is State
            torch.testing.assert_close(found.x, state.model(t), rtol=1e-5, atol=1e-6)
        chex.assert_trees_all_close(state, State(x=t, model=linear()))

    def test_max_traces(self, chex):
        chex.clear_trace_counter()
        f = torch.jit(chex.assert_max_traces(lambda x: x + 1, n=1))
        f(t)
        f(t)
        with pytest.raises(AssertionError, match="traced > 1 times"):
            f(t[0])


def test_arrays_and_parameters_beside_tensors():
    chex.assert_trees_all_close(t, t.jax(), t.numpy())
    layer = linear()
    chex.assert_trees_all_equal({"w": layer.weight}, {"w": layer.weight.detach()})
    chex.assert_trees_all_equal(layer, dict(layer.state_dict()))
    chex.assert_size(t, 6)
    with pytest.raises(AssertionError, match="not approximately equal"):
        chex.assert_trees_all_close(t, (t + 1).numpy())


def test_scalars():
    chex.assert_scalar(torch.tensor(1.0))
    chex.assert_scalar_positive(torch.tensor(2))
    chex.assert_scalar_in(torch.tensor(0.5), 0, torch.tensor(1))
    with pytest.raises(AssertionError, match="positive"):
        chex.assert_scalar_positive(torch.tensor(-1.0))
    with pytest.raises(AssertionError, match="scalar"):
        chex.assert_scalar(t)


@pytest.mark.parametrize("compiled", [torch.jit, torch.compile])
def test_max_traces_of_a_compiled_function(compiled):
    f = chex.assert_max_traces(compiled(lambda x: x * 2), n=2)
    for n in (1, 2, 2, 1):
        f(torch.ones(n))
    with pytest.raises(AssertionError, match="compiled 3 times, not 2"):
        f(torch.ones(3))


def test_max_traces_is_a_decorator():
    @chex.assert_max_traces(1)
    @torch.jit
    def f(x):
        return x + 1

    f(t)
    with pytest.raises(AssertionError, match="compiled 2 times"):
        f(t[0])


class ChexsVariants(plain.TestCase):
    """chex's decorator takes functions of tensors."""

    @plain.variants(with_jit=True, without_jit=True, with_device=True)
    def test_plain(self):
        f = self.variant(lambda x: torch.softmax(x, -1) * 2)
        plain.assert_trees_all_close(f(t), torch.softmax(t, -1) * 2, rtol=1e-6)

    @chex.variants("eager", "compiled", "jit", "warmup", "vmap")
    def test_ours(self):
        f = self.variant(lambda x: torch.softmax(x, -1) * 2)
        for _ in range(3):
            chex.assert_trees_all_close(f(t), torch.softmax(t, -1) * 2, rtol=1e-6)

    @chex.variants(with_jit=True, without_jit=True)
    def test_delegated(self):
        chex.assert_trees_all_close(self.variant(torch.sin)(t), t.sin(), rtol=1e-6)


def test_each_variant_is_a_test_of_its_own():
    names = {n for n in dir(ChexsVariants) if n.startswith("test_ours")}
    assert len(names) == 5


def test_a_test_that_runs_nothing_as_variant_fails():
    class Forgetful(plain.TestCase):
        @chex.variants("eager")
        def test_nothing(self):
            pass

    (name,) = [n for n in dir(Forgetful) if n.startswith("test_nothing")]
    with pytest.raises(RuntimeError, match=r"never calls self\.variant"):
        getattr(Forgetful(name), name)()


def test_unknown_variants_are_refused():
    with pytest.raises(ValueError, match="unknown variant 'tpu': one of eager"):
        chex.variants("tpu")


def test_everywhere_gives_chex_itself_our_assertions():
    own = plain.assert_trees_all_close, plain.assert_max_traces
    with pytest.raises(AssertionError, match="do not match"):
        plain.assert_trees_all_close(t, t.jax())
    with chex.everywhere():
        plain.assert_trees_all_close(t, t.jax())
        plain.assert_trees_all_equal_shapes_and_dtypes({"w": t}, {"w": t.numpy()})
        with pytest.raises(AssertionError, match="not approximately equal"):
            plain.assert_trees_all_close(t, t.jax() + 1)
        with chex.everywhere():
            pass
        plain.assert_trees_all_equal(t, t.jax())
        plain.assert_max_traces(torch.compile(torch.sin), n=1)(t)
        jax.jit(plain.assert_max_traces(lambda x: x + 1, n=1))(t.jax())
    assert (plain.assert_trees_all_close, plain.assert_max_traces) == own
