"""Programs that change Python objects from outside: each makes a function and the objects."""

import collections
import dataclasses
import types
import typing

import torchlike as torch
from torchlike import nn

PROGRAMS = {}


def program(compiles):
    """Put a maker of (function, objects) into the table; its function is compiled ``compiles``
    times in five calls."""

    def put(make):
        PROGRAMS[make.__name__] = make, compiles
        return make

    return put


class Box:
    def __init__(self, **entries):
        self.__dict__.update(entries)


class Slotted:
    __slots__ = ("h", "n")

    def __init__(self):
        self.h, self.n = torch.zeros(3), 0


@program(1)
def counter_that_nobody_reads():
    box = Box(n=0)

    def f(x):
        box.n += 1
        return x * 2

    return f, box


@program(2)
def counter_that_is_read():
    box = Box(n=1)

    def f(x):
        box.n += 1
        return x * box.n

    return f, box


@program(2)
def counter_of_rows():
    box = Box(n=0, total=torch.zeros(()))

    def f(x):
        box.total = box.total + x.sum()
        box.n = box.n + x.shape[0]
        return box.total / box.n

    return f, box


@program(3)
def every_other_call():
    box = Box(n=0)

    def f(x):
        box.n += 1
        if box.n % 2 == 0:
            return x * 2
        return x * 3

    return f, box


@program(2)
def rate_that_decays():
    box = Box(lr=0.3)

    def f(x):
        y = x * box.lr
        box.lr *= 0.9
        return y

    return f, box


@program(3)
def counters_by_name():
    seen = {}

    def f(x):
        seen["calls"] = seen.get("calls", 0) + 1
        return x * seen["calls"]

    return f, seen


@program(2)
def counter_in_a_closure():
    n = 0
    box = Box()

    def f(x):
        nonlocal n
        n += 1
        box.n = n
        return x * n

    return f, box


@program(2)
def counter_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls = self.calls + 1
            return x * self.calls

    net = Net()
    return (lambda x: net(x)), Box(state=net.__dict__, keys=("calls",))


@program(2)
def counter_of_a_class():
    class Meter:
        n = 0

    def f(x):
        Meter.n += 1
        return x * Meter.n

    return f, Box(of=lambda: Meter.n)


@program(1)
def last_result():
    box = Box(last=None)

    def f(x):
        box.last = x * 2
        return x + 1

    return f, box


@program(1)
def result_and_attribute_are_one():
    box = Box(a=None, b=None)

    def f(x):
        box.a = box.b = y = x * 2
        return y

    return f, box


@program(1)
def hidden_state():
    box = Box(h=torch.zeros(3))

    def f(x):
        box.h = box.h * 0.5 + x
        return box.h.sum()

    return f, box


@program(1)
def hidden_state_of_a_closure():
    h = torch.zeros(3)
    box = Box()

    def f(x):
        nonlocal h
        h = h * 0.5 + x
        box.out = h
        return h.sum()

    return f, box


@program(1)
def hidden_state_in_slots():
    box = Slotted()

    def f(x):
        box.h = box.h * 0.5 + x
        return box.h.sum()

    return f, Box(of=lambda: (box.h, box.n))


@program(1)
def swap():
    box = Box(a=torch.zeros(3), b=torch.ones(3))

    def f(x):
        box.a, box.b = box.b, box.a + x
        return box.a.sum()

    return f, box


@program(2)
def lazily_made_attribute():
    box = Box(scale=None)

    def f(x):
        if box.scale is None:
            box.scale = torch.full_like(x, 3.0)
        return x * box.scale

    return f, box


@program(2)
def lazily_made_with_hasattr():
    box = Box()

    def f(x):
        if not hasattr(box, "scale"):
            box.scale = torch.full_like(x, 3.0)
        return x * box.scale

    return f, box


@program(2)
def lazily_made_and_kept_up():
    box = Box(mean=None)

    def f(x):
        box.mean = x.mean() if box.mean is None else 0.9 * box.mean + 0.1 * x.mean()
        return x - box.mean

    return f, box


@program(2)
def memo():
    cache = {}

    def f(x):
        key = tuple(x.shape)
        if key not in cache:
            cache[key] = torch.arange(x.shape[0]).float()
        return x + cache[key]

    return f, cache


@program(1)
def list_of_losses():
    losses = []

    def f(x):
        loss = (x * x).sum()
        losses.append(loss)
        return loss

    return f, losses


@program(1)
def history_by_name():
    history = {"loss": [], "shape": []}

    def f(x):
        history["loss"].append((x * x).sum())
        history["shape"].append((tuple(x.shape), x))
        return x * 2

    return f, history


@program(3)
def rolling_window():
    window = []

    def f(x):
        window.append(x * 2)
        if len(window) > 2:
            window.pop(0)
        return sum(window)

    return f, window


@program(3)
def last_three():
    window = collections.deque([torch.zeros(3)] * 3, maxlen=3)

    def f(x):
        window.append(x * 2)
        return sum(window)

    return f, window


@program(1)
def shapes_seen():
    shapes = set()

    def f(x):
        shapes.add(tuple(x.shape))
        return x * 2

    return f, shapes


@program(1)
def moving_averages():
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    shadow = {name: p.detach().clone() for name, p in net.named_parameters()}

    def f(x):
        with torch.no_grad():
            for name, p in net.named_parameters():
                p += 0.1
                shadow[name] = 0.9 * shadow[name] + 0.1 * p.detach()
        return net(x).sum()

    return f, shadow


@program(1)
def input_kept():
    box = Box(x=None, pair=None)

    def f(x):
        box.x, box.pair = x, (x, 3)
        return x * 2

    return f, box


@program(1)
def input_of_the_call_before():
    box = Box(x=torch.zeros(3))

    def f(x):
        y = x - box.x
        box.x = x
        return y

    return f, box


@program(1)
def fresh_containers():
    box = Box(state=None)

    def f(x):
        h = x * 2
        box.state = {"h": h, "steps": [h, h + 1], "n": (1, "a")}
        return h

    return f, box


@program(2)
def activations_by_a_hook():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    torch.nn.init.ones_(net[0].weight), torch.nn.init.ones_(net[2].weight)
    torch.nn.init.zeros_(net[0].bias), torch.nn.init.zeros_(net[2].bias)
    features = {}
    net[1].register_forward_hook(lambda m, args, out: features.update(relu=out.detach()))
    return (lambda x: net(x)), features


@program(1)
def elements_of_a_list():
    state = [torch.zeros(3), torch.ones(3)]

    def f(x):
        state[0] = state[0] + x
        state[1] = state[0] * state[1]
        return state[1].sum()

    return f, state


@program(1)
def best_so_far():
    box = Box(best=torch.full((), -1e9))

    def f(x):
        box.best = torch.maximum(box.best, x.max())
        return x * 2

    return f, box


@program(2)
def cleared_and_filled():
    log = [1, 2]

    def f(x):
        log.clear()
        log.extend([x * 2, "a"])
        return x + 1

    return f, log


@program(2)
def taken_away():
    box, table = Box(old=1, n=0), {"a": 1, "b": 2}

    def f(x):
        if hasattr(box, "old"):
            del box.old
        table.pop("a", None)
        table["c"] = x * 2
        return x + 1

    return f, Box(box=box, table=table)


@program(2)
def training_with_a_record():
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    trainer = Box(step=0, state=Box(last=None, losses=[]))

    def f(x):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        trainer.step += 1
        trainer.state.last = loss.detach()
        trainer.state.losses.append(loss.detach())
        return loss.detach()

    return f, Box(trainer=trainer, net=list(net.parameters()))


@program(1)
def callbacks():
    class Recorder:
        def __init__(self):
            self.seen, self.latest = [], {}

        def on_step(self, name, value):
            self.seen.append(name)
            self.latest[name] = value

    recorders = [Recorder(), Recorder()]

    def f(x):
        for i, r in enumerate(recorders):
            r.on_step(f"r{i}", x * i)
        return x + 1

    return f, recorders


@program(1)
def global_variables():
    space = types.ModuleType("some_module").__dict__
    exec(
        "def f(x):\n    global h, n\n    h = h * 0.5 + x\n    n += 1\n    return h.sum()\n",
        space,
    )
    space.update(h=torch.zeros(3), n=0)
    return space["f"], Box(of=lambda: (space["h"], space["n"]))


@program(2)
def a_circle_of_buffers():
    box = Box(at=0, buffers=torch.zeros(4, 3))

    def f(x):
        box.buffers = box.buffers * 0.5 + x * (box.at + 1)
        box.at = (box.at + 1) % 4
        return box.buffers.sum()

    return f, box


@program(3)
def counter_and_records_of_dictionaries():
    counts, lists = collections.Counter(), collections.defaultdict(list)
    order = collections.OrderedDict(a=1, b=2)

    def f(x):
        counts["a"] += 1
        lists["k"].append(x * 2)
        order.move_to_end("a")
        order["n"] = x
        order.setdefault("q", 5)
        return x * counts["a"]

    return f, (counts, lists, order)


@program(2)
def full_log_of_sizes():
    latest = collections.deque([1, 2], maxlen=2)

    def f(x):
        latest.append(len(x))
        return x * 2

    return f, latest


@program(2)
def on_and_off():
    box = Box(on=False)

    def f(x):
        box.on = not box.on
        return x * 2 if box.on else x * 3

    return f, box


@program(2)
def switched_to_evaluation():
    net = nn.Dropout(0.5)

    def f(x):
        net.eval()
        return net(x)

    return f, Box(of=lambda: net.training)


@program(1)
def objects_from_outside():
    box = Box(table={"a": 1}, now=None, held=None)

    def f(x):
        box.now, box.held = box.table, [box.table, x * 2]
        return x + 1

    return f, box


@program(1)
def history_of_fresh_objects():
    seen = []

    def f(x):
        y = x * 2
        seen.append({"y": y, "list": [y, x], "more": (1, "a", x.dtype)})
        return y

    return f, seen


@program(1)
def hidden_state_of_two_tensors():
    box = Box(state=(torch.zeros(3), torch.ones(3)))

    def f(x):
        h, c = box.state
        box.state = (h * 0.5 + x, c + h)
        return box.state[1].sum()

    return f, box


@program(4)
def keys_and_values_of_layers():
    cache = [(torch.zeros(1, 3), (torch.zeros(1, 3), "a")) for _ in range(2)]

    def f(x):
        for i in range(2):
            keys, (values, name) = cache[i]
            keys, values = torch.cat([keys, x[None]])[-2:], torch.cat([values, x[None]])[-3:]
            cache[i] = keys, (values, name)
        return cache[1][1][0].sum()

    return f, cache


@program(2)
def hidden_state_made_lazily():
    box = Box(state=None)

    def f(x):
        if box.state is None:
            box.state = (torch.zeros_like(x), torch.zeros_like(x))
        h, c = box.state
        box.state = (h + x, c * h)
        return h.sum()

    return f, box


@program(1)
def hidden_state_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = (torch.zeros(3), torch.ones(3))

        def forward(self, x):
            h, c = self.state
            self.state = (h * 0.5 + x, c + h)
            return self.state[1].sum()

    net = Net()
    return (lambda x: net(x)), Box(state=net.__dict__, keys=("state",))


@program(2)
def two_places_of_one_tensor():
    shared = torch.zeros(3)
    box, other, table = Box(h=shared), Box(h=shared), {"h": shared}

    def f(x):
        box.h = box.h + x
        return box.h + other.h * table["h"]

    return f, (box, other, table)


@program(1)
def objects_known_by_one_name():
    class Cell:
        def __init__(self, h):
            self.h = h

        def step(self, x):
            self.h = self.h * 0.5 + x
            return self.h

        def look(self):
            return self.h

    cells = {"a": Cell(torch.zeros(3)), "b": Cell(torch.ones(3))}

    def f(x):
        return cells["a"].step(x) + cells["b"].look()

    return f, cells


@dataclasses.dataclass
class State:
    h: torch.Tensor
    c: torch.Tensor
    n: int = 0


class Held:
    def __init__(self, h):
        self.h = h


class Buffer(list):
    pass


class Registry(dict):
    pass


class Pair(typing.NamedTuple):
    h: torch.Tensor
    c: torch.Tensor


@program(1)
def state_in_a_fresh_dictionary():
    box = Box(state={"h": torch.zeros(3)})

    def f(x):
        box.state = {"h": box.state["h"] * 0.5 + x}
        return box.state["h"].sum()

    return f, box


@program(2)
def state_in_a_fresh_dictionary_made_lazily():
    box = Box(state=None)

    def f(x):
        h = x if box.state is None else box.state["h"] * 0.5 + x
        box.state = {"h": h, "n": 1}
        return h.sum()

    return f, box


@program(1)
def state_in_a_fresh_list():
    box = Box(state=[torch.zeros(3), torch.ones(3)])

    def f(x):
        a, b = box.state
        box.state = [b, a + x]
        return box.state[1].sum()

    return f, box


@program(1)
def keys_and_values_in_a_fresh_list():
    box = Box(past=[(torch.zeros(3), torch.ones(3)) for _ in range(2)])

    def f(x):
        box.past = [(k + x, v * 0.5) for k, v in box.past]
        return box.past[0][0].sum()

    return f, box


@program(1)
def state_in_a_fresh_dataclass():
    box = Box(state=State(torch.zeros(3), torch.ones(3)))

    def f(x):
        s = box.state
        box.state = State(s.h * 0.5 + x, s.c + s.h)
        return box.state.c.sum()

    return f, box


@program(2)
def state_and_a_counter_in_a_fresh_dataclass():
    box = Box(state=State(torch.zeros(3), torch.ones(3)))

    def f(x):
        s = box.state
        box.state = State(s.h * 0.5 + x, s.c + s.h, s.n + 1)
        return box.state.c.sum() * s.n

    return f, box


@program(1)
def a_replaced_field():
    box = Box(state=State(torch.zeros(3), torch.ones(3)))

    def f(x):
        box.state = dataclasses.replace(box.state, h=box.state.h + x)
        return box.state.h.sum()

    return f, box


@program(1)
def state_in_a_fresh_object():
    box = Box(state=Held(torch.zeros(3)))

    def f(x):
        box.state = Held(box.state.h * 0.5 + x)
        return box.state.h.sum()

    return f, box


@program(1)
def state_in_a_named_tuple():
    box = Box(state=Pair(torch.zeros(3), torch.ones(3)))

    def f(x):
        box.state = box.state._replace(h=box.state.h + x)
        return box.state.h.sum()

    return f, box


@program(2)
def attributes_by_the_dictionary_of_an_object():
    box, other = Box(h=torch.zeros(3)), Box(h=torch.zeros(3), n=0)

    def f(x):
        box.__dict__["h"] = box.__dict__["h"] * 0.5 + x
        vars(other).update(h=other.h + x, last=x)
        return box.h.sum()

    return f, (box, other)


@program(1)
def attributes_by_computed_names():
    box = Box(h0=torch.zeros(3), h1=torch.ones(3))

    def f(x):
        for i in range(2):
            setattr(box, f"h{i}", getattr(box, f"h{i}") * 0.5 + x)
        return box.h1.sum()

    return f, box


@program(1)
def containers_of_classes_of_their_own():
    log, table = Buffer(), Registry(h=torch.zeros(3))

    def f(x):
        log.append(x * 2)
        table["h"] = table["h"] * 0.5 + x
        return table["h"].sum()

    return f, (log, table)


@program(1)
def nested_state():
    layers = [(torch.zeros(3), torch.ones(3)), (torch.zeros(3), torch.ones(3))]
    box = Box(state={"layers": layers, "n": 0})

    def f(x):
        layers = [(h * 0.5 + x, c + h) for h, c in box.state["layers"]]
        box.state = {"layers": layers, "n": 0}
        return layers[1][1].sum()

    return f, box


@program(2)
def state_of_a_module_in_a_dataclass():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = None

        def forward(self, x):
            if self.state is None:
                self.state = State(torch.zeros_like(x), torch.ones_like(x))
            s = self.state
            self.state = State(s.h * 0.5 + x, s.c + s.h)
            return self.state.h.sum()

    net = Net()
    return (lambda x: net(x)), Box(state=net.__dict__, keys=("state",))


@program(1)
def the_latest_of_fresh_dictionaries():
    latest = collections.deque([{"h": torch.zeros(3)}], maxlen=1)
    entries = [{"h": torch.zeros(3)}]

    def f(x):
        latest.append({"h": latest[-1]["h"] * 0.5 + x})
        entries[0] = {"h": entries[0]["h"] + latest[0]["h"]}
        return entries[0]["h"].sum()

    return f, (latest, entries)


@program(1)
def moving_averages_in_a_fresh_dictionary():
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    ema = Box(shadow={name: p.detach().clone() for name, p in net.named_parameters()}, n=0)

    def f(x):
        ema.n += 1
        with torch.no_grad():
            for p in net.parameters():
                p += 0.1
            named = dict(net.named_parameters())
            ema.shadow = {k: v * 0.9 + named[k].detach() * 0.1 for k, v in ema.shadow.items()}
        return net(x).sum()

    return f, ema
