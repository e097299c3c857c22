"""The training steps that are timed, each in PyTorch's API and in hand-written JAX."""

from benchmarks.workloads import cnn, gpt, gpt12, lstm, mlp, resnet

TRAINING = {"mlp": mlp, "cnn": cnn, "gpt": gpt, "lstm": lstm}
#: Only in ``benchmarks.jit``: long graphs, where compiling takes a while.
LONG = {"resnet": resnet, "gpt12": gpt12}
