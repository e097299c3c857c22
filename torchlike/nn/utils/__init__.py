"""``torch.nn.utils``: clipping gradients, parameters as a vector, sequences of other lengths."""

from torchlike.nn.utils import clip_grad, convert_parameters, rnn
from torchlike.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from torchlike.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
