"""torch.hub: downloads (from file URLs), checkpoints, entries; processes; profiles; timers."""

import hashlib

import pytest

import torchlike as torch


def test_a_checkpoint_from_a_url(tmp_path, monkeypatch):
    source = tmp_path / "model.pt"
    torch.save({"w": torch.ones(2)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    named = source.rename(tmp_path / f"model-{digest[:8]}.pt")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    url = named.as_uri()
    state = torch.hub.load_state_dict_from_url(url, check_hash=True)
    assert state["w"].tolist() == [1.0, 1.0]
    kept = tmp_path / "home" / "hub" / "checkpoints" / named.name
    assert kept.exists()
    named.unlink()
    assert torch.hub.load_state_dict_from_url(url)["w"].tolist() == [1.0, 1.0]


def test_a_wrong_hash_leaves_nothing(tmp_path):
    source = tmp_path / "file"
    source.write_text("abc")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(source.as_uri(), str(tmp_path / "copy"), "0000")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_local_entries(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['torchlike']\ndef doubled(x, by=2):\n    'Doubles.'\n    return x * by\n"
    )
    where = str(tmp_path)
    assert torch.hub.load(where, "doubled", 4, source="local") == 8
    assert torch.hub.load(where, "doubled", 4, source="local", by=3) == 12
    assert torch.hub.list(where, source="local") == ["doubled"]
    assert torch.hub.help(where, "doubled", source="local") == "Doubles."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        torch.hub.load(where, "other", source="local")
    with pytest.raises(NotImplementedError, match="clone"):
        torch.hub.load("owner/name", "model")
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(where, "doubled", source="x")


def _send(i, queue):
    queue.put((i, torch.ones(2) * i))


def _fail(i):
    if i == 1:
        raise ValueError("that one")


@pytest.mark.exhaustive
def test_processes_send_tensors_and_raise_their_errors():
    queue = torch.multiprocessing.get_context("spawn").SimpleQueue()
    torch.multiprocessing.spawn(_send, (queue,), nprocs=2)
    found = dict(queue.get() for _ in range(2))
    assert found[1].tolist() == [1.0, 1.0]
    with pytest.raises(torch.multiprocessing.ProcessRaisedException, match="that one"):
        torch.multiprocessing.spawn(_fail, nprocs=2)


def test_a_profile_is_a_trace(tmp_path):
    ready = []
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(schedule=plan, on_trace_ready=ready.append) as profile:
        for _ in range(4):
            with torch.profiler.record_function("the region"):
                torch.ones(3).sum().item()
            profile.step()
    assert ready == [profile]
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert "the region" in (tmp_path / "trace.json").read_text()
    profile.save(str(tmp_path / "saved"))
    assert any((tmp_path / "saved").rglob("*.xplane.pb"))
    assert "the region" in {event.key for event in profile.key_averages()}


def test_timers():
    timer = torch.utils.benchmark.Timer("x @ x", globals={"x": torch.ones(4, 4)}, label="product")
    one = timer.timeit(5)
    assert one.number_per_run == 5
    assert len(one.times) == 1
    assert one.median > 0
    several = timer.blocked_autorange(min_run_time=0.01)
    assert sum(several.raw_times) >= 0.01
    assert "product" in repr(several)
    assert timer.adaptive_autorange(max_run_time=0.1).mean > 0
