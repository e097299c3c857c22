"""Checkpoints written by hand to change the process that loads them, or to take its memory."""

import collections
import io
import pickle
import re
import tracemalloc
import warnings
import zipfile

import pytest
from safetensors import SafetensorError

import torchlike as torch
from tests.serialization import pickles as p
from tests.serialization.mutants import mutants, outcomes
from torchlike.serialization.safe import load_safetensors, save_safetensors
from torchlike.utils import _pytree as pytree

STATE = p.dictionary
ATTRIBUTED = "torch._tensor._rebuild_from_type_v2"


def load(code, **options):
    return torch.load(p.archive(code), **options)


def built(made, **state):
    return p.program(made, STATE(**state), b"b")


@pytest.mark.parametrize(
    "code",
    [
        built(p.named("torch.Tensor"), backward=p.named("torch.Size")),
        built(p.named("torch.float32"), itemsize=p.number(1)),
        # As a pair of attributes and slots, which pickle sets by setattr.
        p.program(p.named("torch.Tensor"), b"N", STATE(backward=p.named("torch.Size")), b"\x86b"),
        p.program(p.named("torch.float32"), b"N", STATE(itemsize=p.number(1)), b"\x86b"),
        p.program(p.named("torch.FloatStorage"), b"N", STATE(dtype=p.number(1)), b"\x86b"),
        p.program(p.called("torch.device", p.text("cpu")), b"N", STATE(type=p.text("x")), b"\x86b"),
        p.program(p.storage(), b"N", STATE(kind=p.number(1)), b"\x86b"),
        built(p.called("collections.OrderedDict"), items=p.named("torch.Size")),
        built(p.tensor(), backward=p.named("torch.Size")),
        built(p.tensor(), __class__=p.named("torch.nn.parameter.Parameter")),
        p.program(
            p.called(
                ATTRIBUTED,
                p.named("torch._utils._rebuild_parameter"),
                p.named("torch.Tensor"),
                p.several(p.tensor(), b"\x88", b"N"),
                STATE(backward=p.named("torch.Size")),
            )
        ),
        p.program(
            p.called(
                ATTRIBUTED,
                p.named("torch._utils._rebuild_parameter"),
                p.named("torch.Tensor"),
                p.several(p.tensor(), b"\x88", b"N"),
                STATE(grad=p.tensor()),
            )
        ),
    ],
)
def test_no_file_sets_attributes_of_what_it_did_not_make(code):
    before = dict(vars(torch.Tensor)), torch.float32.itemsize, torch.FloatStorage.dtype
    try:
        with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
            load(code)
        assert before == (
            dict(vars(torch.Tensor)),
            torch.float32.itemsize,
            torch.FloatStorage.dtype,
        )
    finally:
        torch.Tensor.backward = before[0]["backward"]
        torch.float32.itemsize = before[1]


@pytest.mark.parametrize(
    "code",
    [
        p.called("torch.Tensor", p.number(10**9)),
        p.called("builtins.bytearray", p.number(2**31 - 1)),
        p.called("builtins.bytes", p.number(2**31 - 1)),
        p.called("torch.Size", p.text("abc")),
        p.called("torch.float32"),
        p.called("collections.defaultdict", p.named("torch.Size")),
        p.called("collections.Counter", p.text("abc")),
        p.called("torch._utils._rebuild_parameter", p.number(1), b"\x88", b"N"),
        p.called("torch.nested._internal.nested_tensor._rebuild_njt", STATE(cls=p.number(1))),
        p.called("torch._utils._rebuild_meta_tensor_no_storage", p.number(1), b")", b")", b"\x88"),
        p.called(
            ATTRIBUTED,
            p.named("_codecs.encode"),
            p.named("torch.Tensor"),
            p.several(p.text("a"), p.text("latin1")),
            b"N",
        ),
        p.named("torch.Size") + p.number(1) + b"R",
        p.called("torch.serialization._get_layout", p.number(1)),
        p.called("builtins.complex", p.text("1")),
    ],
)
def test_arguments_of_what_a_file_may_call_are_checked(code):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(p.program(code))


@pytest.mark.parametrize("opcode", [b"i", b"o", b"2", b"P", b"\x82", b"\x97", b"\x98", b"g", b"\0"])
def test_opcodes_that_the_format_does_not_need_are_refused(opcode):
    with pytest.raises(pickle.UnpicklingError, match=f"Unsupported operand {opcode[0]}"):
        load(p.program(b"(N", opcode, b"0\n0\n"))


def test_a_container_is_filled_if_it_is_one():
    for code in (
        p.named("torch.Tensor") + p.text("a") + p.number(1) + b"s",
        p.tensor() + p.number(1) + b"a",
    ):
        with pytest.raises(pickle.UnpicklingError, match="Can only"):
            load(p.program(code))


@pytest.mark.parametrize("legacy", [False, True])
def test_a_memo_index_takes_no_memory(legacy):
    code = p.program(b"N", b"r" + (2**31 - 2).to_bytes(4, "little"))
    file = p.archive(code)
    if legacy:
        head = io.BytesIO()
        torch.save(1, head, _use_new_zipfile_serialization=False)
        parts = head.getvalue().split(b"\x80\x02")
        parts[4] = code[2:]
        file = io.BytesIO(b"\x80\x02".join(parts))
    tracemalloc.start()
    try:
        assert torch.load(file) is None
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_a_length_that_the_file_does_not_have_takes_no_memory():
    with pytest.raises(RuntimeError, match=r"the file is damaged: .* bytes are wanted"):
        load(p.program(b"B" + (2**32 - 1).to_bytes(4, "little")))


def test_a_key_that_takes_ages_to_hash_is_refused():
    """Sixty pairs, each of the one before twice, are 2**60 parts."""
    deep = b")" + b"".join(b"q\x00h\x00\x86" for _ in range(60))
    for code in (
        b"}" + deep + b"Ns",
        b"\x8f(" + deep + b"\x90",
        b"(" + deep + b"\x91",
        p.named("builtins.set") + p.several(p.listed(deep)) + b"R",
    ):
        with pytest.raises(pickle.UnpicklingError, match="too many parts"):
            load(p.program(code))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (p.several(p.tensor(), p.tensor(p.storage("IntStorage"))), "as different types"),
        (p.tensor(stride=(1, 1)), "unequal size length (1) and stride length (2)"),
        (p.tensor(size=(40,)), "out of bounds"),
        (p.tensor(offset=-1), "offset"),
        (p.tensor(p.storage(count=400)), "truncated"),
        (
            p.tensor(p.storage(location="cuda:99999999999999999999")),
            "Could not parse device index '99999999999999999999'",
        ),
        (
            p.called("torch.device", p.text("cuda:99999999999999999999")),
            "Could not parse device index '99999999999999999999'",
        ),
    ],
)
def test_tensors_that_cannot_be(code, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        load(p.program(code))


def test_the_first_of_two_records_of_one_name_counts(tmp_path):
    path = tmp_path / "two.pt"
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as made:
        warnings.simplefilter("ignore")
        for code in (p.program(p.number(1)), p.program(p.named("os.system"))):
            made.writestr("a/data.pkl", code)
        made.writestr("a/version", "3\n")
    assert torch.load(path) == 1
    assert torch.serialization.get_unsafe_globals_in_checkpoint(path) == []


def test_what_a_file_names_is_found_however_it_names_it():
    code = p.program(
        p.text("os"),
        b"q\x00",
        p.text("x"),
        b"0",
        p.text("system"),
        b"q\x01",
        b"0",
        p.text("a"),
        b"h\x00h\x01",
        b"\x93",
    )
    found = torch.serialization.get_unsafe_globals_in_checkpoint(p.archive(code))
    assert found == ["os.system"]


# -- what still loads ------------------------------------------------------------------------------


class Held:
    """A class that a user allows."""

    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = 1, [2]


class Points(collections.UserList):
    pass


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_plain_values_in_any_protocol(protocol):
    values = [
        0,
        255,
        256,
        65535,
        65536,
        -1,
        2**40,
        10**1000,
        True,
        False,
        None,
        1.5,
        "ü\ud800",
        b"ab" * 200,
        bytearray(b"x"),
        {1, (2, 3)},
        frozenset({1}),
        (),
        (1,),
        (1, 2, 3, 4),
        1j,
        collections.OrderedDict(a=1),
        collections.Counter("aab"),
        {(1, "a"): slice(1, None, 2)},
        ["x" * 300],
    ]
    if protocol > 1:
        values.append(torch.Size([1]))
    file = p.archive(pickle.dumps([values, values], protocol))
    with torch.serialization.safe_globals([(torch.Size, "torch.Size")]):
        found = torch.load(file)
    assert found == [values, values]
    assert found[0] is found[1]


def test_states_of_what_the_user_allowed():
    held, points = Held(), Points([1, 2])
    points.name = "p"
    file = io.BytesIO()
    torch.save([held, points, collections.deque([1], 3)], file)
    file.seek(0)
    with torch.serialization.safe_globals([Held, Points, collections.deque]):
        a, b, c = torch.load(file)
    assert (a.left, a.right, b, b.name, c, c.maxlen) == (1, [2], points, "p", held_deque(), 3)


def held_deque():
    return collections.deque([1], 3)


def test_errors_of_what_the_user_allowed_are_its_own():
    class Fails:
        def __setstate__(self, state):
            raise KeyError("mine")

    file = p.archive(p.program(p.named("here.Fails"), b")\x81", STATE(a=b"N"), b"b"))
    with (
        torch.serialization.safe_globals([(Fails, "here.Fails")]),
        pytest.raises(KeyError, match="mine"),
    ):
        torch.load(file)

    def place(storage, location):
        raise KeyError("there")

    with pytest.raises(KeyError, match="there"):
        torch.load(p.archive(p.program(p.tensor())), map_location=place)


def test_attributes_of_tensors_and_dictionaries_come_back():
    file = io.BytesIO()
    state = torch.nn.Linear(1, 1).state_dict()
    parameter = torch.nn.Parameter(torch.ones(1))
    parameter.is_mine = True
    torch.save([state, parameter], file)
    file.seek(0)
    found = torch.load(file)
    assert found[0]._metadata == state._metadata
    assert found[1].is_mine is True


# -- damaged files ---------------------------------------------------------------------------------


def whole_checkpoint(legacy):
    file = io.BytesIO()
    model = torch.nn.Linear(2, 2)
    values = {
        "m": model.state_dict(),
        "n": [1, 2.5, "x", None, (1, 2)],
        "b": torch.ones(3, dtype=torch.bfloat16),
        "p": torch.nn.Parameter(torch.ones(2)),
        "s": torch.eye(2).to_sparse(),
    }
    torch.save(values, file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def is_clear(error):
    return isinstance(error, (RuntimeError, pickle.UnpicklingError, EOFError, NotImplementedError))


def in_archive(code):
    """The pickle of a whole checkpoint in an archive with right checksums."""
    whole = io.BytesIO(whole_checkpoint(False))
    made = io.BytesIO()
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, code if name.endswith("data.pkl") else old.read(name))
    return made.getvalue()


def pickle_of_a_checkpoint():
    with zipfile.ZipFile(io.BytesIO(whole_checkpoint(False))) as archive:
        return archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))


COUNTS = [20, pytest.param(500, marks=pytest.mark.exhaustive)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", ["zip", "pickle", "legacy"])
def test_damaged_checkpoints_say_so(kind, count):
    whole = pickle_of_a_checkpoint() if kind == "pickle" else whole_checkpoint(kind == "legacy")

    def read(content):
        content = in_archive(content) if kind == "pickle" else content
        return torch.load(io.BytesIO(content))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts, raw = outcomes(mutants(whole, count), read, is_clear)
    assert not raw
    assert counts["clear"] > count // 2, counts


@pytest.mark.parametrize("count", COUNTS)
def test_damaged_safetensors_say_so(count, tmp_path):
    path = tmp_path / "a.safetensors"
    save_safetensors({"a": torch.ones(3, 4), "b": torch.arange(5)}, path)

    def read(content):
        path.write_bytes(content)
        return load_safetensors(path)

    def says_so(error):
        return isinstance(error, (RuntimeError, SafetensorError))

    counts, raw = outcomes(mutants(path.read_bytes(), count), read, says_so)
    assert not raw
    assert counts["clear"] > count // 2, counts


@pytest.mark.parametrize("count", COUNTS)
def test_damaged_texts_of_trees_say_so(count):
    _, spec = pytree.tree_flatten({"a": [1, (2, 3)], "b": {"c": None}})

    def says_so(error):
        return isinstance(error, (ValueError, NotImplementedError))

    counts, raw = outcomes(
        mutants(pytree.treespec_dumps(spec).encode(), count),
        lambda content: pytree.treespec_loads(content.decode("latin1")),
        says_so,
    )
    assert not raw
    assert counts["clear"] > count // 2, counts
