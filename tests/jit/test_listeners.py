"""Who registered with ``jax.monitoring`` hears a capture, and is no part of it."""

from jax import monitoring

import torchlike as torch


class _Heard:
    events = 0

    def hear(self, event, duration, **_):
        self.events += 1


def test_what_a_listener_counts_is_nothing_that_the_function_changes():
    heard = _Heard()
    monitoring.register_event_duration_secs_listener(heard.hear)
    f = torch.jit(lambda x, i: x * i + 1)
    try:
        for i in range(6):
            assert f(torch.ones(3), i).tolist() == [i + 1] * 3
    finally:
        monitoring.unregister_event_duration_listener(heard.hear)
    assert heard.events
    assert f.compiles < 5
    assert not f.ran_eagerly
