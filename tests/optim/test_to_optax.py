"""An optimizer as a transformation of optax updates as its own steps do."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import torchlike as torch
from torchlike.optim import to_optax

O = torch.optim  # noqa: E741
SHAPES = {"b": (3,), "w": (4, 3)}
_rng = np.random.default_rng(0)
START = {k: _rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()}
GRADIENTS = [
    {k: _rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()} for _ in range(4)
]
OPTIMIZERS = {
    "SGD": lambda p: O.SGD(p, 0.1, weight_decay=0.1),
    "SGD momentum": lambda p: O.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "SGD dampening": lambda p: O.SGD(p, 0.1, momentum=0.9, dampening=0.5),
    "Adam": lambda p: O.Adam(p, amsgrad=True),
    "AdamW": lambda p: O.AdamW(p, maximize=True),
    "Adamax": O.Adamax,
    "NAdam": O.NAdam,
    "RAdam": O.RAdam,
    "Adafactor": O.Adafactor,
    "Adagrad": lambda p: O.Adagrad(p, initial_accumulator_value=0.5),
    "Adadelta": O.Adadelta,
    "ASGD": lambda p: O.ASGD(p, t0=1),
    "RMSprop": lambda p: O.RMSprop(p, momentum=0.9, centered=True),
    "Rprop": O.Rprop,
    "Muon": O.Muon,
}
QUICK = {"SGD dampening"}


def parameters(names=SHAPES):
    return {k: torch.nn.Parameter(torch.from_numpy(START[k].copy())) for k in names}


def transformed(transformation, names, jitted):
    params = {k: jnp.asarray(START[k]) for k in names}
    state = transformation.init(params)

    def step(carry, gradients):
        params, state = carry
        updates, state = transformation.update(gradients, state, params)
        return (optax.apply_updates(params, updates), state), None

    gradients = [{k: jnp.asarray(g[k]) for k in names} for g in GRADIENTS]
    if jitted:
        stacked = jax.tree.map(lambda *a: jnp.stack(a), *gradients)
        return jax.jit(lambda c, g: jax.lax.scan(step, c, g)[0])((params, state), stacked)[0]
    for g in gradients:
        (params, state), _ = step((params, state), g)
    return params


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.full) for n in OPTIMIZERS]
)
def test_updates_are_those_of_its_steps(name, jitted):
    names = ["w"] if name == "Muon" else list(SHAPES)
    own = parameters(names)
    optimizer = OPTIMIZERS[name](list(own.values()))
    found = transformed(to_optax(optimizer), names, jitted)
    for k, p in own.items():
        np.testing.assert_array_equal(p.detach(), START[k])  # the optimizer's own stay
    for gradients in GRADIENTS:
        for k, p in own.items():
            p.grad = torch.from_numpy(gradients[k].copy())
        optimizer.step()
    for k, p in own.items():
        # Adding a difference rounds once more; Muon's products of bfloat16 are rounded by NumPy
        # in its eager steps, elsewhere as XLA fuses them.
        atol = 1e-4 if name == "Muon" else 1e-6
        np.testing.assert_allclose(found[k], p.detach(), rtol=1e-5, atol=atol)


def test_all_optimizers_are_in_the_table():
    known = {n.split()[0] for n in OPTIMIZERS} | {"LBFGS", "SparseAdam", "Optimizer", "Optax"}
    assert {n for n in O.__all__ if isinstance(getattr(O, n), type)} == known


def test_groups_are_known_by_names():
    own = parameters()
    groups = [
        {"params": [(k, p)], "lr": lr} for (k, p), lr in zip(own.items(), (0.5, 0.1), strict=True)
    ]
    transformation = to_optax(O.SGD(groups))
    params = {k: jnp.asarray(v) for k, v in START.items()}
    updates, _ = transformation.update(GRADIENTS[0], transformation.init(params), params)
    for k, lr in (("b", 0.5), ("w", 0.1)):
        np.testing.assert_allclose(updates[k], -lr * GRADIENTS[0][k], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="groups are of parameters"):
        transformation.init(list(params.values()))
    unnamed = [{"params": [p]} for p in own.values()]
    with pytest.raises(ValueError, match="by the parameters' names"):
        to_optax(O.SGD(unnamed)).init(params)


class Signs(O.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.5})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["sum"] = state.get("sum", torch.zeros_like(p)) + p.grad.sign()
                p.add_(state["sum"], alpha=-group["lr"])


class Counting(Signs):
    def step(self, closure=None):
        super().step()
        for p in self.param_groups[0]["params"]:
            self.state[p]["n"] = self.state[p].get("n", 0) + 1


def test_an_optimizer_of_the_users():
    found = transformed(to_optax(Signs(parameters().values())), list(SHAPES), True)
    signs = np.cumsum([np.sign(g["w"]) for g in GRADIENTS], 0).sum(0)
    np.testing.assert_allclose(found["w"], START["w"] - 0.5 * signs, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="keeps int 'n'"):
        to_optax(Counting(parameters().values())).init({"w": jnp.ones(2)})


def test_of_optax_it_is_the_transformation():
    own = parameters()
    optimizer = O.Optax(own.items(), optax.adam, lr=1e-2, maximize=True)
    found = transformed(to_optax(optimizer), list(SHAPES), True)
    for gradients in GRADIENTS:
        for k, p in own.items():
            p.grad = torch.from_numpy(gradients[k].copy())
        optimizer.step()
    for k, p in own.items():
        np.testing.assert_allclose(found[k], p.detach(), rtol=1e-5, atol=1e-6)
    with pytest.raises(NotImplementedError, match=r"optax\.partition"):
        to_optax(O.Optax([{"params": [p]} for p in own.values()], optax.adam, lr=0.1))


def test_what_has_no_such_form_is_refused():
    own = list(parameters().values())
    with pytest.raises(NotImplementedError, match=r"optax\.lbfgs"):
        to_optax(O.LBFGS(own))
    with pytest.raises(NotImplementedError, match="dense"):
        to_optax(O.SparseAdam(own))
    with pytest.raises(TypeError, match="takes an optimizer, not list"):
        to_optax(own)
    transformation = to_optax(O.Adam(own))
    with pytest.raises(ValueError, match="depends on the parameters"):
        transformation.update({"w": jnp.ones(2)}, transformation.init({"w": jnp.ones(2)}))
