"""Docstrings of classes say what their arguments mean."""

import inspect

import pytest

import torchlike as torch

PACKAGES = {
    "nn": torch.nn,
    "optim": torch.optim,
    "lr_scheduler": torch.optim.lr_scheduler,
    "distributions": torch.distributions,
}


def _classes(package):
    for name, cls in vars(package).items():
        if name[0] != "_" and isinstance(cls, type) and cls.__module__.startswith("torchlike."):
            yield cls


@pytest.mark.parametrize("name", PACKAGES)
def test_arguments_are_named(name):
    lacking = {}
    for cls in _classes(PACKAGES[name]):
        doc = inspect.getdoc(cls) or ""
        wanted = [p for p in inspect.signature(cls).parameters.values() if p.name[0] != "_"]
        if wanted and not doc.startswith("Not supported") and "Args:" not in doc:
            lacking[cls.__name__] = [p.name for p in wanted]
    names = {parameter for parameters in lacking.values() for parameter in parameters}
    assert names <= {"args", "kwargs", "others"}


def test_what_stands_at_the_definition_comes_first_and_sections_follow():
    doc = inspect.getdoc(torch.optim.lr_scheduler.StepLR)
    assert doc.startswith("The rate times ``gamma``")
    assert "  step_size: after how many epochs the rate changes." in doc
    assert doc.index("Args:") < doc.index("Example:")
    assert "  >>> rates\n  [1.0, 0.1, 0.1]" in doc
    assert "the probability with which an element" in inspect.getdoc(torch.nn.Dropout2d)
    assert "square" in inspect.getdoc(torch.optim.RMSprop)


def test_a_class_of_the_user_has_its_own_words():
    class Mine(torch.nn.ReLU):
        """Do as I say."""

    assert inspect.getdoc(Mine) == "Do as I say."
