"""Gradients that a branch on a value decides of: None where eager execution has None."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

X = torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]])


class Two(torch.nn.Module):
    """Two layers, the loss by one of them, and one that is always there."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        self.always = torch.nn.Linear(2, 1)

    def forward(self, x, gate):
        h = self.a(x) if gate > 0 else self.b(x)
        return self.always(h)


class Nested(Two):
    def forward(self, x, gate):
        if gate > 0:
            h = self.a(x)
        elif gate > -2:
            h = self.b(x)
            if gate > -1:
                h = h + self.a(x).tanh()
        else:
            h = x[:, :2]
        return self.always(h)


class Behind(Two):
    """The branch uses what was computed before it, from parameters used elsewhere as well."""

    def forward(self, x, gate):
        scaled, other = self.a.weight * 2, self.b.weight.exp()
        h = x @ (scaled if gate > 0 else other).t() + self.a.bias
        return self.always(h)


class Turns(Two):
    def forward(self, x, gate):
        h = x[:, :2]
        while gate > 0:
            h = h + self.a(x)
            if gate > 1:
                h = h * self.b.bias
            gate = gate - 1
        return self.always(h)


class Unrolled(Two):
    def forward(self, x, gate):
        h = x
        for layer in (self.a, self.b):
            if gate < 0:
                break
            gate = gate - 1.5
            h = torch.nn.functional.pad(layer(h), (0, 1))
        return self.always(h[:, :2])


GATES = [1.0, -1.0, -1.5, 1.0, -3.0, -0.5, 2.5, 1.0]
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.1),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.3),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, weight_decay=0.1),
}


def trained(kind, make, jitted, gates=GATES, before=None, after=None, zero=True):
    """Parameters and which gradients there are, after each step."""
    torch.manual_seed(3)
    net = kind()
    opt = make(net.parameters())

    def step(x, gate):
        if zero:
            opt.zero_grad()
        loss = net(x, gate).pow(2).mean()
        loss.backward()
        if before:
            before(net)
        opt.step()
        return loss

    run = torch.jit(step) if jitted else step
    seen = []
    for gate in gates:
        loss = run(X, torch.tensor(gate)).item()
        if after:
            after(net)
        seen.append(
            (
                loss,
                [p.grad is None for p in net.parameters()],
                [p.detach().clone().numpy() for p in net.parameters()],
                [None if p.grad is None else p.grad.clone().numpy() for p in net.parameters()],
            )
        )
    return seen, run


def alike(eager, jitted):
    for a, b in zip(eager, jitted, strict=True):
        assert a[1] == b[1]
        np.testing.assert_allclose(b[0], a[0], rtol=1e-5)
        for p, q in zip(a[2] + a[3], b[2] + b[3], strict=True):
            if p is not None:
                np.testing.assert_allclose(q, p, rtol=2e-5, atol=1e-6)


@pytest.mark.sampled(every=27, rest="full")
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("kind", [Two, Nested, Behind, Turns, Unrolled])
def test_a_step_leaves_alone_what_the_branch_did_not_use(kind, name):
    eager, _ = trained(kind, OPTIMIZERS[name], False)
    jitted, step = trained(kind, OPTIMIZERS[name], True)
    alike(eager, jitted)
    assert step.compiles == 1
    assert any(True in none and False in none for _, none, *_ in eager)


@pytest.mark.exhaustive
def test_gradients_that_accumulate():
    """Without zero_grad a gradient is there from the first step that had one."""
    for kind in (Two, Turns):
        eager, _ = trained(kind, OPTIMIZERS["Adam"], False, zero=False)
        jitted, step = trained(kind, OPTIMIZERS["Adam"], True, zero=False)
        alike(eager, jitted)
        # One program for each set of gradients that there were before a step.
        assert step.compiles == len({tuple(none) for _, none, *_ in [(0, [True] * 6), *eager[:-1]]})


@pytest.mark.exhaustive
def test_two_backward_passes_in_one_step():
    def again(net):
        net(X * 2, torch.tensor(1.0)).sum().backward()  # always through one of them

    alike(*(trained(Two, OPTIMIZERS["AdamW"], j, before=again)[0] for j in (False, True)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("zero", ["optimizer", "module"])
def test_zeroed_gradients(zero):
    def clear(net):
        for p in net.parameters():
            assert p.grad is None or p.grad.shape == p.shape
        net.zero_grad(set_to_none=False)

    alike(*(trained(Two, OPTIMIZERS["Adam"], j, after=clear, zero=False)[0] for j in (False, True)))

    def inside(net):
        if zero == "module":
            net.zero_grad(set_to_none=False)
        else:
            torch.optim.SGD(net.parameters()).zero_grad(set_to_none=False)

    alike(*(trained(Two, OPTIMIZERS["AdamW"], j, before=inside)[0] for j in (False, True)))


@pytest.mark.exhaustive
def test_clipping():
    def clip(net):
        torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        torch.nn.utils.clip_grad_value_(net.parameters(), 0.05)

    alike(*(trained(Nested, OPTIMIZERS["AdamW"], j, before=clip)[0] for j in (False, True)))


@pytest.mark.exhaustive
def test_a_gradient_scaler():
    def run(jitted):
        torch.manual_seed(3)
        net = Two()
        opt = OPTIMIZERS["AdamW"](net.parameters())
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

        def step(x, gate):
            opt.zero_grad()
            scaler.scale(net(x, gate).pow(2).mean()).backward()
            scaler.unscale_(opt)
            scaler.step(opt)
            scaler.update()

        call = torch.jit(step) if jitted else step
        seen = []
        for gate in GATES:
            call(X, torch.tensor(gate))
            parameters = list(net.parameters())
            seen.append(
                (
                    0.0,
                    [p.grad is None for p in parameters],
                    [p.detach().clone().numpy() for p in parameters],
                    [],
                )
            )
        return seen

    alike(run(False), run(True))


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("kind", [Two, Nested, Behind, Turns, Unrolled])
def test_a_compiled_model_in_an_eager_step(kind):
    def run(jitted):
        torch.manual_seed(3)
        net = kind()
        opt = OPTIMIZERS["AdamW"](net.parameters())
        call = torch.jit(net) if jitted else net
        seen = []
        for gate in GATES:
            opt.zero_grad()
            loss = call(X, torch.tensor(gate)).pow(2).mean()
            loss.backward()
            opt.step()
            parameters = list(net.parameters())
            grads = [p.grad for p in parameters]
            seen.append(
                (
                    loss.item(),
                    [g is None for g in grads],
                    [p.detach().clone().numpy() for p in parameters],
                    [None if g is None else g.numpy() for g in grads],
                )
            )
        return seen

    alike(run(False), run(True))


# -- several outputs -------------------------------------------------------------------------------


def outputs(x, p, q, gate):
    first = x * p
    second = (x * q if gate > 0 else x - 1) + first.detach()
    return first, second, x * p * q


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 1), (0, 2)])
@pytest.mark.parametrize("gate", [1.0, -1.0])
def test_outputs_that_no_gradient_reaches(used, gate):
    found = []
    for call in (outputs, torch.jit(outputs)):
        p, q = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
        made = call(X, p, q, torch.tensor(gate))
        wanted = [made[i] for i in used if made[i].requires_grad]
        if wanted:
            sum(o.sum() for o in wanted).backward()
        found.append([None if t.grad is None else t.grad.item() for t in (p, q)])
    for a, b in zip(*found, strict=True):
        assert a == (None if b is None else pytest.approx(b, rel=1e-6))


def test_autograd_grad_of_an_output():
    p, q = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    made = torch.jit(outputs)(X, p, q, torch.tensor(-1.0))
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(made[0].sum(), [p, q], retain_graph=True)
    found = torch.autograd.grad(made[0].sum(), [p, q], allow_unused=True)
    assert found[1] is None


# -- what can see the difference, and is refused ---------------------------------------------------


def refused(body, words, kind=Two):
    net = kind()

    @torch.jit
    def step(x, gate):
        loss = net(x, gate).sum()
        return body(net, loss)

    with pytest.raises(JitCaptureError, match=words):
        step(X, torch.tensor(1.0))
    assert all(p.grad is None for p in net.parameters())


@pytest.mark.exhaustive
def test_asking_whether_there_is_a_gradient():
    def ask(net, loss):
        loss.backward()
        return net.a.weight.grad is None

    refused(ask, "only one branch")

    def ask_another(net, loss):
        loss.backward()
        return net.always.weight.grad * 1

    net = Two()
    step = torch.jit(lambda x, gate: ask_another(net, net(x, gate).sum()))
    assert step(X, torch.tensor(1.0)).shape == (1, 2)


@pytest.mark.exhaustive
def test_asking_autograd_grad():
    refused(lambda net, loss: torch.autograd.grad(loss, [net.a.weight])[0], "only one branch")
    net = Two()

    def zeros(x, gate):
        return torch.autograd.grad(
            net(x, gate).sum(), [net.a.weight, net.b.weight], materialize_grads=True
        )

    for gate in (1.0, -1.0):
        for a, b in zip(zeros(X, gate), torch.jit(zeros)(X, torch.tensor(gate)), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-6)


def test_functional_gradients_are_zeros():
    def loss(p, q, gate):
        return ((p * 3 if gate > 0 else q * 5) ** 2).sum()

    grads = torch.func.grad(loss, argnums=(0, 1))
    p, q = torch.ones(2), torch.ones(2) * 2
    for gate in (1.0, -1.0):
        a = grads(p, q, torch.tensor(gate))
        b = torch.jit(lambda *args: grads(*args))(p, q, torch.tensor(gate))
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5),
        lambda p: torch.optim.Rprop(p),
        lambda p: torch.optim.ASGD(p),
    ],
)
def test_optimizers_whose_first_step_is_its_own(make):
    net = Two()
    opt = make(net.parameters())

    def body(net, loss):
        loss.backward()
        opt.step()

    refused(lambda _, loss: body(net, net(X, loss).sum()), "only one branch")


# -- tensors' and nodes' hooks, and gradients that are retained ------------------------------------


def test_hooks_see_zeros_and_may_change_what_there_is():
    def run(jitted):
        p, q = (torch.tensor([v], requires_grad=True) for v in (2.0, 3.0))
        p.register_hook(lambda g: g * 10)
        q.register_hook(lambda g: g * 100)

        def loss(gate):
            y = p * 2 if gate > 0 else q * 3
            y = y * 1
            y.register_hook(lambda g: g + 1)
            return y.sum()

        call = torch.jit(loss) if jitted else loss
        found = []
        for gate in (1.0, -1.0):
            p.grad = q.grad = None
            call(torch.tensor(gate)).backward()
            found.append([None if t.grad is None else t.grad.tolist() for t in (p, q)])
        return found

    assert run(False) == run(True) == [[[40.0], None], [None, [600.0]]]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("branches", [False, True])
def test_a_gradient_retained_on_the_way_to_the_result(branches):
    def loss(x, w, returned):
        h = (x * w if w > 0 else x - w) if branches else x * w
        h.retain_grad()
        return (h, (h * h).sum()) if returned else (h * h).sum()

    jitted = torch.jit(loss)
    w = torch.tensor(3.0, requires_grad=True)
    jitted(torch.ones(2), w, False).backward()
    assert w.grad.item() == 12.0
    with pytest.raises(JitCaptureError, match="returning a tensor that retains its gradient"):
        jitted(torch.ones(2), w, True)


def test_a_retained_gradient():
    w = torch.tensor([2.0], requires_grad=True)

    def step(gate):
        h = w * 2
        h.retain_grad()
        y = h * 3 if gate > 0 else w * 1
        y.sum().backward()
        return h.grad

    with pytest.raises(JitCaptureError, match="only one branch"):
        torch.jit(step)(torch.tensor(1.0))


@pytest.mark.exhaustive
def test_a_saved_program(tmp_path):
    """What torch.jit.save writes knows it, too: in an eager step, and inside a jitted one."""
    torch.manual_seed(3)
    net = Two()
    scripted = torch.jit.script(net)
    scripted(X, torch.tensor(1.0))
    torch.jit.save(scripted, tmp_path / "two.pt")

    def run(model, jitted):
        opt = OPTIMIZERS["AdamW"](model.parameters())

        def step(x, gate):
            opt.zero_grad()
            model(x, gate).pow(2).mean().backward()
            opt.step()

        call = torch.jit(step) if jitted else step
        for gate in GATES:
            call(X, torch.tensor(gate))
        return [p.detach().numpy() for p in model.parameters()]

    loaded = [torch.jit.load(tmp_path / "two.pt") for _ in range(2)]
    found = [run(net, False), run(loaded[0], False), run(loaded[1], True)]
    for a, b, c in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(c, a, rtol=2e-5, atol=1e-6)


# -- Functions that give None ---------------------------------------------------------------------


class OneSided(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return g * w, None


def one_sided(x, w, gate):
    y = OneSided.apply(x * x, w)
    return (OneSided.apply(y, w * 2) if gate > 0 else y * 3).sum()


def never(x, w, gate):
    return OneSided.apply(x * x, w).sum() * gate


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("gate", [1.0, -1.0])
@pytest.mark.parametrize(("f", "create_graph"), [(one_sided, False), (never, False), (never, True)])
def test_a_function_may_give_none(f, gate, create_graph):
    found = []
    for call in (f, torch.jit(f)):
        x = torch.ones(2, requires_grad=True)
        w = torch.tensor(3.0, requires_grad=True)
        for _ in range(2):
            y = call(x, w, torch.tensor(gate))
            if create_graph:
                y = torch.autograd.grad(y**2, x, create_graph=True)[0].sum()
            y.backward()
        found.append([None if t.grad is None else t.grad.tolist() for t in (x, w)])
    assert found[0] == found[1]
    assert (found[0][1] is None) is not create_graph
