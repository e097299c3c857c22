"""The real torchvision and torchaudio, where they are installed, on top of torchlike."""

import importlib.util
import subprocess
import sys

import pytest

SCRIPTS = {
    "torchvision": """
import torch, torchvision
from torchvision.transforms import v2
torch.manual_seed(0)
image = torch.randint(0, 255, (3, 40, 50), dtype=torch.uint8)
change = v2.Compose([v2.RandomResizedCrop(32), v2.ToDtype(torch.float32, True)])
x = torch.stack([change(image) for _ in range(2)])
model = torchvision.models.resnet18(num_classes=4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.fc.weight.detach().clone()
torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 2])).backward()
optimizer.step()
assert not model.fc.weight.equal(before)
boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]])
assert torchvision.ops.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), 0.5).tolist() == [0, 2]
assert torchvision.ops.roi_align(x, [boxes, boxes[:1]], 2).shape == (4, 3, 2, 2)
try: torchvision.ops.roi_pool(x, [boxes, boxes], 2)
except NotImplementedError as error: assert "torchvision::roi_pool" in str(error)
""",
    "torchaudio": """
import torch, torchaudio
import torchaudio.functional as F
torch.manual_seed(0)
wave = torch.randn(1, 4000)
assert torchaudio.transforms.MFCC(16000, melkwargs={"n_mels": 40})(wave).shape[:2] == (1, 40)
assert torchaudio.transforms.Resample(16000, 8000)(wave).shape == (1, 2000)
assert F.lowpass_biquad(wave, 16000, 300.0).shape == F.overdrive(wave).shape == wave.shape
logits = torch.randn(1, 4, 3, 5, requires_grad=True)
lengths = torch.tensor([4], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
F.rnnt_loss(logits, torch.tensor([[1, 2]], dtype=torch.int32), *lengths).backward()
assert logits.grad.abs().sum() > 0
path, scores = F.forced_align(torch.randn(1, 6, 4).log_softmax(-1), torch.tensor([[1, 2]]))
assert path.shape == scores.shape == (1, 6)
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_package_runs(tmp_path, name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS[name])
    command = [sys.executable, "-m", "torchlike", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
