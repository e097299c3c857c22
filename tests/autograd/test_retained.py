"""What ``retains_grad`` says of a tensor that was detached in place."""

import torchlike as torch


def test_a_tensor_detached_in_place_still_says_that_it_retained():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    assert y.detach().retains_grad is False
    y.detach_()
    assert (y.retains_grad, y.requires_grad, y.is_leaf) == (True, False, True)
    y.requires_grad_()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    z = x * 2
    z.detach_()
    assert z.retains_grad is False
