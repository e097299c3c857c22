"""An LSTM that learns to continue damped waves: from 40 values it foretells the one after each."""

import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self, hidden_size=64, num_layers=2):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden_size, num_layers, batch_first=True)
        self.head = nn.Linear(hidden_size, 1)

    def forward(self, sequence, state=None):
        output, state = self.lstm(sequence, state)
        return self.head(output), state


def make_waves(count, length):
    """Waves of shape (count, length, 1), each with its own frequency, phase and damping."""
    time = torch.arange(length, dtype=torch.float32)
    frequency = 0.2 + 0.6 * torch.rand(count, 1)
    phase = 6.2831853 * torch.rand(count, 1)
    damping = 0.02 * torch.rand(count, 1)
    waves = torch.exp(-damping * time) * torch.sin(frequency * time + phase)
    return waves.unsqueeze(-1)


def main():
    torch.manual_seed(0)
    model = Forecaster()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for step in range(1, 151):
        waves = make_waves(32, 41)
        prediction, _ = model(waves[:, :-1])
        loss = loss_fn(prediction, waves[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    # Continue new waves on their own: each output becomes the next input, the state is carried on.
    with torch.no_grad():
        waves = make_waves(8, 50)
        prediction, state = model(waves[:, :40])
        value = prediction[:, -1:]
        continued = [value]
        for _ in range(9):
            value, state = model(value, state)
            continued.append(value)
        error = (torch.cat(continued, dim=1) - waves[:, 40:]).abs().mean()
    print(f"mean error of ten steps on its own {error.item():.4f}")


if __name__ == "__main__":
    main()
