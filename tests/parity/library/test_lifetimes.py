"""What a ``Library`` defines ends with it; operators defined as before ``custom_op``."""

import gc

import pytest

torch = pytest.importorskip("torch")

from tests.parity import oracle  # noqa: E402


def test_the_end_of_a_library():
    def ended(t):
        library = t.library.Library("parity_ended", "DEF")
        library.define("plus(Tensor x) -> Tensor")
        library.impl("plus", lambda x: x + 1, "CPU")
        found = t.ops.parity_ended.plus(t.ones(2))
        del library
        gc.collect()
        return found, hasattr(t.ops.parity_ended, "plus")

    oracle.compare(ended)


def test_a_namespace_may_be_defined_again():
    def again(t):
        for i in range(3):
            library = t.library.Library("parity_again", "DEF")
            library.define("plus(Tensor x) -> Tensor")
            library.impl("plus", lambda x, i=i: x + i, "CPU")
            found = t.ops.parity_again.plus(t.ones(2))
            del library
        return found

    oracle.compare(again)


def test_older_definitions():
    def older(t):
        ops = __import__(f"{t.__name__}._custom_ops", fromlist=["custom_op"])

        def twice(x: t.Tensor) -> t.Tensor:
            raise NotImplementedError

        twice.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
        ops.custom_op("parity_older::twice")(twice)
        ops.impl("parity_older::twice")(lambda x: x * 2)
        ops.impl_abstract("parity_older::twice")(lambda x: x.new_empty(x.shape))
        twice = t.ops.parity_older.twice
        return twice(t.ones(2)), twice(t.ones(3, device="meta")).shape

    oracle.compare(older)


@pytest.mark.parametrize("given", [3, len, lambda x: x])
def test_what_is_no_definition(given):
    def refused(t):
        ops = __import__(f"{t.__name__}._custom_ops", fromlist=["custom_op"])
        return ops.custom_op("parity_older::other")(given)

    oracle.refused(refused)


def test_fake_modes_within_each_other():
    def nested(t):
        mode = __import__(f"{t.__name__}._subclasses.fake_tensor", fromlist=["x"]).FakeTensorMode
        found = []
        with mode() as outer:
            with mode() as inner:
                found.append(t.ones(2).fake_mode is inner)
                with inner:
                    found.append(t.ones(2).fake_mode is inner)
                found.append(t.ones(2).fake_mode is inner)
            found.append(t.ones(2).fake_mode is outer)
        return found, type(t.ones(2)).__name__

    oracle.compare(nested)


def test_a_converter_remembers():
    def converted(t):
        fakes = __import__(f"{t.__name__}._subclasses.fake_tensor", fromlist=["x"])
        mode, converter, x = fakes.FakeTensorMode(), fakes.FakeTensorConverter(), t.ones(2)
        first, second = (converter.from_real_tensor(mode, x) for _ in range(2))
        placed = converter.from_meta_and_device(mode, t.ones(3, device="meta"), t.device("cpu"))
        return first is second, first.shape, placed.device.type, placed.fake_mode is mode

    oracle.compare(converted)
