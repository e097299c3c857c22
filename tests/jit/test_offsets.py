"""Arguments that are views of one tensor at many offsets: one program, as eager execution gives."""

import pytest

import torchlike as torch

BASE = torch.arange(60.0).view(3, 5, 4)


def moved(f, view, n):
    """``f`` on ``view(base, i)`` for i below n: results and the base afterwards as eagerly, and one
    program where a view is a batch, a small part of its base; else the first is for its own
    offset."""
    jitted = torch.jit(f)
    for i in range(n):
        base, copy = BASE.clone(), BASE.clone()
        expected, found = f(view(copy, i)), jitted(view(base, i))
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
        torch.testing.assert_close(base, copy, rtol=1e-6, atol=0)
    assert jitted.compiles == (1 if view(BASE, 0).numel() * 4 <= BASE.numel() else 2)


def read(x):
    return (x * 2).cumsum(-1), x.shape, x.stride(), x.is_contiguous()


def read_views(x):
    return x[..., 1:].sum(), x.flip(-1), x.reshape(-1) + 1, x.unsqueeze(0).mT * 1


def write(x):
    x[..., 0].mul_(3)
    x += 1
    return x.sum()


VIEWS = {
    "slice": (lambda b, i: b[:, i : i + 1], 5),
    "index": (lambda b, i: b[i], 3),
    "inner index": (lambda b, i: b[:, i], 5),
    "part of a part": (lambda b, i: b[i % 2 :][:2][:, i : i + 2], 4),
    "transposed": (lambda b, i: b.transpose(0, 1)[i], 5),
    "reshaped": (lambda b, i: b.view(15, 4)[2 * i : 2 * i + 3], 6),
    "steps": (lambda b, i: b[:, i : i + 3 : 2], 3),
}


@pytest.mark.sampled(every=25)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("f", [read, read_views, write])
def test_another_offset_is_no_other_program(f, view):
    moved(f, *view)


def test_a_decoding_loop_compiles_once():
    sequence = torch.randn(2, 12, 8)
    cache = torch.zeros(2, 12, 8)

    @torch.jit
    def decode(x, position):
        cache.index_copy_(1, position, x)
        return cache.sum(1)

    for i in range(12):
        found = decode(sequence[:, i : i + 1], torch.tensor([i]))
        torch.testing.assert_close(found, sequence[:, : i + 1].sum(1), rtol=1e-5, atol=1e-6)
    assert decode.compiles == 1


@pytest.mark.parametrize("f", [lambda x: x, lambda x: (x.add_(1), x)[1], lambda x: (x.sum(), [x])])
def test_an_argument_that_is_given_back_is_the_argument(f):
    jitted = torch.jit(f)
    for i in range(4):
        base, copy = BASE.clone(), BASE.clone()
        x, z = base[i % 3, i : i + 1], copy[i % 3, i : i + 1]
        found, expected = jitted(x), f(z)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(base, copy)
        assert (found[1][0] if isinstance(found, tuple) else found) is x
    assert jitted.compiles == 1


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[..., 1:],
        lambda x: (x + 1, [x.mT]),
        lambda x: x + x.storage_offset(),
        lambda x: x.detach(),
    ],
)
def test_what_needs_the_offset_compiles_for_each(f):
    jitted = torch.jit(f)
    for i in range(4):
        base = BASE.clone()
        found, expected = jitted(base[:, i]), f(BASE[:, i])
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        if isinstance(found, torch.Tensor) and found.numel() and "offset" not in str(f):
            aliased = found.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
            of_base = f(BASE[:, i])
            same = of_base.untyped_storage().data_ptr() == BASE.untyped_storage().data_ptr()
            assert aliased == same
    assert jitted.compiles == 4


def test_a_tensor_kept_outside_is_a_view_still():
    kept = {}

    def keep(x):
        kept["x"] = x[:, 1:]
        return x.sum()

    jitted = torch.compile(keep)
    base = BASE.clone()

    for i in range(4):
        assert jitted(base[:, i]).item() == BASE[:, i].sum().item()
        base[:, i].add_(1)
        torch.testing.assert_close(kept["x"], BASE[:, i, 1:] + 1)
        base[:, i].sub_(1)
        assert not jitted.ran_eagerly


def test_views_of_one_tensor_overlap_or_not():
    def f(x, y):
        x.mul_(2)
        y.add_(x)
        return y.sum()

    jitted = torch.jit(f)
    for i, j in [(0, 1), (1, 2), (2, 2), (3, 0), (1, 1), (4, 3)]:
        base, copy = BASE.clone(), BASE.clone()
        found, expected = jitted(base[:, i], base[:, j]), f(copy[:, i], copy[:, j])
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(base, copy)
    assert jitted.compiles == 1


def test_one_tensor_twice_and_then_two():
    def f(x, y):
        x.add_(1)
        return (x * y).sum()

    jitted = torch.jit(f)
    for i, j in [(0, 0), (1, 1), (2, 2), (3, 1), (0, 2), (4, 4)]:
        base, copy = BASE.clone(), BASE.clone()
        x, z = base[:, i], copy[:, i]
        y, w = (x, z) if i == j else (base[:, j], copy[:, j])
        torch.testing.assert_close(jitted(x, y), f(z, w))
        torch.testing.assert_close(base, copy)


def test_the_base_is_also_reached_from_outside():
    state = BASE.clone()

    def f(x):
        state.add_(1)
        return x.sum() + state[0, 0, 0] + torch.rand(())

    jitted = torch.jit(f)
    torch.manual_seed(0)
    drawn = torch.rand(4)
    torch.manual_seed(0)
    for i in range(4):
        after = state + 1
        expected = after[:, i].sum() + after[0, 0, 0] + drawn[i]
        torch.testing.assert_close(jitted(state[:, i]), expected)


@pytest.mark.exhaustive
def test_gradients_reach_the_base():
    inside = torch.jit(lambda x: torch.autograd.grad((x**3).sum(), x)[0])
    outside = torch.jit(lambda x: (x**3).sum())
    for i in range(4):
        base = (BASE / 60).requires_grad_()
        torch.testing.assert_close(inside(base[:, i]), 3 * base.detach()[:, i] ** 2)
        (g,) = torch.autograd.grad(outside(base[:, i]), base, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), base)
        expected = torch.zeros_like(base)
        expected[:, i] = 6 * base.detach()[:, i]
        torch.testing.assert_close(h, expected)


def test_numbers_that_change_with_it():
    f = torch.jit(lambda x, i: x.sum() * i + (1 if i > 2 else 0))
    for i in range(5):
        assert f(BASE[:, i], i).item() == BASE[:, i].sum().item() * i + (1 if i > 2 else 0)
    assert f.compiles <= 5  # two with the number frozen, then one for each side of the comparison


def test_a_number_that_is_needed_leaves_the_offset_traced():
    f = torch.jit(lambda x, n: x.sum() + torch.ones(n % 2 + 1).sum(), dynamic=True)
    for i in range(5):
        assert f(BASE[:, i], i % 2).item() == BASE[:, i].sum().item() + i % 2 + 1
    assert f.compiles <= 4


def test_in_containers_and_by_keyword():
    f = torch.jit(lambda batch, *, y: batch["x"][0] * 2 + y)
    for i in range(4):
        found = f({"x": [BASE[i % 3]]}, y=BASE[:, i][:, 1][0])
        torch.testing.assert_close(found, BASE[i % 3] * 2 + BASE[0, i, 1])
    assert f.compiles == 2


def test_dynamic_false_compiles_for_each():
    f = torch.jit(lambda x: x + 1, dynamic=False)
    for i in range(3):
        f(BASE[i])
    assert f.compiles == 3


def test_it_warms_up_too():
    f = torch.jit(lambda x: x.cumsum(-1), warmup=2)
    for i in range(5):
        torch.testing.assert_close(f(BASE[:, i]), BASE[:, i].cumsum(-1))
    assert f.compiles == 1
    assert not f.ran_eagerly


def test_views_of_numpys_memory():
    array = BASE.numpy().copy()
    base = torch.from_numpy(array)
    f = torch.jit(lambda x: x.mul_(2).sum())
    for i in range(4):
        expected = 2 * array[:, i].sum()
        assert f(base[:, i]).item() == expected
        assert array[:, i].sum() == expected


def test_complex_views():
    z = torch.complex(BASE, BASE + 1)
    f = torch.jit(lambda x: x * 2 + 0)
    for i in range(4):
        torch.testing.assert_close(f(z.conj()[:, i]), z[:, i].conj() * 2)
        torch.testing.assert_close(f(z.imag[:, i]), z[:, i].imag * 2)


def test_explain_names_the_offset():
    f = torch.jit(lambda x: x + 1)
    for i in range(3):
        found = torch.jit.explain(f)(BASE[i])
    assert "where x begins" in {e.name for e in found.inputs}


def batches(n=6):
    data = torch.randn(4 * n, 3)
    return [data[4 * i : 4 * i + 4] for i in range(n)]


def test_a_model_that_trains_on_slices_of_its_data_compiles_once():
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 2)
    compiled = torch.compile(net, options={"warmup": 0})
    for x in batches():
        found = torch.autograd.grad(compiled(x).square().sum(), net.weight)[0]
        expected = torch.autograd.grad(net(x).square().sum(), net.weight)[0]
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert compiled.forward.compiles == 1


def test_a_second_derivative_on_slices_of_data():
    w = torch.randn(3, requires_grad=True)

    def f(x):
        return ((x @ w).sin() * x.sum(1)).sum()

    jitted = torch.jit(f)
    for x in batches():
        found, expected = [
            torch.autograd.grad(torch.autograd.grad(g(x), w, create_graph=True)[0].sum(), w)[0]
            for g in (jitted, f)
        ]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)  # sums of 4 sines
    assert jitted.compiles == 1
