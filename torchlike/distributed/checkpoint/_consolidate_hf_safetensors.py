"""What ``torch.distributed.checkpoint._consolidate_hf_safetensors`` has and torchlike refuses."""

from torchlike._compat.unsupported import Gap, raising

_GAP = Gap("checkpoints have one layout here", "format_utils.dcp_to_torch_save")
_SPACE = "distributed.checkpoint._consolidate_hf_safetensors"
consolidate_safetensors_files = raising(f"{_SPACE}.consolidate_safetensors_files", _GAP)
