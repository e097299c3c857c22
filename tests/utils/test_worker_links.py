"""Messages between a loader and its workers, where a moment is unlucky."""

import pickle
import socket
import threading

import pytest

from torchlike.utils.data.processes import links, staff

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
    mine, theirs = links.pair()
    mine._end = Interrupting(mine._end, lambda: mine.post(b"second"))
    mine.post(b"first")
    other = links.Link(theirs)
    assert [body for body, _ in other.wait(5)] == [b"first", b"second"]
    mine.close()
    with pytest.raises(links.Closed):
        other.wait(5)
    other.close()


def test_a_number_of_a_process_that_comes_again_is_another_process():
    mine, theirs = links.pair()
    server = staff.WorkerServer.__new__(staff.WorkerServer)
    server._lock, server._link, server._pids, server._codes = threading.RLock(), mine, [], {}
    link = links.Link(theirs)
    for told in ({"started": 7}, {"ended": 7, "code": 0}):
        link.post(pickle.dumps(told))
    assert server.fork({}, []) == 7
    assert server.code(7, 5) == 0
    link.post(pickle.dumps({"started": 7}))
    assert server.fork({}, []) == 7
    assert server.code(7) is None
    link.close()
