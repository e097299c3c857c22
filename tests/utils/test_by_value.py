"""Pickles by value: what a script defines works in a process that cannot import it."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = textwrap.dedent('''
    import abc, collections, dataclasses, enum, functools, io, os.path, pickle, sys, types, typing
    from torchlike.utils.data.processes import by_value

    CONST = [1, 2, 3]
    counter = {"n": 0}

    class Color(enum.Enum):
        RED = 1
        BLUE = "b"
        def shout(self): return self.name + "!"

    class Flag(enum.IntFlag):
        A = 1
        B = 2

    @dataclasses.dataclass
    class Point:
        x: int
        y: list = dataclasses.field(default_factory=list)
        z: float = 2.5
        def total(self): return self.x + len(self.y)

    @dataclasses.dataclass(slots=True)
    class Slotted:
        a: int
        b: int = 4

    class Pair(typing.NamedTuple):
        a: int
        b: str = "q"
        def both(self): return (self.a, self.b)

    Old = collections.namedtuple("Old", "u v", defaults=[7])
    T = typing.TypeVar("T")

    class Base(abc.ABC):
        @abc.abstractmethod
        def f(self): ...

    class Kid(Base, typing.Generic[T]):
        """doc"""
        k = CONST
        def __init__(self, v):
            super().__init__()
            self.v = v
        def f(self): return self.v + len(CONST)
        @property
        def p(self): return self.v * 2
        @p.setter
        def p(self, v): self.v = v
        @classmethod
        def c(cls): return cls.__name__
        @staticmethod
        def s(): return os.path.join("a", "b")
        @functools.cached_property
        def once(self): return self.v + 1
        @functools.lru_cache
        def kept(self): return self.v
        class Inner: q = 5

    class Meta(type):
        def __new__(meta, name, bases, space):
            made = super().__new__(meta, name, bases, space)
            made.tag = name
            return made

    class WithMeta(metaclass=Meta): pass

    class Slots:
        __slots__ = ("a", "_b")
        def __init__(self): self.a, self._b = 1, 2

    class Passes:
        def __init__(self, inner): self.inner = inner
        def __getattr__(self, name): return getattr(self.inner, name)

    class Wrong(ValueError):
        def __init__(self, a, b):
            super().__init__(a, b)
            self.b = b

    def factorial(n): return 1 if n < 2 else n * factorial(n - 1)

    def outer():
        n = 0
        def rise():
            nonlocal n
            n += 1
            return n
        def level(): return n
        def count(k): return 0 if k == 0 else 1 + count(k - 1)
        class Local:
            def m(self): return rise(), __class__.__name__
        return rise, level, count, Local

    def bump():
        counter["n"] += 1
        return counter["n"]

    def bind():
        global bound
        bound = 3

    def look(): return bound

    rise, level, count, Local = outer()
    made = dict(
        color=Color.BLUE, Color=Color, flag=Flag.A | Flag.B, point=Point(1, [2]), Point=Point,
        slotted=Slotted(1), pair=Pair(1), Pair=Pair, old=Old(1), kid=Kid(3), meta=WithMeta(),
        slots=Slots(), factorial=factorial, rise=rise, level=level, count=count, local=Local(),
        bump=bump, bind=bind, look=look, add=lambda x, y=CONST: x + y[0], Base=Base,
        part=functools.partial(factorial, 5), method=Kid(4).f, passes=Passes([1]), alias=Kid[int],
        wrong=Wrong(1, 2), proxy=types.MappingProxyType({1: 2}),
    )

    def check(o):
        assert o["color"].shout() == "BLUE!"
        assert o["color"] is o["Color"].BLUE and o["Color"](1).name == "RED"
        assert int(o["flag"]) == 3
        assert o["point"].total() == 2 and o["Point"](5).y == []
        assert o["point"] == o["Point"](1, [2])
        assert [f.name for f in dataclasses.fields(o["point"])] == ["x", "y", "z"]
        assert dataclasses.replace(o["point"], x=9).x == 9
        assert (o["slotted"].a, o["slotted"].b) == (1, 4)
        assert o["pair"].both() == (1, "q") and o["Pair"](2) == (2, "q") and o["old"].v == 7
        kid = o["kid"]
        assert (kid.f(), kid.p, kid.c(), kid.s(), kid.once) == (6, 6, "Kid", "a/b", 4)
        assert kid.Inner.q == 5
        assert type(kid).__doc__ == "doc" and kid.kept() == 3
        kid.p = 8
        assert kid.v == 8
        try:
            o["Base"]()
        except TypeError:
            pass
        else:
            raise AssertionError("an abstract class")
        assert o["meta"].tag == "WithMeta" and (o["slots"].a, o["slots"]._b) == (1, 2)
        assert o["factorial"](5) == o["part"]() == 120 and o["count"](5) == 5
        before = o["level"]()
        o["rise"]()
        assert o["local"].m() == (before + 2, "Local") and o["level"]() == before + 2
        assert o["bump"]() == 1 and o["bump"]() == 2
        o["bind"]()
        assert o["look"]() == 3
        assert o["add"](1) == 2 and o["method"]() == 7 and o["wrong"].b == 2 and o["proxy"][1] == 2
        assert o["passes"].inner == [1] and o["passes"].count(1) == 1
''')

SENDS = SCRIPT + textwrap.dedent(r"""
    file = io.BytesIO()
    pickler = by_value.Pickler(file)
    pickler.dump((made, check))
    assert "os" in pickler.modules or "posixpath" in pickler.modules, pickler.modules
    assert "__main__" not in pickler.modules
    sys.stdout.buffer.write(b"%d\n" % len(file.getvalue()) + file.getvalue())
    sys.stdout.buffer.flush()
    color, point, pair, local, kinds = pickle.load(sys.stdin.buffer)
    assert color is Color.BLUE and kinds is Color
    assert type(point) is Point and type(pair) is Pair and type(local) is Local
    print("came back", file=sys.stderr)
""")

RECEIVES = textwrap.dedent("""
    import io, pickle, sys
    made, check = pickle.load(sys.stdin.buffer)
    check(made)
    from torchlike.utils.data.processes import by_value
    file = io.BytesIO()
    back = [made[n] for n in ("color", "point", "pair", "local", "Color")]
    by_value.Pickler(file, back=True).dump(back)
    sys.stdout.buffer.write(file.getvalue())
""")


@pytest.mark.exhaustive
def test_a_script_is_known_where_it_never_ran(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SENDS)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        subprocess.Popen([sys.executable, script], **pipes) as sender,
        subprocess.Popen([sys.executable, "-c", RECEIVES], **pipes) as receiver,
    ):
        size = int(sender.stdout.readline())
        answer, errors = receiver.communicate(sender.stdout.read(size), timeout=60)
        assert receiver.returncode == 0, errors.decode()
        _, errors = sender.communicate(answer, timeout=60)
        assert errors.decode() == "came back\n"
