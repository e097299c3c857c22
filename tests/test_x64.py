"""JAX's 64-bit types: on from the import, and what is said of it; off in a region of the user's."""

import os
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "JAX_ENABLE_X64"}
MODEL = torch.nn.Linear(3, 2)
OPTIMIZER = torch.optim.AdamW(MODEL.parameters(), lr=1e-3)
X = torch.rand(4, 3)
INTS = torch.arange(3)
DOUBLES = torch.zeros(3, dtype=torch.float64)
PICKLED = pickle.dumps(INTS)


@torch.jit
def step(x):
    OPTIMIZER.zero_grad()
    loss = MODEL(x).square().mean()
    loss.backward()
    OPTIMIZER.step()
    return loss


step(X), step(X)
LOSS = MODEL(X).sum()


def test_the_users_functions_have_32_bit_defaults_where_they_ask():
    with jax.enable_x64(False):
        assert jnp.ones(3).dtype == jnp.float32
        assert jax.jit(lambda x: x + jnp.arange(3))(jnp.zeros(3, int)).dtype == jnp.int32
        assert jnp.sin(X.jax()).dtype == jnp.float32
    assert jnp.ones(3).dtype == jnp.float64


REFUSED = {
    "an op": lambda: INTS + 1,
    "an op that ran before": lambda: X * 2,
    "float64 beside a number": lambda: DOUBLES * 0.1,
    "in place": lambda: DOUBLES.add_(0.1),
    "fill_": lambda: DOUBLES.fill_(0.1),
    "setitem": lambda: DOUBLES.__setitem__(0, 0.1),
    "arange": lambda: torch.arange(3),
    "tensor": lambda: torch.tensor([1, 2]),
    "tensor of float64": lambda: torch.tensor([1.5], dtype=torch.float64),
    "zeros": lambda: torch.zeros(2, dtype=torch.int64),
    "full": lambda: torch.full((2,), 3),
    "rand": lambda: torch.rand(3),
    "randint": lambda: torch.randint(0, 5, (2,)),
    "randperm": lambda: torch.randperm(3),
    "from_jax": lambda: torch.from_jax(np.arange(3)),
    "from_numpy": lambda: torch.from_numpy(np.arange(3)) + 1,
    "argmax": lambda: X.argmax(),
    "unique": lambda: INTS.unique(),
    "nonzero": lambda: INTS.nonzero(),
    "repeat_interleave": lambda: torch.repeat_interleave(INTS),
    "bincount": lambda: torch.bincount(INTS[:0]),
    "a mask": lambda: INTS[INTS > 0],
    "double": lambda: X.double(),
    "a module": lambda: MODEL(X),
    "backward": lambda: LOSS.backward(),
    "an optimizer": lambda: OPTIMIZER.step(),
    "a jitted step": lambda: step(X),
    "jit": lambda: torch.jit(lambda x: x * 2)(X),
    "vmap": lambda: torch.vmap(lambda t: t * 2)(X),
    "from_jax_function": lambda: torch.from_jax_function(jnp.sin)(X),
    "inside jax.jit": lambda: jax.jit(lambda t: t * 2)(X),
    "pickle": lambda: pickle.loads(PICKLED),
    "a loader": lambda: next(iter(torch.utils.data.DataLoader([1, 2, 3], batch_size=2))),
    "meta": lambda: torch.zeros(2, device="meta") + 1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_64_bits_is_refused(name):
    with (
        jax.enable_x64(False),
        pytest.raises(RuntimeError, match=r"torchlike needs JAX's 64-bit types, .* off here"),
    ):
        REFUSED[name]()


def test_it_can_be_turned_on_inside():
    with jax.enable_x64(False):
        with jax.enable_x64(True):
            assert (INTS + 1).tolist() == [1, 2, 3]
            assert (DOUBLES + 1 / 3).tolist() == [1 / 3] * 3
        with pytest.raises(OverflowError):
            INTS + (1 << 40)


def test_values_are_read_and_shared_there():
    with jax.enable_x64(False):
        assert INTS.tolist() == [0, 1, 2]
        assert X.numpy().shape == (4, 3)
        assert X[0, 0].item() == X.numpy()[0, 0]
        assert "tensor(" in repr(INTS)
        assert torch.from_jax(jnp.arange(3)).dtype is torch.int32
        assert MODEL.load_state_dict(MODEL.state_dict())
        assert INTS.clone().dtype is torch.int64


def test_a_refusal_leaves_everything_as_it_was():
    before = [p.tolist() for p in MODEL.parameters()]
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="64-bit"):
        step(X)
    assert [p.tolist() for p in MODEL.parameters()] == before
    assert torch.isfinite(step(X))


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done


USED = "import jax, jax.numpy as jnp\nx = jnp.ones(3)\n"


def test_an_import_after_jax_was_in_use_warns_at_its_line():
    done = run(USED + "import torchlike\nassert jnp.ones(3).dtype == 'float64'")
    assert done.stderr.startswith("<string>:3: UserWarning: JAX was in use before torchlike")
    assert "jax.enable_x64(False)" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "code",
    [
        "import jax, flax, optax\nimport torchlike",  # imported, and nothing computed
        "import torchlike\n" + USED + "import torchlike",
        "import jax\njax.config.update('jax_enable_x64', True)\n" + USED + "import torchlike",
    ],
)
def test_otherwise_it_does_not(code):
    assert run(code).stderr == ""


@pytest.mark.exhaustive
def test_nor_where_the_environment_asks_for_64_bits():
    assert run(USED + "import torchlike", JAX_ENABLE_X64="1").stderr == ""
