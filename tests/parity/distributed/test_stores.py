"""Stores of one process: keys that are counted, a script's own classes, what is refused."""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import pytest

from tests.parity.oracle import compare


def _own_store(t):
    class Own(t.distributed.Store):
        def __init__(self):
            super().__init__()
            self.values = {}
            self.asked = []

        def set(self, key, value):
            self.values[key] = value

        def get(self, key):
            return self.values[key]

        def add(self, key, amount):
            return 3

        def compare_set(self, key, expected, desired):
            self.asked.append((key, expected, desired))
            if self.values.get(key, b"") == expected:
                self.values[key] = desired
            return self.values[key]

    return Own()


def test_a_scripts_own_store():
    def of(t):
        own = _own_store(t)
        prefixed = t.distributed.PrefixStore("p", own)
        prefixed.append("a", "12")
        prefixed.append("a", b"34")
        prefixed.multi_set(["b", "c"], ["x", "y"])
        prefixed.set("d", "z")
        found = prefixed.multi_get(["a", "b"]), prefixed.add("n", 1), prefixed.has_extended_api()
        return *found, own.values, own.asked, own.has_extended_api()

    compare(of)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("set", ("a", "b")),
        ("get", ("a",)),
        ("add", ("a", 1)),
        ("append", ("a", "b")),
        ("check", (["a"],)),
        ("wait", (["a"],)),
        ("delete_key", ("a",)),
        ("multi_get", (["a"],)),
        ("multi_set", (["a"], ["b"])),
        ("queue_len", ("a",)),
        ("num_keys", ()),
    ],
)
def test_what_a_store_leaves_out_is_refused(name, args):
    def of(t):
        class Empty(t.distributed.Store):
            pass

        with pytest.raises(RuntimeError):
            getattr(Empty(), name)(*args)

    compare(of)


def test_keys_that_are_counted(tmp_path):
    def of(t):
        d = t.distributed
        file = d.FileStore(str(tmp_path / t.__name__), 1)
        alone = d.TCPStore("localhost", 0, 1, True)
        uncounted = d.TCPStore("localhost", 0, None, True)
        found = []
        for store in (d.HashStore(), alone, uncounted, file, d.PrefixStore("q", d.HashStore())):
            store.set("x", "1")
            found += [store.num_keys(), store.delete_key("x"), store.num_keys()]
            found.append(store.has_extended_api())
        return found

    compare(of)


def test_a_file_goes_with_the_last_of_its_stores(tmp_path):
    def of(t):
        found = []
        for size in (1, 2, -1):
            path = str(tmp_path / f"{t.__name__}{size}")
            first, second = (t.distributed.FileStore(path, size) for _ in range(2))
            first.set("x", "1")
            del first
            found += [os.path.exists(path), second.get("x")]
            del second
            found.append(os.path.exists(path))
        return found

    compare(of)


def test_only_the_master_waits_for_the_others():
    def of(t):
        make = t.distributed.TCPStore
        soon = timedelta(seconds=0.3)
        master = make("localhost", 0, 3, True, timeout=soon, wait_for_workers=False)
        make("localhost", master.port, 3, timeout=soon).set("x", "1")
        return master.get("x"), t.distributed.PrefixStore(
            "a", t.distributed.PrefixStore("b", master)
        )._underlying_non_prefix_store is master

    compare(of)


@pytest.mark.parametrize(
    "given",
    [
        lambda t: t.distributed.TCPStore("localhost", 0, 0, False),
        lambda t: t.distributed.PrefixStore("p", None),
        lambda t: t.distributed.rendezvous("invalid://"),
        lambda t: t.distributed.rendezvous("file://foo?rank=12&world_size=16", 12, 16),
        lambda t: t.distributed.rendezvous(3),
        lambda t: t.distributed.rendezvous("file:///x", "0", 1),
        lambda t: next(t.distributed.rendezvous("file:///tmp/foo?world_size=1")),
        lambda t: next(t.distributed.rendezvous("tcp://127.0.0.1:23456?rank=0")),
        lambda t: next(t.distributed.rendezvous("tcp://127.0.0.1?rank=0&world_size=1")),
        lambda t: t.distributed.register_rendezvous_handler("tcp", None),
    ],
)
def test_addresses_and_sizes_that_are_refused(given):
    compare(given)


def test_rendezvous(tmp_path):
    def of(t):
        d = t.distributed
        url = f"file://{tmp_path}/{t.__name__}?world_size=2&rank="
        (first, *where), (second, *_) = next(d.rendezvous(url + "0")), next(d.rendezvous(url + "1"))
        second.set("k", "v")

        def handler(url, **kwargs):
            yield first, 1, len(url), sorted(kwargs)

        d.register_rendezvous_handler("own", handler)
        with pytest.raises(RuntimeError, match="already registered"):
            d.register_rendezvous_handler("own", handler)
        return first.get("k"), where

    compare(of)


def test_a_handler_of_the_scripts_own_begins_a_world(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # PyTorch leaves one of its own

    def of(t):
        d = t.distributed
        asked = []

        def handler(url, timeout, **_):
            asked.append((url, timeout))
            yield d.HashStore(), 0, 1

        d.register_rendezvous_handler("mine", handler)
        d.init_process_group(
            "gloo", init_method="mine://there", timeout=timedelta(seconds=7), rank=0, world_size=1
        )
        found = d.get_world_size()
        d.destroy_process_group()
        return found, asked

    compare(of)
