"""Guards put together: few questions a call, and still whatever could change the answer is seen."""

import functools

import pytest

import torchlike as torch
from torchlike._jit.guards.merged import MergedGuard, merged
from torchlike._runtime import class_versions


def conditions(jitted):
    """What the generated guard of the latest program asks, as source."""
    return jitted.latest.guards.expressions(lambda what: "k")


def with_kwargs(function):
    """A decorator as libraries have it, which gives its wrapper an attribute."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        own = {**kwargs}
        return function(*args, **own)

    return wrapper


class Config:
    scale = 2.0
    width = 8

    def __init__(self):
        self.use_cache = False


class Base(torch.nn.Module):
    factor = 1.0

    def rescale(self, x):
        return x * self.factor


class Block(Base):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.norm = torch.nn.LayerNorm(config.width)
        self.linear = torch.nn.Linear(config.width, config.width)

    @with_kwargs
    def forward(self, x, mask=None, **kwargs):
        if hasattr(self.linear.weight, "quantized"):
            x = x + 1000
        if getattr(activation, "is_off", False):
            return self.rescale(x)
        return x + self.rescale(activation(self.linear(self.norm(x)), scale=self.config.scale))


@with_kwargs
def activation(x, scale=1.0):
    return torch.relu(x) * scale


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.config = Config()
        self.blocks = torch.nn.ModuleList(Block(self.config) for _ in range(layers))

    @with_kwargs
    def forward(self, x, **kwargs):
        for block in self.blocks:
            x = block(x, **kwargs)
        return x


@pytest.fixture
def compiled():
    torch.manual_seed(0)
    model = Model(3)
    jitted = torch.jit(lambda x: model(x, mask=None, use_cache=False))
    x = torch.randn(2, 8)
    for _ in range(3):
        jitted(x)
    assert jitted.compiles == 1
    return model, jitted, x


def count_of_lookups(layers):
    model = Model(layers)
    jitted, x = torch.jit(lambda x: model(x, mask=None), warmup=0), torch.ones(2, 8)
    for _ in range(2):
        jitted(x)
    return len(jitted.latest.guards), conditions(jitted)


def test_the_questions_of_a_call_are_few_and_do_not_grow_with_the_layers():
    few, shallow = count_of_lookups(2)
    many, deep = count_of_lookups(12)
    assert many > few + 10 * 10  # the tables and names of each layer
    assert len(deep) <= len(shallow) <= 40
    assert sum(map(len, deep)) < 4_000


def test_nothing_that_the_capture_made_is_guarded(compiled):
    _, jitted, _ = compiled
    labels = [g.label for g in jitted.latest.guards.guards if hasattr(g, "label")]
    assert labels
    assert not [x for x in labels if x.partition(".")[0] in ("own", "kwargs")]


def of_base():
    Base.factor = 3.0


def of_derived():
    Block.factor = 3.0


def of_config():
    Config.scale = 3.0


def of_patched_method():
    Base.rescale = lambda self, x: x * 5


def of_another_base():
    Block.__bases__ = (Other,)


class Other(Base):
    factor = 7.0


@pytest.mark.parametrize(
    "change", [of_base, of_derived, of_config, of_patched_method, of_another_base]
)
def test_what_changes_of_a_class_is_seen(compiled, change):
    model, jitted, x = compiled
    before = dict(vars(Base)), dict(vars(Config)), Block.__bases__
    try:
        change()
        expected = model(x)
        assert torch.allclose(jitted(x), expected, atol=1e-4)
        assert jitted.compiles == 2
    finally:
        Base.factor, Base.rescale = before[0]["factor"], before[0]["rescale"]
        Config.scale, Block.__bases__ = before[1]["scale"], before[2]
        if "factor" in vars(Block):
            del Block.factor
    assert torch.allclose(jitted(x), model(x), atol=1e-4)
    assert jitted.compiles == 2  # the first program fits again


def of_parameter(model):
    model.blocks[1].linear.weight.quantized = True


def of_function(model):
    activation.is_off = True


def of_instance(model):
    model.config.scale = 4.0


def of_table(model):
    model.blocks[0].linear._parameters["weight"] = torch.nn.Parameter(torch.ones(8, 8))


def of_order(model):
    table = model.blocks[0].linear._parameters
    table["weight"] = table.pop("weight")


def of_children(model):
    model.blocks._modules["0"], model.blocks._modules["1"] = model.blocks[1], model.blocks[0]


def of_forward(model):
    model.blocks[0].forward = lambda x, **kwargs: x


def of_hook(model):
    model.blocks[0].register_forward_hook(lambda module, args, result: result + 1)


def of_new_child(model):
    model.blocks.append(Block(model.config))


@pytest.mark.parametrize(
    "change",
    [
        of_parameter,
        of_function,
        of_instance,
        of_table,
        of_order,
        of_children,
        of_forward,
        of_hook,
        of_new_child,
    ],
)
def test_what_changes_elsewhere_is_seen(compiled, change):
    model, jitted, x = compiled
    try:
        change(model)
        expected = model(x)
        assert torch.allclose(jitted(x), expected, atol=1e-4)
        assert jitted.compiles == 2
    finally:
        vars(activation).pop("is_off", None)


def test_a_class_that_is_as_it_was_needs_no_other_program(compiled):
    _, jitted, x = compiled
    Config.another = 1
    del Config.another
    Config.scale = 4.0 / 2  # an equal number, by another object
    for _ in range(3):
        jitted(x)
    Config.scale = 2.0
    assert jitted.compiles == 1


def test_names_are_compared_once_for_each_version_of_a_class(compiled, monkeypatch):
    _, jitted, x = compiled
    asked = []
    check = MergedGuard.check
    monkeypatch.setattr(
        MergedGuard, "check", lambda self, a=(): asked.append(self.cls) or check(self, a)
    )
    for _ in range(3):
        jitted(x)
    assert asked == []
    Base.unrelated = 1
    try:
        for _ in range(3):
            jitted(x)
        assert asked == [Block]  # which is asked for its base, too
    finally:
        del Base.unrelated
    assert jitted.compiles == 1


@pytest.mark.parametrize("change", [of_base, of_derived])
def test_where_versions_cannot_be_read_names_are_compared_at_each_call(monkeypatch, change):
    monkeypatch.setattr(class_versions, "are_readable", lambda: False)
    model, x = Model(1), torch.ones(2, 8)
    jitted = torch.jit(lambda x: model(x))
    jitted(x), jitted(x)
    try:
        change()
        assert torch.allclose(jitted(x), model(x), atol=1e-4)
        assert jitted.compiles == 2
    finally:
        Base.factor = 1.0
        if "factor" in vars(Block):
            del Block.factor


def test_this_python_has_versions_of_classes():
    assert class_versions.are_readable()


def test_the_message_names_what_changed_first(compiled, caplog):
    _, jitted, x = compiled
    Base.factor = 3.0
    try:
        with caplog.at_level("INFO", logger="torchlike.recompiles"):
            jitted(x)
    finally:
        Base.factor = 1.0
    assert "`Base.factor` changed: 1.0 → 3.0" in caplog.messages[0]


def test_merged_guards_hold_only_where_each_does(compiled):
    model, jitted, _ = compiled
    guards = jitted.latest.guards.guards
    for guard in merged(g for g in guards if not g.follows_epoch):
        assert guard.check([torch.ones(2, 8)])
    model.blocks[2].linear._parameters["bias"] = None
    (broken,) = [g for g in merged(guards) if isinstance(g, MergedGuard) and not g.check()]
    assert broken.explain() == "`Linear.bias` was bound to another NoneType"
