"""Optimizer states of older releases and of other hands, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

#: What the first releases of these optimizers had.
FIRST = {
    "lr",
    "betas",
    "eps",
    "weight_decay",
    "alpha",
    "lambd",
    "t0",
    "rho",
    "lr_decay",
    "dampening",
    "initial_accumulator_value",
    "momentum_decay",
    "etas",
    "step_sizes",
    "params",
}
NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "ASGD",
    "Rprop",
]


def stepped(t, name, change, options=None):
    """A parameter after two steps, a state that was changed and loaded, and one more step."""
    p = t.tensor([1.0, -2.0, 0.5], requires_grad=True)
    optimizer = getattr(t.optim, name)([p], lr=0.1, **(options or {}))

    def step():
        p.grad = 0.3 * p.detach() + 1
        optimizer.step()

    step()
    step()
    optimizer.load_state_dict(change(optimizer.state_dict()))
    step()
    return p.detach().numpy(), optimizer


def as_at_first(state):
    """Without the options that came later, and with counts that are numbers."""
    numbers = ("step", "eta", "mu", "mu_product")
    kept = FIRST | ({"momentum"} if "dampening" in state["param_groups"][0] else set())
    return {
        "state": {
            i: {k: v.item() if k in numbers else v for k, v in one.items()}
            for i, one in state["state"].items()
        },
        "param_groups": [{k: v for k, v in g.items() if k in kept} for g in state["param_groups"]],
    }


def with_names_in_order(state):
    """As a file gives it that sorts its keys, and with an entry of the user's."""
    return {
        "state": {
            i: {"a_note": 1, **dict(sorted(one.items()))} for i, one in state["state"].items()
        },
        "param_groups": state["param_groups"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_options_that_came_later(name):
    expected, theirs = stepped(torch, name, as_at_first)
    found, mine = stepped(torchlike, name, as_at_first)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    (group,), (other,) = mine.param_groups, theirs.param_groups
    assert {k: v for k, v in group.items() if k not in ("params", "fused")} == {
        k: v for k, v in other.items() if k not in ("params", "fused")
    }


@pytest.mark.parametrize("name", [*NAMES, "Adafactor"])
def test_states_are_found_by_their_names(name):
    options = {"momentum": 0.9} if name == "SGD" else None
    expected, _ = stepped(torch, name, with_names_in_order, options)
    found, optimizer = stepped(torchlike, name, with_names_in_order, options)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    (state,) = optimizer.state_dict()["state"].values()
    assert next(iter(state)) == "a_note"


def test_a_state_that_is_missing():
    for t in (torch, torchlike):
        with pytest.raises(KeyError, match="max_exp_avg_sq"):
            stepped(
                t,
                "Adam",
                lambda s: {
                    **s,
                    "param_groups": [{**g, "amsgrad": True} for g in s["param_groups"]],
                },
            )


def test_adamw_goes_on_decoupled_from_a_state_of_adam():
    for t in (torch, torchlike):
        _, optimizer = stepped(
            t,
            "AdamW",
            lambda s: {
                **s,
                "param_groups": [{**g, "decoupled_weight_decay": False} for g in s["param_groups"]],
            },
        )
        assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


def test_a_subclass_fills_in_what_its_older_states_lack():
    for t in (torch, torchlike):

        class Scaled(t.optim.SGD):
            def __setstate__(self, state):
                super().__setstate__(state)
                for group in self.param_groups:
                    group.setdefault("scale", 2)

        optimizer = Scaled([t.ones(1, requires_grad=True)], lr=0.1)
        seen = []
        optimizer.register_step_pre_hook(lambda *_, seen=seen: seen.append(1))
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.step()
        assert optimizer.param_groups[0]["scale"] == 2
        assert seen == [1]


def test_names_of_parameters_and_states_in_containers():
    for t in (torch, torchlike):
        named = t.optim.Adam([("w", t.ones(2, requires_grad=True))])
        plain = t.optim.Adam([t.ones(2, requires_grad=True)])
        named.load_state_dict(plain.state_dict())
        assert named.state_dict()["param_groups"][0]["param_names"] == ["w"]
        plain.load_state_dict(named.state_dict())
        assert plain.state_dict()["param_groups"][0]["param_names"] == ["w"]

        half = t.optim.SGD([t.ones(2, dtype=t.float16, requires_grad=True)], lr=0.1)
        state = half.state_dict()
        inner = {"step": t.zeros(()), "list": [t.ones(2)], "table": {"x": t.ones(2)}}
        half.load_state_dict({**state, "state": {0: inner}})
        (loaded,) = half.state_dict()["state"].values()
        assert loaded["step"].dtype == t.float32
        assert loaded["list"][0].dtype == loaded["table"]["x"].dtype == t.float16


def test_gradcheck_asks_the_function_as_it_is():
    """Outputs that there are only where gradients are recorded."""
    for t in (torch, torchlike):
        x = t.ones(2, dtype=t.float64, requires_grad=True)
        assert t.autograd.gradcheck(
            lambda x: tuple(o for o in (x * 2, x * x) if o.requires_grad), (x,)
        )
