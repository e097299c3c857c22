"""Training steps like the benchmark's, captured for accelerators: no workaround for the CPU is in
them, and products say the precision that was asked for. Needs no plugin: nothing is compiled."""

import re

import jax
import pytest

import torchlike as torch
from torchlike._runtime import targets
from torchlike.porting.plan.step import captured

nn = torch.nn


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)

    def forward(self, x):
        return self.head(self.layer(self.embed(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.lstm = nn.LSTM(16, 16, batch_first=True)

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0][:, -1])


def convolutional():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 64, 20),
    )


class Block(nn.Module):
    """Of a ResNet, with a shortcut that changes the size, and one that does not."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        y = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        return torch.relu(y + self.shortcut(x))


def residual():
    return nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        Block(8, 8, 1),
        Block(8, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 20),
    )


MODELS = {
    "cnn": (convolutional, lambda: torch.zeros(4, 3, 16, 16)),
    "resnet": (residual, lambda: torch.zeros(4, 3, 32, 32)),
    "gpt": (Text, lambda: torch.zeros(4, 12, dtype=torch.long)),
    "lstm": (Recurrent, lambda: torch.zeros(4, 12, dtype=torch.long)),
}


def text_of(name, platform):
    make, batch = MODELS[name]
    with torch.device("meta"):
        model, x, y = make(), batch(), torch.zeros(4, dtype=torch.long)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    program = captured(step, (x, y), {}, platform).program
    with targets.platform(platform, 1):
        traced = jax.jit(program.function).trace(*program.avals)
        return traced.lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("platform", ["tpu", "cuda"])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_has_no_workaround_for_the_cpu(name, platform):
    text = text_of(name, platform)
    # An attention of a short sequence computes its weights again in backward.
    assert text.count("stablehlo.optimization_barrier") == {"gpt": 1}.get(name, 0)
    assert "stablehlo.case" not in text
    assert not re.search(r"tensor<\d[^>]*f64>", text)  # hyperparameters alone are float64
    # A TPU emulates them, and the update would divide so for each parameter.
    assert not re.search(r"stablehlo.divide .*tensor<f64>", text)
    products = [x for x in text.splitlines() if "stablehlo.dot_general" in x]
    assert products
    # PyTorch's defaults: products of all bits, and cuDNN may take TF32.
    assert all("precision = [HIGHEST, HIGHEST]" in x for x in products)
    convolutions = [x for x in text.splitlines() if "stablehlo.convolution" in x]
    assert all("HIGH>" in x or "HIGH]" in x for x in convolutions)
    # Each, and its gradients but that of the images.
    assert len(convolutions) == {"cnn": 3 * 2 - 1, "resnet": 3 * 6 - 1}.get(name, 0)
