"""Small tensors whose cells hold NumPy's arrays: nobody can tell, except by the time it takes."""

import copy
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime.first_calls.settings import set_first_calls
from torchlike._runtime.first_calls.statistics import record_of


def on_host(t):
    return type(t._storage.cell) is np.ndarray


def small(*size):
    """A tensor of counting numbers that NumPy computed."""
    made = torch.arange(float(np.prod(size))).reshape(size) * 1
    assert on_host(made) is (torch.compiler.get_first_calls() == "numpy")
    return made


def test_results_of_small_operations_stay_with_numpy():
    x = small(3, 4)
    assert on_host(x + x)
    assert on_host(x @ x.t())
    assert on_host(x.sum())
    assert on_host(x[1] * 2)
    assert on_host(torch.tensor([1.0, 2.0]))
    assert on_host(torch.rand(3))
    assert on_host(torch.zeros(2))


def test_large_operations_are_computed_on_the_device():
    x = torch.ones(512, 512)
    assert not on_host(x)
    assert not on_host(x + x)
    assert not on_host(x[:200] * 2)


def test_a_staying_program_is_never_compiled():
    x = small(5, 7)
    record = record_of("SinhBackward0")
    before = record.compiled
    for _ in range(1200):  # more calls than any signature gets that is to be compiled
        y = x.sinh()
    assert on_host(y)
    assert record.compiled == before


def test_compiled_mode_makes_and_keeps_none():
    x = small(4)
    with set_first_calls("compiled"):
        assert not on_host(torch.zeros(3))
        assert not on_host(torch.tensor([1.0]))
        y = x + 1
        assert not on_host(y)
        assert not on_host(x)
    assert y.tolist() == [1, 2, 3, 4]


def test_jax_gets_an_array_of_its_own():
    x = small(2, 2)
    array = x.jax()
    assert isinstance(array, jax.Array)
    assert on_host(x)  # whoever asked whether it is a tracer computes on with NumPy's array
    assert (jnp.sin(array) + 1).shape == (2, 2)
    x.add_(1)
    assert array.tolist() == [[0, 1], [2, 3]]
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x[1].jax().tolist() == [3, 4]
    assert on_host(x)


# -- aliasing --------------------------------------------------------------------------------------


def select_and_add(x):
    x[1].add_(10)
    return x * 1


def write_through_two_views(x):
    x.t()[0].copy_(torch.ones(3))
    x[:, 1:].mul_(torch.tensor([2.0, 3.0, 4.0]))
    return x + 0


def view_sees_the_base(x):
    row = x[2]
    x.add_(1)
    x.mul_(2)
    return row + 0


def base_sees_the_view(x):
    flat = x.view(-1)
    flat[5:7] = torch.tensor([100.0, 200.0])
    return x + flat.view(3, 4)


def number_into_a_view(x):
    x[0, 1] = 7
    x[1:, ::2] = -1.5
    return x.clone()


def integers_into_a_view(x):
    x[1] = torch.arange(4)
    return x * 1


def diagonal(x):
    x[:, :3].diagonal().zero_()
    return x * 1


def unfolded(x):
    return x.unfold(1, 2, 1).sum(-1) + x[0].as_strided((3, 3), (1, 0)) * 1


def other_memory_order(x):
    y = x.t() + 1  # keeps the strides of x.t()
    y[1].add_(5)
    return y.transpose(0, 1)[1] * 2


def detached(x):
    x.detach()[0] = 9
    return x.data + 0


def complex_parts(x):
    z = torch.complex(x, x + 1)
    z.real.add_(1)
    return torch.view_as_real(z)[..., 1] + z.conj().real


ALIASING = [
    select_and_add,
    write_through_two_views,
    view_sees_the_base,
    base_sees_the_view,
    number_into_a_view,
    integers_into_a_view,
    diagonal,
    unfolded,
    other_memory_order,
    detached,
    complex_parts,
]


@pytest.mark.sampled(every=10)
@pytest.mark.parametrize("program", ALIASING, ids=lambda f: f.__name__)
def test_views_and_writes_mean_what_they_mean_on_the_device(program):
    found, strides = program(small(3, 4)), program(small(3, 4)).stride()
    with set_first_calls("compiled"):
        expected = program(torch.arange(12.0).reshape(3, 4) * 1)
    jitted = torch.jit(program)(small(3, 4))
    assert found.tolist() == expected.tolist() == jitted.tolist()
    assert strides == expected.stride()


def test_a_numpy_array_is_shared_with_one_tensor_only():
    x = small(4)
    y, z = x.clone(), x.view(2, 2)
    shared = x.numpy()
    shared[0] = 50
    assert x[0] == 50
    assert z[0, 0] == 50
    assert y[0] == 0
    y.numpy()[1] = 60
    assert y[1] == 60
    assert x[1] == 1


def test_results_do_not_follow_a_buffer_that_numpy_writes():
    buffer = np.ones(3, np.float32)
    x = torch.from_numpy(buffer)
    weight = small(3).requires_grad_()
    product, sameness = weight * x, x.reshape(3).clone()
    buffer[:] = 7
    assert sameness.tolist() == [1, 1, 1]
    assert (x + 0).tolist() == [7, 7, 7]
    product.sum().backward()
    assert weight.grad.tolist() == [1, 1, 1]


def test_values_given_out_cannot_be_written():
    x = small(3)
    with pytest.raises(ValueError, match="read-only"):
        x._value("a test")[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x[1:]._value("a test")[0] = 1


def test_an_address_is_where_the_values_are():
    import ctypes

    x = small(5)
    y = x.clone()
    assert x.data_ptr() != y.data_ptr()
    assert list((ctypes.c_float * 5).from_address(x.data_ptr())) == [0, 1, 2, 3, 4]


# -- autograd --------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_gradients_are_those_of_the_compiled_programs():
    def loss(x, w):
        h = torch.nn.functional.gelu(x @ w).softmax(-1)
        return (h[:, 1:] * h[:, :-1]).sum() + h.std() + torch.logsumexp(h, 0).mean()

    def gradients():
        x, w = small(3, 4).requires_grad_(), (small(4, 5) / 10).detach().requires_grad_()
        loss(x, w).backward()
        loss(x, w).backward()  # adds to what is there
        (second,) = torch.autograd.grad(
            torch.autograd.grad(loss(x, w), x, create_graph=True)[0].square().sum(), w
        )
        return x.grad, w.grad, second

    found = gradients()
    with set_first_calls("compiled"):
        for a, b in zip(found, gradients(), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_gradients_stay_on_the_host():
    x, w = small(3, 4).requires_grad_(), (small(4, 5) / 10).detach().requires_grad_()
    for _ in range(2):  # the second adds to what is there
        (x @ w).tanh().sum().backward()
    assert on_host(x.grad)
    assert on_host(w.grad)


def test_what_was_saved_is_the_very_leaf_until_it_is_written():
    x = small(3).requires_grad_()
    node = (x * x).grad_fn
    assert node._saved_self is x


def test_backward_uses_the_values_that_were_there():
    x = small(3).requires_grad_()
    y = x * 2
    z = y * y
    y.detach().add_(1)
    z.sum().backward()
    assert x.grad.tolist() == [0, 8, 16]
    assert y.tolist() == [1, 3, 5]


def test_optimizers_step_on_the_host():
    def trained():
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            model(small(2, 3)).square().mean().backward()
            optimizer.step()
        return model, optimizer

    model, optimizer = trained()
    assert all(map(on_host, model.parameters()))
    assert on_host(optimizer.state[model[0].weight]["exp_avg"])
    with set_first_calls("compiled"):
        for a, b in zip(model.parameters(), trained()[0].parameters(), strict=True):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


# -- numbers and edges -----------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1, 1.0, 2, -0.5])
def test_a_factor_of_one_is_no_special_case_in_value(alpha):
    x = small(3) - 1
    assert torch.add(x, x, alpha=alpha).tolist() == [(1 + alpha) * v for v in (-1.0, 0.0, 1.0)]
    assert (x * alpha).tolist() == [alpha * v for v in (-1.0, 0.0, 1.0)]


def test_a_factor_of_one_leaves_nan_and_signs():
    x = torch.tensor([float("nan"), -0.0, float("inf")])
    assert str((x * 1).tolist()) == str((x / 1).tolist()) == "[nan, -0.0, inf]"


def test_numpy_warns_nobody():
    with np.errstate(all="raise"):
        x = torch.tensor([-1.0, 0.0, 1e38])
        assert str(x.log().tolist()[:2]) == "[nan, -inf]"
        assert (x * x)[2] == float("inf")
        assert (1 / x)[1] == float("inf")
        assert (x * float("inf")).isnan().tolist() == [False, True, False]


def test_errors_are_those_of_the_compiled_programs():
    def message():
        with pytest.raises(RuntimeError) as error:
            torch.ones(2, 3) + torch.ones(4)
        return str(error.value)

    by_numpy = message()
    with set_first_calls("compiled"):
        assert message() == by_numpy


def test_threads_may_run_one_program_at_once():
    x = torch.ones(64, 64)
    (x + x).tolist()
    wrong = []

    def work(k):
        for _ in range(300):
            if (x * k + x)[63, 63] != k + 1:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- what else takes tensors -----------------------------------------------------------------------


def test_copies_and_pickles():
    x = small(2, 3)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
        assert made.tolist() == x.tolist()
        assert made.device == x.device
        assert made.dtype == x.dtype


def test_transforms_take_them():
    x, w = small(3, 2), small(2)
    mapped = torch.vmap(lambda row: row * w + row.sum())(x)
    assert mapped.tolist() == (x * w + x.sum(1, keepdim=True)).tolist()
    assert torch.func.grad(lambda v: (v * w).sum())(w).tolist() == w.tolist()
    _, tangent = torch.func.jvp(lambda v: v * w, (w,), (torch.ones(2),))
    assert tangent.tolist() == w.tolist()


def test_a_jitted_function_is_compiled_once_for_both_kinds(compilations):
    step = torch.jit(lambda x, w: (x @ w).tanh())
    w = small(4, 3)
    expected = step(small(2, 4), w).tolist()
    assert compilations
    (small(2, 4) @ w).tanh()
    del compilations[:]
    for _ in range(3):
        x = small(2, 4)
        assert step(x, w).tolist() == expected
        x.jax()
        assert step(x, w).tolist() == expected
    assert not compilations


# -- parameters ------------------------------------------------------------------------------------


def test_inference_keeps_small_parameters_on_the_host():
    x, weight, base = small(1, 3), torch.ones(3), torch.ones(2, 3)
    for t in (weight, base):
        t._storage.concrete()
        t.requires_grad_()
    with torch.no_grad():
        assert (x * weight).tolist() == [[0, 1, 2]]
        assert on_host(weight)
        row = base[1].requires_grad_()
        assert (x + row).tolist() == [[1, 2, 3]]
    assert base.shape == (2, 3)  # a view's part takes no cell's place
    assert not on_host(base)
    (x * weight).sum().backward()
    assert weight.grad.tolist() == [0, 1, 2]
    weight.data.add_(1)
    assert (x * weight).tolist() == [[0, 2, 4]]


# -- views -----------------------------------------------------------------------------------------


VIEWS = {
    "reshape": lambda x: x.view(3, 4),
    "part": lambda x: x.view(3, 4)[1:],
    "column": lambda x: x.view(3, 4)[:, 1],
    "transposed": lambda x: x.view(3, 4).t(),
    "sizes of 1": lambda x: x.view(1, 3, 4).transpose(0, 1),
    "empty": lambda x: x.view(3, 4)[3:],
    "of strides": lambda x: (x.view(3, 4).t() + 0).view(4, 3)[1],
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_a_host_value_is_its_part_and_lays_out_results(name):
    x = small(12)
    view = VIEWS[name](x)
    assert on_host(x)
    with set_first_calls("compiled"):
        expected = VIEWS[name](torch.tensor(x.tolist())) + 0
    found = view + 0
    assert found.tolist() == expected.tolist()
    assert found.stride() == expected.stride()
