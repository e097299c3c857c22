"""What code can read of the standard library's stateful things, each with a change from outside.

A row is a function that makes the thing and gives ``read``, which says a number of its state, and
``change``, which changes the state behind it. ``end`` is an ExitStack for what has to be closed.
"""

import array
import asyncio
import bisect
import collections
import concurrent.futures
import configparser
import contextvars
import csv
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import gc
import glob
import hashlib
import heapq
import io
import itertools
import json
import locale
import logging
import mmap
import multiprocessing
import operator
import os
import pathlib
import queue
import random
import secrets
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import types
import uuid
import warnings
import weakref
import xml.etree.ElementTree
import zlib
from abc import ABC
from unittest import mock

import numpy as np

import torchlike as torch

#: Rows by name, and the names of those that differ from call to call without a change.
ROWS = {}
MOVING = set()


def row(name, moves=False):
    def add(make):
        assert name not in ROWS
        ROWS[name] = make
        if moves:
            MOVING.add(name)
        return make

    return add


def moving(name, read):
    """A row of what is never the same twice."""
    row(name, moves=True)(lambda end: (read, lambda: None))


class Thing:
    def __init__(self, value=0):
        self.value = value

    def method(self):
        return self.value


class Holder:
    """Something that holds what is let go of later."""


def _held(make):
    holder = Holder()
    holder.thing = make()

    def let_go():
        holder.thing = None
        gc.collect()

    return holder, let_go


# -- weakref ---------------------------------------------------------------------------------------


@row("weakref.ref")
def _(end):
    o = Thing()
    r = weakref.ref(o)

    def change():
        nonlocal o
        o = None

    return lambda: r() is not None, change


@row("weakref.ref of an attribute")
def _(end):
    o, thing = Thing(), Thing()
    thing.parent = weakref.ref(o)

    def change():
        nonlocal o
        o = None

    return lambda: thing.parent() is None, change


@row("weakref.ref, the object's attribute")
def _(end):
    o = Thing(1)
    r = weakref.ref(o)

    def change():
        nonlocal o
        o = None

    return lambda: 5 if r() is None else r().value, change


@row("weakref.ref, an attribute that changes")
def _(end):
    o = Thing(1)
    r = weakref.ref(o)
    return lambda: r().value, lambda: setattr(o, "value", 4)


@row("weakref.ref beside a strong reference that is read")
def _(end):
    holder, let_go = _held(Thing)
    r = weakref.ref(holder.thing)
    return lambda: (holder.thing is None) + 2 * (r() is None), let_go


@row("weakref.ref beside a list that is read")
def _(end):
    things = [Thing(), Thing()]
    r = weakref.ref(things[0])

    def change():
        del things[0]
        gc.collect()

    return lambda: len(things) + 5 * (r() is None), change


@row("weakref.ref of a module")
def _(end):
    holder, let_go = _held(lambda: torch.nn.Linear(2, 2))
    r = weakref.ref(holder.thing)
    return lambda: r() is None, let_go


@row("weakref.ref of a module that runs")
def _(end):
    holder, let_go = _held(lambda: torch.nn.Linear(1, 1))
    r = weakref.ref(holder.thing)

    def read():
        module = r()
        return 1.0 if module is None else float(module.in_features) + 2

    return read, let_go


@row("weakref.ref of a tensor")
def _(end):
    holder, let_go = _held(lambda: torch.ones(2))
    r = weakref.ref(holder.thing)
    return lambda: r() is None, let_go


@row("weakref.ref of a function")
def _(end):
    holder, let_go = _held(lambda: lambda: 3)
    r = weakref.ref(holder.thing)
    return lambda: 1 if r() is None else r()(), let_go


@row("weakref.WeakMethod")
def _(end):
    holder, let_go = _held(Thing)
    r = weakref.WeakMethod(holder.thing.method)
    return lambda: r() is None, let_go


@row("weakref.WeakSet, length")
def _(end):
    holder, let_go = _held(Thing)
    s = weakref.WeakSet([holder.thing])
    return lambda: len(s), let_go


@row("weakref.WeakSet, add")
def _(end):
    s, o = weakref.WeakSet(), Thing()
    return lambda: o in s, lambda: s.add(o)


@row("weakref.WeakSet, elements")
def _(end):
    o = Thing(2)
    s = weakref.WeakSet([o])
    return lambda: sum(x.value for x in s), lambda: setattr(o, "value", 4)


@row("weakref.WeakKeyDictionary, length")
def _(end):
    holder, let_go = _held(Thing)
    d = weakref.WeakKeyDictionary({holder.thing: 1})
    return lambda: len(d), let_go


@row("weakref.WeakKeyDictionary, value")
def _(end):
    o = Thing()
    d = weakref.WeakKeyDictionary({o: 1})
    return lambda: d[o], lambda: d.update({o: 7})


@row("weakref.WeakValueDictionary, length")
def _(end):
    holder, let_go = _held(Thing)
    d = weakref.WeakValueDictionary(a=holder.thing)
    return lambda: len(d), let_go


@row("weakref.WeakValueDictionary, get")
def _(end):
    holder, let_go = _held(Thing)
    d = weakref.WeakValueDictionary(a=holder.thing)
    return lambda: d.get("a") is None, let_go


@row("weakref.finalize")
def _(end):
    holder, let_go = _held(Thing)
    f = weakref.finalize(holder.thing, len, ())
    return lambda: f.alive, let_go


@row("weakref.finalize, detached")
def _(end):
    o = Thing()
    f = weakref.finalize(o, len, ())
    return lambda: f.alive, lambda: (f.detach(), o)


@row("weakref.finalize, peek")
def _(end):
    holder, let_go = _held(Thing)
    f = weakref.finalize(holder.thing, len, ())
    return lambda: f.peek() is None, let_go


@row("weakref.proxy")
def _(end):
    o = Thing(1)
    p = weakref.proxy(o)
    return lambda: p.value, lambda: setattr(o, "value", 3)


@row("weakref.proxy of what is gone")
def _(end):
    holder, let_go = _held(Thing)
    p = weakref.proxy(holder.thing)

    def read():
        try:
            return p.value
        except ReferenceError:
            return 8

    return read, let_go


@row("weakref.getweakrefcount")
def _(end):
    o, kept = Thing(), []
    return lambda: weakref.getweakrefcount(o), lambda: kept.append(weakref.proxy(o))


# -- threading -------------------------------------------------------------------------------------


@row("threading.Lock.locked")
def _(end):
    lock = threading.Lock()
    end.callback(lambda: lock.locked() and lock.release())
    return lambda: lock.locked(), lambda: lock.acquire()


@row("threading.Lock of an attribute")
def _(end):
    thing = Thing(threading.Lock())
    return lambda: thing.value.locked(), lambda: thing.value.acquire()


@row("threading.Lock.acquire without waiting")
def _(end):
    lock = threading.Lock()

    def read():
        if lock.acquire(blocking=False):
            lock.release()
            return 1
        return 2

    return read, lambda: lock.acquire()


def _in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@row("threading.RLock")
def _(end):
    lock = threading.RLock()

    def read():
        if lock.acquire(blocking=False):
            lock.release()
            return 1
        return 2

    return read, lambda: _in_thread(lock.acquire)


@row("threading.Semaphore")
def _(end):
    s = threading.Semaphore(1)

    def read():
        if s.acquire(blocking=False):
            s.release()
            return 1
        return 2

    return read, lambda: s.acquire()


@row("threading.Semaphore, its counter")
def _(end):
    s = threading.BoundedSemaphore(2)
    return lambda: s._value, lambda: s.acquire()


@row("threading.Event")
def _(end):
    e = threading.Event()
    return lambda: e.is_set(), lambda: e.set()


@row("threading.Event.wait")
def _(end):
    e = threading.Event()
    return lambda: e.wait(0), lambda: e.set()


@row("threading.Condition")
def _(end):
    c = threading.Condition(threading.Lock())

    def read():
        if c.acquire(blocking=False):
            c.release()
            return 1
        return 2

    return read, lambda: c.acquire()


@row("threading.Barrier.broken")
def _(end):
    b = threading.Barrier(2)
    return lambda: b.broken, lambda: b.abort()


@row("threading.local")
def _(end):
    at = threading.local()
    at.value = 1
    return lambda: at.value, lambda: setattr(at, "value", 2)


@row("threading.current_thread().name")
def _(end):
    thread = threading.current_thread()
    before = thread.name
    end.callback(lambda: setattr(thread, "name", before))
    return lambda: len(threading.current_thread().name), lambda: setattr(thread, "name", "x" * 40)


@row("threading.active_count")
def _(end):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    end.callback(lambda: (done.set(), thread.join()))
    return lambda: threading.active_count(), thread.start


@row("threading.enumerate")
def _(end):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    end.callback(lambda: (done.set(), thread.join()))
    return lambda: len(threading.enumerate()), thread.start


@row("threading.Thread.is_alive")
def _(end):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    end.callback(lambda: (done.set(), thread.join()))
    thread.start()
    return lambda: thread.is_alive(), lambda: (done.set(), thread.join())


@row("threading.Thread.daemon")
def _(end):
    thread = threading.Thread(target=len)
    return lambda: thread.daemon, lambda: setattr(thread, "daemon", True)


# -- queues and collections ------------------------------------------------------------------------


def _queue(kind):
    def make(end):
        q = kind()
        q.put(1)
        return lambda: q.qsize(), lambda: q.put(2)

    return make


for _kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue):
    row(f"queue.{_kind.__name__}.qsize")(_queue(_kind))


@row("queue.Queue.get")
def _(end):
    q = queue.Queue()
    for i in range(9):
        q.put(i)
    return lambda: q.get(), lambda: None


MOVING.add("queue.Queue.get")


@row("queue.SimpleQueue.get")
def _(end):
    q = queue.SimpleQueue()
    for i in range(9):
        q.put(i)
    return lambda: q.get(), lambda: None


MOVING.add("queue.SimpleQueue.get")


@row("collections.deque")
def _(end):
    d = collections.deque([1, 2])
    return lambda: d[0] + 10 * len(d), lambda: d.appendleft(5)


@row("collections.deque.rotate")
def _(end):
    d = collections.deque([1, 2, 3])
    return lambda: d[0], lambda: d.rotate(1)


@row("collections.Counter")
def _(end):
    c = collections.Counter(a=1)
    return lambda: c["a"], lambda: c.update("aa")


@row("collections.defaultdict")
def _(end):
    d = collections.defaultdict(int)
    return lambda: len(d), lambda: d["a"]


@row("collections.defaultdict.default_factory")
def _(end):
    d = collections.defaultdict(int, a=2)
    return lambda: d.default_factory is int, lambda: setattr(d, "default_factory", float)


@row("collections.OrderedDict, its order")
def _(end):
    d = collections.OrderedDict(a=1, b=2)
    return lambda: next(iter(d.values())), lambda: d.move_to_end("a")


@row("collections.ChainMap")
def _(end):
    c = collections.ChainMap({}, {"a": 1})
    return lambda: c["a"], lambda: c.update(a=4)


@row("collections.UserDict")
def _(end):
    c = collections.UserDict(a=1)
    return lambda: c["a"], lambda: c.update(a=4)


@row("collections.UserList")
def _(end):
    c = collections.UserList([1])
    return lambda: len(c), lambda: c.append(4)


@row("heapq of a list")
def _(end):
    h = [3, 4]
    return lambda: heapq.nsmallest(1, h)[0], lambda: heapq.heappush(h, 1)


@row("bisect of a list")
def _(end):
    h = [3, 4]
    return lambda: bisect.bisect(h, 3), lambda: h.insert(0, 1)


@row("a dictionary's view")
def _(end):
    d = {"a": 1}
    values = d.values()
    return lambda: sum(values), lambda: d.update(b=4)


@row("types.MappingProxyType")
def _(end):
    d = {"a": 1}
    p = types.MappingProxyType(d)
    return lambda: p["a"], lambda: d.update(a=4)


@row("types.SimpleNamespace")
def _(end):
    n = types.SimpleNamespace(a=1)
    return lambda: n.a, lambda: setattr(n, "a", 2)


@row("dataclasses.dataclass")
def _(end):
    cls = dataclasses.make_dataclass("C", [("a", int)])
    n = cls(1)
    return lambda: dataclasses.asdict(n)["a"], lambda: setattr(n, "a", 2)


@row("array.array")
def _(end):
    a = array.array("i", [1, 2])
    return lambda: a[0] + len(a), lambda: a.append(3)


@row("bytearray")
def _(end):
    a = bytearray(b"ab")
    return lambda: a[0], lambda: a.__setitem__(0, 1)


@row("memoryview")
def _(end):
    a = bytearray(b"ab")
    m = memoryview(a)
    end.callback(m.release)
    return lambda: m[0], lambda: a.__setitem__(0, 1)


@row("ctypes.c_int")
def _(end):
    a = ctypes.c_int(1)
    return lambda: a.value, lambda: setattr(a, "value", 3)


@row("numpy.ndarray")
def _(end):
    a = np.ones(2)
    return lambda: a[0], lambda: a.fill(3)


# -- context variables -----------------------------------------------------------------------------


@row("contextvars.ContextVar")
def _(end):
    v = contextvars.ContextVar("v", default=1)
    return lambda: v.get(), lambda: v.set(2)


@row("contextvars.Context")
def _(end):
    v = contextvars.ContextVar("v", default=1)
    context = contextvars.copy_context()
    context.run(v.set, 1)
    return lambda: context[v], lambda: context.run(v.set, 2)


@row("contextvars.copy_context")
def _(end):
    v = contextvars.ContextVar("v")
    v.set(1)
    return lambda: contextvars.copy_context()[v], lambda: v.set(2)


# -- iterators -------------------------------------------------------------------------------------


def _iterator(name, make, take=next):
    def made(end):
        it = make()
        return lambda: take(it), lambda: None

    row(name, moves=True)(made)


_iterator("itertools.count", itertools.count)
_iterator("itertools.cycle", lambda: itertools.cycle(range(100)))
_iterator("itertools.islice", lambda: itertools.islice(range(100), 50))
_iterator("itertools.chain", lambda: itertools.chain(range(100)))
_iterator("itertools.tee", lambda: itertools.tee(range(100))[0])
_iterator("iterator of a list", lambda: iter(list(range(100))))
_iterator("enumerate", lambda: enumerate(range(100)), lambda it: next(it)[0])
_iterator("map", lambda: map(abs, range(100)))
_iterator("zip", lambda: zip(range(100), strict=False), lambda it: next(it)[0])
_iterator("generator", lambda: (i for i in range(100)))
_iterator("reversed", lambda: reversed(list(range(100))))


@row("itertools.count, its text")
def _(end):
    it = itertools.count()
    return lambda: len(repr(it)), lambda: [next(it) for _ in range(20)]


@row("operator.length_hint of an iterator")
def _(end):
    it = iter([1, 2, 3])
    return lambda: operator.length_hint(it), lambda: next(it)


# -- random numbers and clocks ---------------------------------------------------------------------

_random = random.Random(3)
_generator = np.random.default_rng(3)
_numpy_random = np.random.RandomState(3)
moving("random.random", random.random)
moving("random.gauss", lambda: random.gauss(0, 1))
moving("random.Random", lambda: _random.random())
moving("random.SystemRandom", lambda: random.SystemRandom().random())
moving("numpy.random.rand", lambda: np.random.rand())
moving("numpy.random.Generator", lambda: _generator.random())
moving("numpy.random.default_rng", lambda: np.random.default_rng().random())
moving("numpy.random.RandomState", lambda: _numpy_random.rand())
moving("numpy.random.RandomState()", lambda: np.random.RandomState().rand())
moving("secrets.randbelow", lambda: secrets.randbelow(1 << 40))
moving("secrets.token_bytes", lambda: secrets.token_bytes(4)[0] + secrets.token_bytes(4)[1] / 997)
moving("secrets.token_hex", lambda: int(secrets.token_hex(5), 16))
moving("secrets.choice", lambda: secrets.choice(range(1 << 30)))
moving("os.urandom", lambda: int.from_bytes(os.urandom(5), "big"))
moving("os.getrandom", lambda: int.from_bytes(os.getrandom(5), "big"))
moving("uuid.uuid4", lambda: uuid.uuid4().int >> 90)
moving("uuid.uuid1", lambda: uuid.uuid1().int >> 80)
for _name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
    moving(f"time.{_name}", functools.partial(getattr(time, _name)))
moving("time.time, called", lambda: time.time())
moving("time.perf_counter, called", lambda: time.perf_counter())
moving("time.process_time, called", lambda: time.process_time())
moving("time.thread_time, called", lambda: time.thread_time())
moving("time.time_ns", lambda: time.time_ns() % (1 << 40))
moving("time.monotonic_ns", lambda: time.monotonic_ns() % (1 << 40))
moving("time.thread_time_ns", lambda: time.thread_time_ns())
moving("time.clock_gettime", lambda: time.clock_gettime(time.CLOCK_MONOTONIC))
moving("datetime.now", lambda: datetime.datetime.now().microsecond)
moving("datetime.utcnow", lambda: datetime.datetime.now(datetime.UTC).microsecond)
moving("datetime.today", lambda: datetime.datetime.today().microsecond)


@row("random.seed")
def _(end):
    random.seed(1)
    return lambda: random.getstate()[1][3] % 1000, lambda: random.seed(1234)


# -- decimal, locale, sys, gc ----------------------------------------------------------------------


@row("decimal.getcontext().prec")
def _(end):
    context = decimal.getcontext()
    end.callback(lambda before=context.prec: setattr(context, "prec", before))
    return lambda: decimal.getcontext().prec, lambda: setattr(context, "prec", 5)


@row("decimal division")
def _(end):
    context = decimal.getcontext()
    end.callback(lambda before=context.prec: setattr(context, "prec", before))
    a, b = decimal.Decimal(1), decimal.Decimal(3)
    return lambda: float(a / b), lambda: setattr(context, "prec", 3)


@row("decimal.Context")
def _(end):
    context = decimal.Context(prec=4)
    return lambda: context.prec, lambda: setattr(context, "prec", 5)


@row("decimal.Context.divide")
def _(end):
    context = decimal.Context(prec=9)
    return lambda: float(context.divide(1, 3)), lambda: setattr(context, "prec", 2)


@row("decimal flags")
def _(end):
    context = decimal.Context()
    return (
        lambda: context.flags[decimal.Inexact],
        lambda: context.divide(decimal.Decimal(1), decimal.Decimal(3)),
    )


@row("locale.localeconv")
def _(end):
    before = locale.setlocale(locale.LC_CTYPE)
    end.callback(lambda: locale.setlocale(locale.LC_CTYPE, before))
    other = "C.UTF-8" if before == "C" else "C"
    return (
        lambda: len(locale.setlocale(locale.LC_CTYPE)),
        lambda: locale.setlocale(locale.LC_CTYPE, other),
    )


@row("sys.getrecursionlimit")
def _(end):
    before = sys.getrecursionlimit()
    end.callback(lambda: sys.setrecursionlimit(before))
    return lambda: sys.getrecursionlimit(), lambda: sys.setrecursionlimit(before + 7)


@row("sys.getswitchinterval")
def _(end):
    before = sys.getswitchinterval()
    end.callback(lambda: sys.setswitchinterval(before))
    return lambda: sys.getswitchinterval(), lambda: sys.setswitchinterval(0.25)


@row("sys.get_int_max_str_digits")
def _(end):
    before = sys.get_int_max_str_digits()
    end.callback(lambda: sys.set_int_max_str_digits(before))
    return lambda: sys.get_int_max_str_digits(), lambda: sys.set_int_max_str_digits(9000)


@row("sys.argv")
def _(end):
    end.callback(lambda before=list(sys.argv): sys.argv.__setitem__(slice(None), before))
    return lambda: len(sys.argv), lambda: sys.argv.append("--more")


@row("sys.getrefcount")
def _(end):
    o, more = Thing(), []
    return lambda: sys.getrefcount(o), lambda: more.extend([o] * 9)


@row("sys.stdout")
def _(end):
    end.callback(lambda before=sys.stdout: setattr(sys, "stdout", before))
    here = sys.stdout
    return lambda: sys.stdout is here, lambda: setattr(sys, "stdout", io.StringIO())


@row("gc.isenabled")
def _(end):
    end.callback(gc.enable)
    return lambda: gc.isenabled(), lambda: gc.disable()


@row("gc.get_threshold")
def _(end):
    before = gc.get_threshold()
    end.callback(lambda: gc.set_threshold(*before))
    return lambda: gc.get_threshold()[0], lambda: gc.set_threshold(77777)


@row("gc.get_count")
def _(end):
    return lambda: gc.get_count()[0] * 0 + gc.get_stats()[2]["collections"], lambda: gc.collect()


@row("warnings.filters")
def _(end):
    end.enter_context(warnings.catch_warnings())
    return lambda: len(warnings.filters), lambda: warnings.simplefilter("ignore", UnicodeWarning)


@row("logging.Logger.level")
def _(end):
    logger = logging.Logger("level", 11)
    return lambda: logger.level, lambda: logger.setLevel(17)


@row("logging.Logger.isEnabledFor")
def _(end):
    logger = logging.getLogger("torchlike.test.states")
    logger.setLevel(logging.ERROR)
    return lambda: logger.isEnabledFor(logging.DEBUG), lambda: logger.setLevel(logging.DEBUG)


@row("signal.getsignal")
def _(end):
    before = signal.getsignal(signal.SIGUSR2)
    end.callback(lambda: signal.signal(signal.SIGUSR2, before))
    return (
        lambda: signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN,
        lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
    )


# -- functions and classes -------------------------------------------------------------------------


@row("functools.lru_cache")
def _(end):
    at = [1]

    @functools.lru_cache
    def cached():
        return at[0]

    def change():
        at[0] = 2
        cached.cache_clear()

    return lambda: cached(), change


@row("functools.lru_cache, cache_info")
def _(end):
    @functools.lru_cache
    def cached(x):
        return x

    return lambda: cached.cache_info().currsize, lambda: cached(3)


@row("functools.cached_property")
def _(end):
    class C:
        def __init__(self):
            self.a = 1

        @functools.cached_property
        def twice(self):
            return 2 * self.a

    c = C()

    def change():
        c.a = 4
        del c.twice

    return lambda: c.twice, change


@row("functools.singledispatch")
def _(end):
    @functools.singledispatch
    def f(x):
        return 1

    return lambda: f(3), lambda: f.register(int, lambda x: 2)


@row("functools.partial.keywords")
def _(end):
    f = functools.partial(dict, a=1)
    return lambda: f()["a"], lambda: f.keywords.update(a=2)


@row("enum.Enum with attributes")
def _(end):
    class E(enum.Enum):
        A = 1

    E.A.note = 1
    return lambda: E.A.note, lambda: setattr(E.A, "note", 2)


@row("fractions.Fraction")
def _(end):
    thing = Thing(fractions.Fraction(1, 2))
    return lambda: float(thing.value), lambda: setattr(thing, "value", fractions.Fraction(1, 3))


@row("abc.register")
def _(end):
    class Base(ABC):  # noqa: B024
        pass

    thing = Thing()
    return lambda: isinstance(thing, Base), lambda: Base.register(Thing)


@row("type.__subclasses__")
def _(end):
    class Base:
        pass

    kept = []
    return (
        lambda: len(Base.__subclasses__()),
        lambda: kept.append(type("Derived", (Base,), {})),
    )


@row("unittest.mock.Mock")
def _(end):
    m = mock.Mock()
    return lambda: m.call_count, lambda: m()


# -- asyncio and futures ---------------------------------------------------------------------------


def _loop(end):
    loop = asyncio.new_event_loop()
    end.callback(loop.close)
    return loop


@row("asyncio loop.time", moves=True)
def _(end):
    loop = _loop(end)
    return lambda: loop.time(), lambda: None


@row("asyncio loop.is_closed")
def _(end):
    loop = _loop(end)
    return lambda: loop.is_closed(), lambda: loop.close()


@row("asyncio.Future.done")
def _(end):
    f = asyncio.Future(loop=_loop(end))
    return lambda: f.done(), lambda: f.set_result(1)


@row("asyncio.Event")
def _(end):
    e = asyncio.Event()
    return lambda: e.is_set(), lambda: e.set()


@row("asyncio.Queue")
def _(end):
    q = asyncio.Queue()
    return lambda: q.qsize(), lambda: q.put_nowait(1)


@row("asyncio.Lock")
def _(end):
    lock = asyncio.Lock()
    return lambda: lock.locked(), lambda: _loop(end).run_until_complete(lock.acquire())


@row("asyncio.Semaphore")
def _(end):
    s = asyncio.Semaphore(1)
    return lambda: s.locked(), lambda: _loop(end).run_until_complete(s.acquire())


@row("concurrent.futures.Future")
def _(end):
    f = concurrent.futures.Future()
    return lambda: f.done(), lambda: f.set_result(1)


# -- files and processes ---------------------------------------------------------------------------


def _directory(end):
    return pathlib.Path(end.enter_context(tempfile.TemporaryDirectory()))


def _file(end, contents="1"):
    path = _directory(end) / "file"
    path.write_text(contents)
    return path


def _of_file(name, read, contents="1", after="23"):
    def make(end):
        path = _file(end, contents)
        return (lambda: read(path)), lambda: path.write_text(after)

    row(name)(make)


def _opened(path):
    with open(path) as f:
        return int(f.read())


def _said(pipe):
    with pipe:
        return pipe.read()


_of_file("open", _opened)
_of_file("pathlib.Path.read_text", lambda path: int(path.read_text()))
_of_file("pathlib.Path.stat", lambda path: path.stat().st_size)
_of_file("os.stat", lambda path: os.stat(path).st_size)
_of_file("os.path.getsize", lambda path: os.path.getsize(path))
_of_file("json.load", lambda path: json.loads(path.read_bytes()))
_of_file("numpy.loadtxt", lambda path: float(np.loadtxt(path)))
_of_file("numpy.fromfile", lambda path: np.fromfile(path, np.uint8).sum())
_of_file("subprocess.run", lambda path: int(subprocess.check_output(["cat", path])))
_of_file("os.popen", lambda path: int(_said(os.popen(f"cat {path}"))))


def _configured(path):
    parser = configparser.ConfigParser()
    parser.read(path)
    return parser.getint("a", "b")


_of_file("configparser of a file", _configured, "[a]\nb=1\n", "[a]\nb=22\n")


def _rows(path):
    with open(path, newline="") as f:
        return int(next(iter(csv.reader(f)))[0])


_of_file("csv.reader", _rows)


def _of_directory(name, read):
    def make(end):
        path = _directory(end)
        return (lambda: read(path)), lambda: (path / "new").touch()

    row(name)(make)


_of_directory("os.listdir", lambda path: len(os.listdir(path)))
_of_directory("os.scandir", lambda path: len([x.name for x in os.scandir(path)]))
_of_directory("os.walk", lambda path: len([x for x in os.walk(path) if x[2]]))
_of_directory("os.path.exists", lambda path: os.path.exists(path / "new"))
_of_directory("os.path.isfile", lambda path: os.path.isfile(path / "new"))
_of_directory("os.access", lambda path: os.access(path / "new", os.R_OK))
_of_directory("glob.glob", lambda path: len(glob.glob(f"{path}/*")))
_of_directory("pathlib.Path.exists", lambda path: (path / "new").exists())
_of_directory("pathlib.Path.iterdir", lambda path: len(list(path.iterdir())))
_of_directory("shutil.which", lambda path: shutil.which(path / "new", os.F_OK) is None)


@row("file.tell")
def _(end):
    f = end.enter_context(_file(end, "abcdef").open())
    return lambda: f.tell(), lambda: f.seek(3)


@row("file.read", moves=True)
def _(end):
    f = end.enter_context(_file(end, "123456").open())
    return lambda: int(f.read(1)), lambda: None


@row("file.closed")
def _(end):
    f = end.enter_context(_file(end).open())
    return lambda: f.closed, lambda: f.close()


@row("io.StringIO.getvalue")
def _(end):
    f = io.StringIO()
    return lambda: len(f.getvalue()), lambda: f.write("abc")


@row("io.BytesIO.tell")
def _(end):
    f = io.BytesIO()
    return lambda: f.tell(), lambda: f.write(b"abc")


@row("mmap.mmap")
def _(end):
    m = end.enter_context(mmap.mmap(-1, 16))
    return lambda: m[0], lambda: m.__setitem__(0, 5)


@row("mmap.mmap.tell")
def _(end):
    m = end.enter_context(mmap.mmap(-1, 16))
    return lambda: m.tell(), lambda: m.seek(3)


@row("mmap.mmap.find")
def _(end):
    m = end.enter_context(mmap.mmap(-1, 16))
    return lambda: m.find(b"\x05"), lambda: m.__setitem__(0, 5)


@row("os.environ")
def _(end):
    name = "TORCHLIKE_TEST_STATES"
    end.callback(lambda: os.environ.pop(name, None))
    return lambda: name in os.environ, lambda: os.environ.update({name: "1"})


@row("os.getcwd")
def _(end):
    end.callback(os.chdir, os.getcwd())
    directory = _directory(end)
    end.callback(os.chdir, os.getcwd())
    return lambda: len(os.getcwd()), lambda: os.chdir(directory)


@row("pathlib.Path.cwd")
def _(end):
    directory = _directory(end)
    end.callback(os.chdir, os.getcwd())
    return lambda: len(str(pathlib.Path.cwd())), lambda: os.chdir(directory)


@row("os.get_inheritable")
def _(end):
    f = end.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    return lambda: os.get_inheritable(f.fileno()), lambda: os.set_inheritable(f.fileno(), True)


@row("os.times", moves=True)
def _(end):
    return lambda: os.times().elapsed, lambda: time.sleep(0.02)


@row("subprocess.Popen.poll")
def _(end):
    p = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    end.callback(p.wait)

    def change():
        p.stdin.close()
        p.wait()

    return lambda: p.poll() is None, change


@row("subprocess.Popen.returncode")
def _(end):
    p = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    end.callback(p.wait)

    def change():
        p.stdin.close()
        p.wait()

    return lambda: p.returncode is None, change


@row("socket.recv", moves=True)
def _(end):
    a, b = socket.socketpair()
    end.enter_context(a)
    end.enter_context(b)
    b.sendall(b"123456789")
    return lambda: int(a.recv(1)), lambda: None


@row("socket.gettimeout")
def _(end):
    a, b = socket.socketpair()
    end.enter_context(a)
    end.enter_context(b)
    return lambda: a.gettimeout() or 0.0, lambda: a.settimeout(3)


@row("socket.getdefaulttimeout")
def _(end):
    end.callback(socket.setdefaulttimeout, None)
    return lambda: socket.getdefaulttimeout() or 0, lambda: socket.setdefaulttimeout(4)


@row("select.select")
def _(end):
    a, b = socket.socketpair()
    end.enter_context(a)
    end.enter_context(b)
    return lambda: len(select.select([a], [], [], 0)[0]), lambda: b.send(b"1")


@row("sqlite3")
def _(end):
    db = sqlite3.connect(":memory:")
    end.callback(db.close)
    db.execute("create table t (x)")
    return (
        lambda: db.execute("select count(*) from t").fetchone()[0],
        lambda: db.execute("insert into t values (1)"),
    )


@row("sqlite3.Connection.total_changes")
def _(end):
    db = sqlite3.connect(":memory:")
    end.callback(db.close)
    db.execute("create table t (x)")
    return lambda: db.total_changes, lambda: db.execute("insert into t values (1)")


@row("multiprocessing.Value")
def _(end):
    v = multiprocessing.Value("i", 1)
    return lambda: v.value, lambda: setattr(v, "value", 3)


@row("multiprocessing.current_process().name")
def _(end):
    process = multiprocessing.current_process()
    before = process.name
    end.callback(lambda: setattr(process, "name", before))
    return (
        lambda: len(multiprocessing.current_process().name),
        lambda: setattr(process, "name", "x" * 30),
    )


# -- objects of C ----------------------------------------------------------------------------------


@row("hashlib")
def _(end):
    h = hashlib.sha256()
    return lambda: h.digest()[0], lambda: h.update(b"x")


@row("zlib.decompressobj")
def _(end):
    d = zlib.decompressobj()
    return lambda: d.eof, lambda: d.decompress(zlib.compress(b"x"))


@row("xml.etree.ElementTree.Element")
def _(end):
    e = xml.etree.ElementTree.Element("a", x="1")
    return lambda: int(e.get("x")), lambda: e.set("x", "2")


@row("xml.etree.ElementTree.Element, its children")
def _(end):
    e = xml.etree.ElementTree.Element("a", x="1")
    return lambda: len(e), lambda: e.append(xml.etree.ElementTree.Element("b"))


@row("csv.field_size_limit")
def _(end):
    before = csv.field_size_limit()
    end.callback(csv.field_size_limit, before)
    return lambda: csv.field_size_limit(), lambda: csv.field_size_limit(before + 5)


@row("numpy.geterr")
def _(end):
    end.enter_context(np.errstate())
    return lambda: np.geterr()["over"] == "raise", lambda: np.seterr(over="raise")


# -- tensors ---------------------------------------------------------------------------------------


@row("Tensor.retains_grad")
def _(end):
    h = torch.ones(1, requires_grad=True) * 2
    return lambda: h.retains_grad, lambda: h.retain_grad()


@row("Tensor.requires_grad")
def _(end):
    h = torch.ones(1)
    return lambda: h.requires_grad, lambda: h.requires_grad_()


@row("Tensor.is_leaf")
def _(end):
    h, w = torch.ones(1), torch.ones(1, requires_grad=True)
    return lambda: h.is_leaf, lambda: h.mul_(w)


@row("Tensor.grad")
def _(end):
    h = torch.ones(1, requires_grad=True)
    return lambda: h.grad is None, lambda: h.sum().backward()


@row("Tensor._version")
def _(end):
    h = torch.ones(1)
    return lambda: h._version, lambda: h.add_(1)


@row("Generator.initial_seed")
def _(end):
    g = torch.Generator().manual_seed(3)
    return lambda: g.initial_seed(), lambda: g.manual_seed(4)


@row("torch.initial_seed")
def _(end):
    torch.manual_seed(3)
    return lambda: torch.initial_seed() % 1000, lambda: torch.manual_seed(4)


@row("torch.are_deterministic_algorithms_enabled")
def _(end):
    end.callback(torch.use_deterministic_algorithms, False)
    return (
        lambda: torch.are_deterministic_algorithms_enabled(),
        lambda: torch.use_deterministic_algorithms(True),
    )


@row("torch.is_anomaly_enabled")
def _(end):
    end.callback(torch.autograd.set_detect_anomaly, False)
    return (
        lambda: torch.is_anomaly_enabled(),
        lambda: torch.autograd.set_detect_anomaly(True),
    )


@row("torch.get_float32_matmul_precision")
def _(end):
    before = torch.get_float32_matmul_precision()
    end.callback(torch.set_float32_matmul_precision, before)
    return (
        lambda: len(torch.get_float32_matmul_precision()),
        lambda: torch.set_float32_matmul_precision("medium"),
    )


@row("Tensor.retains_grad, in an optimizer's words")
def _(end):
    h = torch.ones(1, requires_grad=True) * 2
    thing = Thing(h)
    return lambda: thing.value.is_leaf or thing.value.retains_grad, lambda: h.retain_grad()
