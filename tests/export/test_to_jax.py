"""``export.to_jax``: a function of JAX alone gives what the module gives, here and elsewhere."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from comparing import close

import torchlike as torch
from torchlike.export import Dim, Unexportable, to_jax


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )


X = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 3)).astype("float32"))


def test_results_and_gradients_are_the_modules():
    m = model().eval()
    exported, parameters, buffers, written = to_jax(m, (X,))
    assert written == ()
    assert set(parameters) == {n for n, _ in m.named_parameters()}
    close(jax.jit(exported.call)(parameters, buffers, X.jax()), m(X).detach())
    found = jax.grad(lambda p: (exported.call(p, buffers, X.jax()) ** 2).sum())(parameters)
    m(X).square().sum().backward()
    for name, p in m.named_parameters():
        close(found[name], p.grad)
    assert "stablehlo.tanh" in exported.mlir_module()


def test_statistics_are_given_in_training_mode():
    m = model()
    exported, parameters, buffers, written = to_jax(m, (X,))
    assert {"1.running_mean", "1.running_var", "1.num_batches_tracked"} == set(written)
    for _ in range(2):
        out, buffers = exported.call(parameters, buffers, X.jax())
        close(out, m(X).detach())
    for name, b in m.named_buffers():
        close(buffers[name], b)


@pytest.mark.exhaustive
def test_any_number_of_rows():
    m = model().eval()
    program = to_jax(m, (torch.ones(16, 3),), dynamic_shapes=({0: Dim("batch")},))
    for n in (1, 2, 7):
        x = torch.ones(n, 3)
        close(program.exported.call(program.parameters, program.buffers, x.jax()), m(x).detach())
        found = jax.grad(lambda p, x=x: program.exported.call(p, program.buffers, x.jax()).sum())(
            program.parameters
        )
        m.zero_grad()
        m(x).sum().backward()
        close(found["0.weight"], m[0].weight.grad)


class Nested(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("seen", torch.zeros(()))
        self.constant = torch.full((3,), 2.0)

    def forward(self, x, *, more, scale=1.0):
        self.seen += 1
        return {
            "a": (x * self.w * scale, x),
            "seen": self.seen,
            "b": [more["y"] + self.constant, 3],
        }


def test_nested_arguments_and_results():
    m = Nested()
    program = to_jax(m, (X[0],), {"more": {"y": X[1]}, "scale": 0.5})
    out, buffers = program.exported.call(
        program.parameters, program.buffers, X[0].jax(), X[1].jax()
    )
    close(out["a"][0], X[0] * 0.5)
    close(out["a"][1], X[0])
    close(out["b"][0], X[1] + 2)
    assert out["b"][1] == 3
    assert out["seen"] == 1 == buffers["seen"]
    assert m.seen.item() == 0


WITHOUT_US = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torchlike", "torch"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Refused())
import jax, numpy as np
from jax import export

program = export.deserialize(bytearray(open("program.bin", "rb").read()))
data = dict(np.load("arrays.npz"))
x, parameters = data.pop("x"), {k[2:]: v for k, v in data.items() if k[:2] == "p:"}
buffers = {k[2:]: v for k, v in data.items() if k[:2] == "b:"}
loss = lambda p: (program.call(p, buffers, x) ** 2).sum()
value, gradient = jax.jit(jax.value_and_grad(loss))(parameters)
assert "torchlike" not in sys.modules
np.savez("found.npz", value=value, **gradient)
"""


@pytest.mark.exhaustive
def test_it_runs_where_torchlike_is_not(tmp_path):
    m = model().eval()
    program = to_jax(m, (X,), dynamic_shapes=({0: Dim("batch")},))
    (tmp_path / "program.bin").write_bytes(program.exported.serialize(vjp_order=1))
    arrays = {f"p:{k}": np.asarray(v) for k, v in program.parameters.items()}
    arrays |= {f"b:{k}": np.asarray(v) for k, v in program.buffers.items()}
    np.savez(tmp_path / "arrays.npz", x=X.numpy(), **arrays)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_US],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"JAX_ENABLE_X64": "1", "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as file:
        found = dict(file)
    loss = m(X).square().sum()
    loss.backward()
    close(found["value"], loss.detach())
    for name, p in m.named_parameters():
        close(found[name], p.grad)


class Branching(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.w += 1
        return x * self.w


def test_what_cannot_be_a_function_of_jax_is_refused():
    with pytest.raises(Unexportable, match=r"model\.eval\(\)"):
        to_jax(torch.nn.Dropout(0.5), (X,))
    with pytest.raises(Unexportable, match="writes into its parameters"):
        to_jax(Branching(), (X,))
    with pytest.raises(TypeError, match="to_jax takes"):
        to_jax(jnp.sin, (X,))
