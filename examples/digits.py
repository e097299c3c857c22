"""Handwritten digits with a small convolutional network: the usual train and test loop.

The data are the 1,797 images of 8x8 pixels that come with scikit-learn, so nothing is downloaded.
"""

import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset, random_split

EPOCHS = 8
BATCH_SIZE = 64


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(32 * 2 * 2, 64)
        self.output = nn.Linear(64, 10)

    def forward(self, images):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(images))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.output(F.relu(self.hidden(x)))


def load_data():
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    labels = torch.tensor(digits.target, dtype=torch.int64)
    train, test = random_split(TensorDataset(images, labels), [1437, 360])
    train_loader = DataLoader(train, batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    return train_loader, DataLoader(test, batch_size=360)


def train_step(model, optimizer, images, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    return loss


def train(model, loader, optimizer, step):
    model.train()
    for images, labels in loader:
        loss = train_step(model, optimizer, images, labels)
        step += 1
        print(f"step {step} loss {loss.item():.6f}")
    return step


def test(model, loader):
    model.eval()
    correct = 0
    total = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
            total += len(labels)
    return correct / total


def main():
    torch.manual_seed(0)
    train_loader, test_loader = load_data()
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = StepLR(optimizer, step_size=6, gamma=0.5)

    step = 0
    for epoch in range(1, EPOCHS + 1):
        step = train(model, train_loader, optimizer, step)
        scheduler.step()
        print(f"epoch {epoch}: test accuracy {test(model, test_loader):.2%}")

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "digits.pt"
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)
        restored = Net()
        restored.load_state_dict(torch.load(checkpoint)["model"])
    print(f"test accuracy of the saved model: {test(restored, test_loader):.2%}")


if __name__ == "__main__":
    main()
