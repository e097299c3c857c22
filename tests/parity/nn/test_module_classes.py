"""What may be a base of a module's class beside Module, as in PyTorch."""

import typing

import pytest

import torchlike

torch = pytest.importorskip("torch")


def test_generic_modules():
    T = typing.TypeVar("T")
    for t in (torch, torchlike):

        class First(t.nn.Module, typing.Generic[T]):
            """Modules before Generic."""

        class Last(typing.Generic[T], t.nn.Module):
            """And behind it."""

        class Told(t.nn.Module):
            def __init_subclass__(cls, word, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.word = word

        class Below(Told, word="said"):
            """Its base is told of it."""

        assert First.__parameters__ == (T,)
        assert typing.get_args(First[int]) == typing.get_args(Last[int]) == (int,)
        assert Below.word == "said"
