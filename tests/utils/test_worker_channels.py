"""Messages between a loader and its workers, where a moment is unlucky."""

import pickle
import socket
import threading

import pytest

from torchlike.utils.data.processes import worker_pool
from torchlike.utils.data.processes.channel import Channel, Closed, pair

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="over Unix sockets")


class Interrupting:
    """A socket that, while it sends for the first time, has ``then`` called, as a finalizer may."""

    def __init__(self, end, then):
        self._end, self._then = end, [then]

    def __getattr__(self, name):
        return getattr(self._end, name)

    def send(self, data):
        sent = self._end.send(data)
        while self._then:
            self._then.pop()()
        return sent


def test_what_a_finalizer_posts_waits_for_its_turn():
    mine, theirs = pair()
    mine._end = Interrupting(mine._end, lambda: mine.post(b"second"))
    mine.post(b"first")
    other = Channel(theirs)
    assert [body for body, _ in other.wait(5)] == [b"first", b"second"]
    mine.close()
    with pytest.raises(Closed):
        other.wait(5)
    other.close()


def test_a_number_of_a_process_that_comes_again_is_another_process():
    mine, theirs = pair()
    server = worker_pool.WorkerServer.__new__(worker_pool.WorkerServer)
    server._lock, server._channel, server._pids, server._codes = threading.RLock(), mine, [], {}
    end = Channel(theirs)
    for told in ({"started": 7}, {"ended": 7, "code": 0}):
        end.post(pickle.dumps(told))
    assert server.fork({}, []) == 7
    assert server.code(7, 5) == 0
    end.post(pickle.dumps({"started": 7}))
    assert server.fork({}, []) == 7
    assert server.code(7) is None
    end.close()
