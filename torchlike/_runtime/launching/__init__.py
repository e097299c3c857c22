"""``torchlike launch``: the processes of a distributed program, started, watched and ended.

Standard library only, so that the launcher starts in a moment; of JAX it needs the coordination
service, once its workers are starting.
"""
