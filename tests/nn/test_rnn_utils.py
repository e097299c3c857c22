"""Packing, padding, and what the recurrent layers say to wrong inputs."""

import pytest

import torchlike as torch
import torchlike.nn as nn
from torchlike.nn.utils import rnn


def sequences():
    return [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]), torch.tensor([6.0])]


def test_pad_and_unpad():
    padded = rnn.pad_sequence(sequences(), batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, -1], [3, 4, 5], [6, -1, -1]]
    left = rnn.pad_sequence(sequences(), padding_side="left")
    assert left.tolist() == [[0, 3, 0], [1, 4, 0], [2, 5, 6]]
    parts = rnn.unpad_sequence(padded, torch.tensor([2, 3, 1]), batch_first=True)
    assert [p.tolist() for p in parts] == [[1, 2], [3, 4, 5], [6]]


def test_pack_and_unpack():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1, 2], [3, 4, 5], [6]]
    padded, lengths = rnn.pad_packed_sequence(packed, total_length=4)
    assert padded.shape == (4, 3)
    assert lengths.tolist() == [2, 3, 1]
    assert packed.double().data.dtype is torch.float64
    assert packed.to(torch.float32) is packed


def test_errors():
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        rnn.pack_sequence(sequences())
    with pytest.raises(RuntimeError, match="has to be greater than 0"):
        rnn.pack_padded_sequence(torch.ones(2, 2), [2, 0])
    with pytest.raises(RuntimeError, match="to be equal to batch_size, but got 1"):
        rnn.pack_padded_sequence(torch.ones(2, 2), [2])
    with pytest.raises(ValueError, match="total_length=1 and max sequence length being 3"):
        rnn.pad_packed_sequence(rnn.pack_sequence(sequences(), False), total_length=1)
    lstm = nn.LSTM(2, 3)
    with pytest.raises(
        RuntimeError, match=r"Expected hidden\[1\] size \(1, 4, 3\), got \[1, 5, 3\]"
    ):
        lstm(torch.ones(5, 4, 2), (torch.ones(1, 4, 3), torch.ones(1, 5, 3)))
    with pytest.raises(RuntimeError, match="must be equal to input_size"):
        lstm(torch.ones(5, 2, 4))
    with pytest.raises(ValueError, match="LSTM: Expected input to be 2D or 3D, got 1D"):
        lstm(torch.ones(2))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        lstm(torch.ones(5, 2, 2, dtype=torch.float64))
    with pytest.raises(ValueError, match="proj_size has to be smaller"):
        nn.LSTM(2, 3, proj_size=3)
    with pytest.warns(UserWarning, match="dropout option adds dropout after all but last"):
        nn.GRU(2, 3, dropout=0.1)


def test_weights_have_pytorchs_names():
    lstm = nn.LSTM(2, 3, num_layers=2, bidirectional=True, proj_size=1)
    names = [n for n, _ in lstm.named_parameters()]
    assert names[:5] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_hr_l0",
    ]
    assert names[5] == "weight_ih_l0_reverse"
    assert len(names) == 20
    assert tuple(lstm.weight_ih_l1.shape) == (12, 2)
