"""One MLIR context for many lowerings."""

import threading

import jax
import numpy as np
from jax._src.interpreters import mlir

from torchlike._runtime import mlir_contexts


def test_jax_lowers_in_a_kept_context():
    assert isinstance(mlir.make_ir_context, mlir_contexts.KeptContext)
    mlir.make_ir_context._contexts.left = 0  # the next one is new, and kept for what follows
    first = mlir.make_ir_context()
    jax.jit(lambda x: x + 1).lower(np.ones(3)).compile()
    assert mlir.make_ir_context() is first


def test_it_is_renewed_and_each_thread_has_its_own(monkeypatch):
    monkeypatch.setattr(mlir_contexts, "_RENEWED_AFTER", 3)
    kept = mlir_contexts.KeptContext(object)
    first = [kept() for _ in range(3)]
    assert first[0] is first[1] is first[2]
    assert kept() is not first[0]
    others = []
    thread = threading.Thread(target=lambda: others.append(kept()))
    thread.start()
    thread.join()
    assert others[0] is not kept()


def test_without_the_name_each_lowering_makes_one(monkeypatch, caplog):
    monkeypatch.delattr(mlir, "make_ir_context")
    mlir_contexts.keep()
    assert "has no jax._src.interpreters.mlir.make_ir_context" in caplog.text
