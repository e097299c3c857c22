"""The training steps that are timed, each in PyTorch's API and in hand-written JAX."""

from benchmarks.workloads import cnn, gpt, lstm, mlp

TRAINING = {"mlp": mlp, "cnn": cnn, "gpt": gpt, "lstm": lstm}
