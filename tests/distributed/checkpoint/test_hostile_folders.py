"""Checkpoints from strangers: nothing outside of their folder is read or removed, and damage is
told in words."""

import itertools
import json
import os
import pickle
import random
import shutil
import socket
import subprocess
import sys
from collections import Counter

import pytest

import torchlike as torch
from tests.serialization.mutants import mutants, outcomes
from torchlike.distributed import checkpoint as dcp

OURS, HUGGING_FACE = "torchlike.index.json", "model.safetensors.index.json"


def save(folder, value=1.0, hugging_face=False):
    state = {"a": torch.full((4, 3), value), "b": torch.arange(5)}
    if hugging_face:
        dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(folder, {"a": 1, "b": 2}))
    else:
        dcp.save({**state, "n": {"epoch": 3}}, checkpoint_id=folder)


def load(folder, hugging_face=False):
    state = {"a": torch.zeros(4, 3), "b": torch.zeros(5, dtype=torch.int64)}
    if hugging_face:
        dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(folder))
    else:
        state["n"] = {"epoch": 0}
        dcp.load(state, checkpoint_id=folder)
    return state


@pytest.fixture
def folder(tmp_path):
    """A checkpoint, and beside it a file that is nobody's business."""
    (tmp_path / "precious").write_bytes(b"p" * 500)
    made = tmp_path / "checkpoint"
    save(made)
    return made


def change(folder, function, index=OURS):
    path = folder / index
    said = json.loads(path.read_text())
    function(said)
    path.write_text(json.dumps(said))


OUTSIDE = ["../precious", "/etc/passwd", "..", ".", "", "a/../../precious", "a\\b", "a\0b", 3, None]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_of_an_index_are_plain(folder, name):
    precious = folder.parent / "precious"
    change(folder, lambda said: said["tensors"]["a"]["pieces"][0].__setitem__(2, name))
    with pytest.raises(RuntimeError, match=r"torchlike\.index\.json is damaged: .*not the name of"):
        load(folder)
    save(folder, 2.0)
    assert precious.exists()
    assert load(folder)["a"].unique().item() == 2


@pytest.mark.parametrize("name", [n for n in OUTSIDE if n != ""])
def test_names_of_other_objects_are_plain(folder, name):
    change(folder, lambda said: said.update(objects=name))
    with pytest.raises(RuntimeError, match=r"is damaged: .*not the name of a file beside it"):
        load(folder)
    save(folder, 2.0)
    assert (folder.parent / "precious").exists()


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_of_a_weight_map_are_plain(folder, name):
    shutil.rmtree(folder)
    save(folder, hugging_face=True)
    change(folder, lambda said: said["weight_map"].update(a=name), HUGGING_FACE)
    with pytest.raises(RuntimeError, match=r"index\.json is damaged: .*not the name of a file"):
        load(folder, hugging_face=True)
    save(folder, 2.0, hugging_face=True)
    assert (folder.parent / "precious").exists()
    assert load(folder, hugging_face=True)["a"].unique().item() == 2


@pytest.mark.parametrize("hugging_face", [False, True])
def test_links_that_lead_out(folder, hugging_face):
    shutil.rmtree(folder)
    save(folder, hugging_face=hugging_face)
    held = next(folder.glob("*.safetensors"))
    outside = folder.parent / held.name
    held.rename(outside)
    held.symlink_to(outside)
    with pytest.raises(RuntimeError, match=r"is damaged: .*a link that leads out of the folder"):
        load(folder, hugging_face=hugging_face)
    held.unlink()
    held.symlink_to("elsewhere")
    outside.rename(folder / "elsewhere")
    assert load(folder, hugging_face=hugging_face)["b"].tolist() == [0, 1, 2, 3, 4]
    held.unlink()
    os.mkfifo(held)
    with pytest.raises(RuntimeError, match=r"is damaged: .*which is no file"):
        load(folder, hugging_face=hugging_face)


def test_the_cache_of_hugging_face(tmp_path):
    """Its snapshots are folders of links into one of blobs."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "abc"
    save(snapshot, hugging_face=True)
    blobs.mkdir()
    for i, path in enumerate(list(snapshot.iterdir())):
        path.rename(blobs / str(i))
        path.symlink_to(f"../../blobs/{i}")
    assert load(snapshot, hugging_face=True)["a"].unique().item() == 1


def test_files_that_no_save_of_ours_has_named_stay(tmp_path):
    """Those of a repository that somebody saves into, whatever its index says."""
    save(tmp_path, hugging_face=True)
    change(tmp_path, lambda said: said["metadata"].pop("written_by"), HUGGING_FACE)
    theirs = {p.name for p in tmp_path.glob("*.safetensors")}
    save(tmp_path, 2.0, hugging_face=True)
    assert all((tmp_path / name).exists() for name in theirs)
    own = {p.name for p in tmp_path.glob("*.safetensors")} - theirs
    (tmp_path / "notes.txt").write_text("mine")
    change(tmp_path, lambda said: said["weight_map"].update(c="notes.txt"), HUGGING_FACE)
    save(tmp_path, 3.0, hugging_face=True)
    assert (tmp_path / "notes.txt").exists()
    assert not any((tmp_path / name).exists() for name in own)


def test_what_a_planted_list_names_stays(folder):
    """Of a save that was killed, as it seems: names from outside, names of others' files."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = folder / f".torchlike-saving-{socket.gethostname()}-{ended.pid}-abc"
    left.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "link").symlink_to("notes.txt")
    names = ["../precious", str(folder.parent / "precious"), "notes.txt", "link"]
    lines = [*names, *(f"1:2 {name}" for name in names), *(f" {name}" for name in names)]
    (left / "moved").write_text("\n".join(lines))
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "moved").write_text("../precious")
    (folder / f"{left.name}d").symlink_to(elsewhere)
    save(folder, 2.0)
    assert not left.exists()
    assert (folder.parent / "precious").exists()
    assert (elsewhere / "moved").exists()
    assert (folder / "notes.txt").exists()
    assert (folder / "link").is_symlink()


def _piece(said):
    return said["tensors"]["a"]["pieces"][0]


CHANGES = {
    "a negative offset": (lambda s: _piece(s).__setitem__(3, -600), "begins at -600"),
    "an offset behind the end": (lambda s: _piece(s).__setitem__(3, 10**9), "before the byte"),
    "a fraction": (lambda s: _piece(s).__setitem__(3, 0.5), "begins at 0.5"),
    "a large tensor": (lambda s: s["tensors"]["a"].update(shape=[1 << 40, 3]), "not as large"),
    "a large piece": (
        lambda s: s["tensors"]["a"].update(
            shape=[1 << 40], pieces=[[[0], [1 << 40], _piece(s)[2], 0]]
        ),
        "before the byte|share bytes",
    ),
    "a negative size": (lambda s: s["tensors"]["a"].update(shape=[-4, -3]), "no list of sizes"),
    "pieces that overlap": (
        lambda s: s["tensors"]["a"].update(
            pieces=[[[i, 0], [2, 3], _piece(s)[2], 24 * i] for i in (0, 1)]
        ),
        "overlap|share bytes",
    ),
    "one place for two": (
        lambda s: s["tensors"]["b"].update(pieces=[[[0], [5], _piece(s)[2], 0]]),
        "share bytes",
    ),
    "an unknown dtype": (lambda s: s["tensors"]["a"].update(dtype="object"), "unknown dtype"),
    "no pieces": (lambda s: s["tensors"]["a"].pop("pieces"), "no pieces"),
    "no tensors": (lambda s: s.pop("tensors"), "no dictionary"),
    "an absent file": (lambda s: _piece(s).__setitem__(2, "absent"), "cannot be read"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_sizes_and_places_are_checked(folder, what):
    damage, words = CHANGES[what]
    change(folder, damage)
    with pytest.raises(RuntimeError, match=f"is damaged: .*({words})"):
        load(folder)


def _mutants(data, draw):
    """Bytes changed, taken out, put in, cut off, and numbers and names of JSON exchanged."""
    data, n = bytearray(data), draw.randrange(6)
    at = draw.randrange(len(data))
    if n == 0:
        data[at] = draw.randrange(256)
    elif n == 1:
        del data[at : at + draw.randrange(1, 40)]
    elif n == 2:
        data[at:at] = draw.randbytes(draw.randrange(1, 20))
    elif n == 3:
        del data[at:]
    elif n == 4:
        data[at : at + 8] = draw.choice([b"\xff" * 8, b"\0" * 8, b"[" * 8, b"9" * 30, b"null"])
    else:
        other = draw.randrange(len(data))
        data[at : at + 20] = data[other : other + 20]
    return bytes(data)


def is_clear(error):
    return isinstance(error, (RuntimeError, pickle.UnpicklingError)) and bool(str(error))


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("hugging_face", [False, True])
def test_damaged_files(tmp_path, count, hugging_face):
    """Each mutant of one file in turn is loaded, or refused in words, within a gigabyte."""
    save(tmp_path, hugging_face=hugging_face)
    files = sorted(p for p in tmp_path.iterdir() if p.is_file())
    draw, told = random.Random(count), Counter()
    for seed, path in enumerate(files):
        whole, n = path.read_bytes(), -(-count // len(files) // 2)
        own = (_mutants(whole, draw) for _ in range(n))

        def read(content, path=path):
            path.write_bytes(content)
            load(tmp_path, hugging_face)

        counts, raw = outcomes(itertools.chain(mutants(whole, n, seed), own), read, is_clear)
        assert not raw
        told += counts
        path.write_bytes(whole)
    assert load(tmp_path, hugging_face)["a"].unique().item() == 1
    assert told["clear"] > count // 4
    assert sum(told.values()) >= count
