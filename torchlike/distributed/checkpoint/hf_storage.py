"""What ``torch.distributed.checkpoint.hf_storage`` has and torchlike refuses."""

from torchlike._compat.unsupported import Gap, raising

_GAP = Gap("checkpoints have one layout here", "save(), whose files are safetensors")
_SPACE = "distributed.checkpoint.hf_storage"
HuggingFaceStorageReader = raising(f"{_SPACE}.HuggingFaceStorageReader", _GAP)
HuggingFaceStorageWriter = raising(f"{_SPACE}.HuggingFaceStorageWriter", _GAP)
