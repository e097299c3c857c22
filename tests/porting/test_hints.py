import pytest

from torchlike.porting import hints


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("torch.fx", "jax.make_jaxpr"),
        ("torch.fx.experimental.Proxy", "jax.make_jaxpr"),
        ("torch.fxx", "torchlike.from_jax"),
        ("torch.zeta", "torchlike.from_jax"),
        ("elsewhere", "torchlike.from_jax"),
    ],
)
def test_longest_prefix_wins(name, advice):
    assert advice in hints.instead(name)


def test_message_says_the_name():
    assert hints.missing("torch.onnx.export").startswith("torchlike has no torch.onnx.export; ")


def test_a_slip_of_the_fingers_is_no_missing_name():
    said = hints.missing("torch.sofmax", ["softmin", "softmax", "softplus"])
    assert said == "module 'torch' has no attribute 'sofmax'. Did you mean: 'softmax'?"
