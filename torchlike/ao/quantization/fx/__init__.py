"""``torch.ao.quantization.fx``: of what PyTorch removes there, the operators of exported models."""
