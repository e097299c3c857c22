"""Pickles that name the class Tensor's former home are read."""

import pickle

import torchlike as torch


def test_a_pickle_that_names_the_former_module_is_read():
    t = torch.arange(6.0).reshape(2, 3).requires_grad_()
    written = pickle.dumps(t, protocol=2)
    assert b"ctorchlike.tensor\n_rebuild" in written
    former = written.replace(b"ctorchlike.tensor\n", b"ctorchlike._core.tensor\n")
    read = pickle.loads(former)
    assert torch.equal(read, t)
    assert read.requires_grad


def test_tensor_is_the_function_and_its_module_is_imported():
    import torchlike.tensor as function
    from torchlike.tensor import Tensor

    assert function is torch.tensor
    assert function([1.0]).shape == (1,)
    assert Tensor is torch.Tensor


def test_pickles_that_name_the_former_classes_of_storages_are_read():
    meta = torch.empty(2, 3, device="meta")
    written = pickle.dumps(meta, protocol=2)
    former = written.replace(
        b"ctorchlike._extensions.meta\n_rebuilt\n", b"ctorchlike._core.storage\n_rebuild_meta\n"
    )
    assert former != written
    read = pickle.loads(former)
    assert read.is_meta
    assert read.shape == (2, 3)
    sparse = torch.eye(2).to_sparse()
    written = pickle.dumps(sparse, protocol=2)
    former = written.replace(
        b"ctorchlike._extensions.parts_storage\nPartsStorage\n",
        b"ctorchlike._core.storage\nSparseStorage\n",
    )
    assert former != written
    assert torch.equal(pickle.loads(former).to_dense(), torch.eye(2))
