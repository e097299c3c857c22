"""Tensors with a history are pickled as leaves of their values."""

import pickle

import torchlike as torch
from torchlike.nn.utils import prune


def test_a_result_comes_back_as_a_leaf():
    x = torch.ones(2, requires_grad=True)
    back = pickle.loads(pickle.dumps(x * 2))
    assert back.tolist() == [2.0, 2.0]
    assert back.requires_grad
    assert back.is_leaf
    assert not pickle.loads(pickle.dumps((x * 2).detach())).requires_grad


def test_a_pruned_module_is_pickled():
    m = torch.nn.Linear(3, 2)
    prune.l1_unstructured(m, "weight", amount=2)
    back = pickle.loads(pickle.dumps(m))
    assert back.weight.tolist() == m.weight.tolist()
    assert back.weight_mask.tolist() == m.weight_mask.tolist()
