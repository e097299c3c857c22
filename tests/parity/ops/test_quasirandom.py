"""Sobol sequences against PyTorch's."""

import pytest

import torchlike
import torchlike.quasirandom

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dimension", [1, 2, 5, 40, 1111])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 3}], ids=str)
def test_points(dimension, options):
    drawn = []
    for t in (torch, torchlike):
        engine = t.quasirandom.SobolEngine(dimension, **options)
        got = [engine.draw(5), engine.draw(), engine.fast_forward(3).draw(4, dtype=t.float64)]
        got.append(engine.reset().draw_base2(4))
        got.append(engine.reset().draw(2, dtype=t.float64))
        got.append(engine.draw(2, out=t.empty(2, dimension)))
        drawn.append([repr(engine), engine.num_generated, *(x.tolist() for x in got)])
        assert [str(x.dtype) for x in got[1:3]] == ["torch.float32", "torch.float64"]
    assert drawn[0] == drawn[1]


def test_refusals():
    said = []
    for t in (torch, torchlike):
        engine = t.quasirandom.SobolEngine(2)
        engine.draw(3)
        for wrong in (lambda t=t: t.quasirandom.SobolEngine(0), lambda e=engine: e.draw_base2(2)):
            with pytest.raises(ValueError) as error:
                wrong()
            said.append(str(error.value))
    assert said[:2] == said[2:]


def test_unseeded_scrambles_differ():
    first, second = (torchlike.quasirandom.SobolEngine(3, scramble=True).draw(4) for _ in range(2))
    assert not torchlike.equal(first, second)
    assert first.min() >= 0
    assert first.max() < 1
