"""``torch.utils._pytree`` against PyTorch's: leaves, specs, maps and errors."""

import enum
import re
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from torchlike.utils import _pytree as ours

pytest.importorskip("torch")
from torch.utils import _pytree as theirs

Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


class Box:
    def __init__(self, inside):
        self.inside = inside

    def __eq__(self, other):
        return self.inside == other.inside

    def __repr__(self):
        return f"{type(self).__name__}({self.inside})"


class Named(Box):
    pass


for module in (ours, theirs):
    module.register_pytree_node(
        Named,
        lambda b: ([b.inside], None),
        lambda c, _: Named(*c),
        flatten_with_keys_fn=lambda b, m=module: ([(m.GetAttrKey("inside"), b.inside)], None),
    )
    module.register_pytree_node(Box, lambda b: ([b.inside], "context"), lambda c, _: Box(*c))

TREES = [
    {"b": 1, "a": (2, [3])},
    None,
    Pair(1, [2, ()]),
    OrderedDict(x=1, c=2),
    deque([1, 2], 3),
    defaultdict(list, {"q": 1}),
    3,
    (),
    [{}, {"k": None}],
    Box((1, Box(2))),
]
each = pytest.mark.parametrize("tree", TREES, ids=lambda t: repr(type(t).__name__))


@each
def test_leaves_specs_and_the_way_back(tree):
    (leaves, spec), (expected, other) = ours.tree_flatten(tree), theirs.tree_flatten(tree)
    assert leaves == expected == ours.tree_leaves(tree) == list(ours.tree_iter(tree))
    assert repr(spec) == repr(other)
    for name in ("num_leaves", "num_children", "num_nodes"):
        assert getattr(spec, name) == getattr(other, name)
    again = ours.tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec == ours.tree_structure(again)
    assert ours.tree_is_leaf(tree) == theirs.tree_is_leaf(tree)


CALLS = {
    "map": lambda p: p.tree_map(lambda x: [x], TREES[:3]),
    "map-two": lambda p: p.tree_map(lambda *a: a, (1, (2, 3)), (1, ({"a": 1}, 3))),
    "map-dictionaries": lambda p: p.tree_map(lambda *a: a, {"a": 1, "b": 2}, OrderedDict(b=3, a=4)),
    "map-leaf": lambda p: p.tree_map(len, {"a": [1, 2]}, is_leaf=lambda x: isinstance(x, list)),
    "map-only": lambda p: p.tree_map_only(int, lambda x: x + 1, (1, 2.0, [3])),
    "map-only-types": lambda p: p.tree_map_only((int, float), lambda x: x + 1, (1, 2.0, "a")),
    "map-only-predicate": lambda p: p.tree_map_only(lambda x: x == 1, lambda x: -x, (1, 2)),
    "map-in-place": lambda p: p.tree_map_(str, [1, 2]),
    "all-any": lambda p: [
        p.tree_all(bool, [1, 0]),
        p.tree_any(bool, [1, 0]),
        p.tree_all_only(int, bool, [1, 0.0]),
        p.tree_any_only(float, bool, [1, 0.0]),
    ],
    "up-to": lambda p: p.tree_structure((1, {"a": 2})).flatten_up_to((1, {"a": [3]})),
    "another-number": lambda p: p.tree_unflatten([1, 2], p.tree_structure((1,))),
    "another-type": lambda p: p.tree_map(max, (1, 2), [1, 2]),
    "another-arity": lambda p: p.tree_map(max, (1, 2), (1, 2, 3)),
    "another-key": lambda p: p.tree_map(max, {"a": 1}, {"b": 1}),
    "twice": lambda p: p.register_pytree_node(list, None, None),
    "paths": lambda p: [
        (p.keystr(path), p.key_get(TREES[:9], path), leaf)
        for path, leaf in p.tree_leaves_with_path(TREES[:9])
    ],
    "paths-and-spec": lambda p: str(p.tree_flatten_with_path(TREES[:9])[1]),
    "map-paths": lambda p: p.tree_map_with_path(
        lambda path, x, y: (p.keystr(path), x, y), {"a": [1, 2]}, {"a": [3, [4]]}
    ),
    "paths-leaf": lambda p: [
        p.keystr(path)
        for path, _ in p.tree_leaves_with_path(
            [{"a": 1}, [2]], is_leaf=lambda x: isinstance(x, dict)
        )
    ],
    "named": lambda p: [(p.keystr(k), x) for k, x in p.tree_leaves_with_path([Named((1, 2))])],
    "not-named": lambda p: p.tree_leaves_with_path(TREES[9]),
    "dictionary-parts": lambda p: [
        p._dict_flatten({"b": 1, "a": 2}),
        p._dict_unflatten([1, 2], ["b", "a"]),
        [(str(k), v) for k, v in p._dict_flatten_with_keys({"b": 1})[0]],
    ],
    "no-spec": lambda p: p.tree_unflatten([1], 3),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls(call):
    try:
        expected = call(theirs)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            call(ours)
    else:
        assert call(ours) == expected


def test_registering_again_by_the_older_name_replaces_with_warnings():
    for module in (ours, theirs):
        with (
            pytest.warns(FutureWarning, match="_register_pytree_node` is deprecated"),
            pytest.warns(UserWarning, match="already registered as pytree node. Overwriting"),
        ):
            module._register_pytree_node(
                Box, lambda b: ([b.inside], "context"), lambda c, _: Box(*c)
            )
        assert module.tree_leaves(Box((1, 2))) == [1, 2]


class Third(Box):
    pass


class Color(enum.Enum):
    RED = 1


for module in (ours, theirs):
    module.register_pytree_node(
        Third,
        lambda b: ([b.inside], Color.RED),
        lambda c, _: Third(*c),
        serialized_type_name="Third",
    )
    module._register_namedtuple(Pair, serialized_type_name="a pair")

WRITTEN = [t for t in TREES if t is not TREES[-1]] + [Third({1: Pair(1, 2)}), {"k": Color.RED}]


@pytest.mark.parametrize("tree", WRITTEN, ids=lambda t: repr(type(t).__name__))
def test_specs_as_text(tree):
    spec, other = ours.tree_structure(tree), theirs.tree_structure(tree)
    text = ours.treespec_dumps(spec)
    assert text == theirs.treespec_dumps(other)
    assert ours.treespec_loads(text) == spec
    assert ours.treespec_pprint(spec) == theirs.treespec_pprint(other)


class Unwritten:
    pass


TEXT_ERRORS = {
    "no-name": lambda p: p.treespec_dumps(p.tree_structure(Box(1))),
    "no-named-tuple": lambda p: p.treespec_dumps(p.tree_structure(namedtuple("Q", "x")(1))),
    "no-spec": lambda p: p.treespec_dumps(3),
    "protocol": lambda p: p.treespec_dumps(p.tree_structure(3), -1),
    "protocol-read": lambda p: p.treespec_loads("[-1, {}]"),
    "unknown": lambda p: p.treespec_loads(
        '[1, {"type": "nobody", "context": "null", "children_spec": []}]'
    ),
    "no-json": lambda p: p.treespec_dumps(p.tree_structure({object(): 1})),
    "one-direction": lambda p: p.register_pytree_node(
        Unwritten, None, None, to_dumpable_context=repr
    ),
    "another-named-tuple": lambda p: p.tree_structure(Pair(1, 2)).flatten_up_to(Other(1, 2)),
    "no-named-tuple-at-all": lambda p: p.tree_structure(Pair(1, 2)).flatten_up_to((1, 2)),
}


@pytest.mark.parametrize("call", TEXT_ERRORS.values(), ids=TEXT_ERRORS)
def test_text_that_cannot_be(call):
    kinds, texts = zip(*(_error(lambda p=p: call(p)) for p in (ours, theirs)), strict=True)
    assert kinds[0] is kinds[1]
    assert texts[0] == texts[1]


def _error(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.type, str(caught.value)
