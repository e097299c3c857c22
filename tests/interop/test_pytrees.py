"""torchlike's tensors inside JAX's own transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch


def test_jax_functions_take_and_give_tensors():
    x = torch.tensor([1.0, 2.0])
    doubled = jax.jit(lambda t: t * 2 + 1)(x)
    assert isinstance(doubled, torch.Tensor)
    assert doubled.tolist() == [3.0, 5.0]
    tree = jax.tree.map(jnp.sum, {"a": x, "b": [x]})
    assert float(tree["a"].jax()) == 3.0


def test_jax_grad_and_vmap_over_functions_written_with_torchlike():
    def loss(w):
        return ((w * 3).exp().sum()).jax()

    w = torch.tensor([0.1, 0.2])
    gradient = jax.grad(loss)(w)
    np.testing.assert_allclose(gradient.jax(), 3 * np.exp([0.3, 0.6]), rtol=1e-5)
    rows = jax.vmap(lambda t: t.sum())(torch.arange(6.0).reshape(2, 3))
    assert rows.tolist() == [3.0, 12.0]


def test_from_jax_and_back():
    array = jnp.arange(3)
    t = torch.from_jax(array)
    t += 1
    assert array.tolist() == [0, 1, 2]
    assert t.jax().tolist() == [1, 2, 3]
    assert jnp.asarray(t).tolist() == [1, 2, 3]


def test_from_jax_takes_numpy():
    values = np.arange(3.0, dtype=np.float32)
    t = torch.from_jax(values)
    values += 1
    assert t.tolist() == [0, 1, 2]
    assert t.dtype is torch.float32
    assert torch.from_jax(np.int16(3)).dtype is torch.int16
    with pytest.raises(TypeError, match=r"from_jax expects a jax\.Array or NumPy array, not list"):
        torch.from_jax([1.0])
    with pytest.raises(TypeError, match="can't convert"):
        torch.from_jax(np.array(["a"]))


class Tagged(torch.Tensor):
    tag = None


def test_parameters_and_subclasses_are_nodes():
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    weight.tag = "tied"
    frozen = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
    tagged = torch.tensor([4.0]).as_subclass(Tagged)
    assert [leaf.tolist() for leaf in jax.tree.leaves((weight, frozen, tagged))] == [
        [1, 2],
        [3],
        [4],
    ]
    doubled = jax.tree.map(lambda a: a * 2, (weight, frozen, tagged))
    assert [type(d) for d in doubled] == [torch.nn.Parameter, torch.nn.Parameter, Tagged]
    assert [d.requires_grad for d in doubled] == [True, False, False]
    assert doubled[0].is_leaf
    assert doubled[0].tag == "tied"
    assert weight.tolist() == [1, 2]
    same = jax.tree_util.tree_structure((weight, torch.nn.Parameter(torch.zeros(2))))
    assert same.children()[0] == same.children()[1]
    assert hash(same.children()[0]) == hash(same.children()[1])
    other = jax.tree_util.tree_structure(frozen)
    assert other != same.children()[0]
    # The structure does not depend on what a function gave.
    ints = jax.tree.map(lambda a: a.astype(int), weight)
    assert jax.tree.map(lambda p, n: p + n, weight, ints).tolist() == [2, 4]

    class Later(torch.Tensor):
        pass

    assert type(jax.jit(lambda t: t)(torch.ones(2).as_subclass(Later))) is Later
    assert jax.jit(lambda p: p["w"] * 2)({"w": weight}).tolist() == [2, 4]


@pytest.mark.parametrize("leaf", [(2, 3), 0.5, True, None, "label", object(), {"a": 1}])
def test_leaves_that_are_no_arrays(leaf):
    module = torch.nn.Linear(3, 2)
    for tree in (torch.rand(2), module.weight, dict(module.state_dict()), module):
        changed = jax.tree.map(lambda a: leaf, tree)
        # It stands beside the first tree, leaf by leaf.
        pairs: list = []
        is_leaf = lambda x: x is leaf  # noqa: E731
        seen = jax.tree_util.tree_leaves(changed, is_leaf=is_leaf)
        assert all(s is leaf for s in seen)
        jax.tree.map(lambda a, b, pairs=pairs: pairs.append((a.shape, b)), tree, changed)
        assert pairs
        assert all(b is leaf for _, b in pairs)
    node = jax.tree.map(lambda a: leaf, torch.rand(2))
    assert node.jax() is leaf
    assert repr(node) == f"Tensor(leaf={leaf!r})"
    with pytest.raises(AttributeError, match="no array and has no 'shape'"):
        node.shape  # noqa: B018
    with pytest.raises((RuntimeError, TypeError), match="leaf"):
        node + 1


def test_shapes_of_a_state_dict():
    module = torch.nn.Linear(3, 2)
    shapes = jax.tree.map(lambda a: a.shape, module.state_dict())
    assert {name: node.jax() for name, node in shapes.items()} == {"weight": (2, 3), "bias": (2,)}
    assert "leaf=(2, 3)" in str(shapes)


def test_arrays_of_numpy_as_leaves():
    values = jax.tree.map(np.array, {"a": torch.ones(2), "b": torch.arange(2)})
    assert (values["a"] * 2).tolist() == [2, 2]
    assert "1., 1." in repr(values["a"])
    assert values["b"].dtype is torch.int64
    for leaf in jax.tree.leaves(values):
        assert isinstance(leaf, jax.Array)


def test_eval_shape_gives_meta_tensors():
    found = jax.eval_shape(lambda t: t @ t.T, torch.rand(2, 3))
    assert found.is_meta
    assert found.shape == (2, 2)
    assert (found + 1).shape == (2, 2)
    assert jax.eval_shape(lambda t: t.sum(), found).shape == ()


@pytest.mark.exhaustive
def test_a_loss_that_is_a_tensor():
    def loss(w):
        return (w * 3).exp().sum()

    w = torch.tensor([0.1, 0.2])
    with pytest.raises(ValueError, match=r"torchlike\.to_jax_function"):
        jax.grad(loss)(w)
    expected = 3 * np.exp([0.3, 0.6])
    of_arrays = torch.to_jax_function(loss)
    gradient = jax.grad(of_arrays)
    np.testing.assert_allclose(gradient(w).jax(), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(gradient)(w.jax()), expected, rtol=1e-5)
    value, found = jax.value_and_grad(of_arrays)(w.numpy())
    assert isinstance(value, jax.Array)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    rows = jax.vmap(gradient)(jnp.stack([w.jax(), w.jax()]))
    np.testing.assert_allclose(rows, [expected, expected], rtol=1e-5)
    hessian = jax.hessian(of_arrays)(w.jax())
    np.testing.assert_allclose(hessian, np.diag(3 * expected), rtol=1e-5)


def test_functions_of_jax_with_modules_and_trees():
    module = torch.nn.Linear(2, 1)

    @torch.to_jax_function
    def loss(module, batch, *, scale):
        """The loss."""
        out = module(batch["x"])
        assert isinstance(batch["x"], torch.Tensor)
        return (out * scale).square().mean(), {"out": out, "n": 3}

    assert loss.__doc__ == "The loss."
    batch = {"x": jnp.ones((3, 2), jnp.float32)}
    (value, extra), gradient = jax.value_and_grad(loss, has_aux=True)(module, batch, scale=2.0)
    assert isinstance(value, jax.Array)
    assert isinstance(extra["out"], jax.Array)
    (module(torch.ones(3, 2)) * 2).square().mean().backward()
    for p, q in zip(module.parameters(), gradient.parameters(), strict=True):
        np.testing.assert_allclose(q.jax(), p.grad.jax(), rtol=1e-5)
