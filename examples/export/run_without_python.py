"""A trained network as a program that runs without Python.

Trains a small convolutional network on made-up images with ``torchlike.jit``, saves it with
``torch.jit.save``, writes it as one StableHLO module (weights inside), compiles that with IREE and
runs it with IREE's own program on images from a .npy file. The output is that of the network here.

    pip install 'torchlike[iree]'
    python examples/export/run_without_python.py [FOLDER]
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import torchlike as torch
from torchlike import nn
from torchlike.export import save_stablehlo

CLASSES, SIDE, BATCH = 4, 12, 16


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * (SIDE // 4) ** 2, CLASSES)

    def forward(self, images):
        x = nn.functional.max_pool2d(torch.relu(self.norm(self.conv1(images))), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.head(torch.flatten(x, 1))


def batch():
    """Images with a bright bar in one of four places, and which."""
    labels = torch.randint(0, CLASSES, (BATCH,))
    images = torch.randn(BATCH, 1, SIDE, SIDE)
    for image, label in zip(images, labels.tolist(), strict=True):
        start = label * (SIDE // CLASSES)
        image[:, start : start + 2] += 1.0
    return images, labels


def trained():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    @torch.jit
    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    for i in range(100):
        loss = step(*batch())
        if i % 20 == 0:
            print(f"step {i} loss {loss.item():.4f}")
    return model.eval()


def command(name):
    """IREE's programs, installed beside Python or anywhere on the path."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed: pip install 'torchlike[iree]'")
    return found


def run(*words):
    print("$", Path(words[0]).name, *words[1:])
    subprocess.run(list(map(str, words)), check=True, stderr=subprocess.DEVNULL)


def main(folder):
    model = trained()
    images, labels = batch()
    expected = model(images).detach()
    right = (expected.argmax(1) == labels).float().mean().item()
    print(f"{right:.0%} of {BATCH} new images recognised")

    # Torchlike's own file: weights under their names, programs for several platforms, gradients.
    torch.jit.save(torch.jit.trace(model, images), folder / "model.pt")
    # The other compilers' file: one function.
    save_stablehlo(torch.jit.load(folder / "model.pt"), folder / "model.mlirbc")
    np.save(folder / "images.npy", images.numpy())

    run(
        command("iree-compile"),
        "--iree-input-type=stablehlo",
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
        folder / "model.mlirbc",
        "-o",
        folder / "model.vmfb",
    )
    run(
        command("iree-run-module"),
        "--device=local-task",
        f"--module={folder / 'model.vmfb'}",
        "--function=main",
        f"--input=@{folder / 'images.npy'}",
        f"--output=@{folder / 'logits.npy'}",
    )
    found = np.load(folder / "logits.npy")
    difference = np.abs(found - expected.numpy()).max() / expected.abs().max().item()
    print(f"largest difference from eager, relative to the largest logit: {difference:.1e}")
    if not difference < 1e-5:
        raise SystemExit("the compiled program gives other numbers")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
