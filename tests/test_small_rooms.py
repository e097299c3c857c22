"""What small rooms of PyTorch's names do on their own."""

import copy
import datetime

import pytest

import torchlike as torch
import torchlike.overrides
import torchlike.utils.benchmark as benchmark
import torchlike.utils.collect_env as collect_env


def test_file_check():
    text = "a = 1\nb = 2\nc = 3\nd = 2\n"
    check = torch.testing.FileCheck
    check().check("a").check_same("1").check_next("b").check_count("2", 2, exactly=True).run(text)
    check().check_dag("d").check_dag("b").run(text)
    check().check("a").check_not("d").check("c").run(text)
    for wrong in (
        check().check("b").check("a"),
        check().check("a").check_same("2"),
        check().check("a").check_next("c"),
        check().check("a").check_not("b").check("c"),
        check().check_count("2", 3),
    ):
        with pytest.raises(RuntimeError, match="Expected to"):
            wrong.run(text)


def test_tables_of_measurements():
    def made(sub, description, seconds):
        task = benchmark.TaskSpec("x", "pass", label="add", sub_label=sub, description=description)
        return benchmark.Measurement(1, [seconds] * 3, task)

    table = benchmark.Compare(
        [made("64", "eager", 1e-5), made("64", "jit", 5e-6), made("128", "jit", 7e-6)]
    )
    lines = str(table).splitlines()
    assert " add " in lines[0]
    assert "eager" in lines[1]
    assert "jit" in lines[1]
    row = [cell.strip() for cell in lines[3].split("|")]
    assert row == ["64", "10.0", "5.0"]
    assert "microseconds (us)" in str(table)
    with pytest.raises(ValueError, match="Measurement"):
        table.extend_results([3])


def test_uninitialized_buffer():
    lazy = torch.nn.UninitializedBuffer(dtype=torch.float64)
    with pytest.raises(RuntimeError, match="uninitialized"):
        _ = lazy.shape
    assert copy.deepcopy(lazy).dtype is torch.float64
    module = torch.nn.Module()
    module.register_buffer("b", lazy)
    lazy.materialize((2, 3))
    assert type(lazy) is torch.Tensor
    assert module.b.shape == (2, 3)


def test_one_process_batches():
    dist = torch.distributed
    dist.init_process_group("gloo", init_method="tcp://localhost:1", rank=0, world_size=1)
    try:
        own, groups = dist.new_subgroups(1)
        assert own.size() == 1
        assert len(groups) == 1
        assert dist.get_pg_count() == 2
        with pytest.raises(ValueError, match="exceed"):
            dist.new_subgroups(2)
        with pytest.raises(ValueError, match="isend"):
            dist.P2POp(dist.send if dist.send is not dist.isend else len, torch.ones(1), 0)
        with pytest.raises(IndexError, match="no P2POp"):
            dist.batch_isend_irecv([])
    finally:
        dist.destroy_process_group()
    assert dist.Backend("GLOO") == dist.Backend.GLOO
    soon = datetime.timedelta(milliseconds=20)
    with pytest.raises(dist.DistNetworkError, match=r"timed out after 20ms.*rank 0 running"):
        dist.TCPStore("localhost", 1, 2, False, soon)
    store = dist.HashStore()
    store.set_timeout(soon)
    with pytest.raises(dist.DistStoreError, match="zz"):
        store.get("zz")
    assert dist.get_debug_level() is dist.DebugLevel.OFF


def test_refusals_name_an_alternative():
    for name, made in (
        ("explain", lambda: importlib_("utils.flop_counter").FlopCounterMode().__enter__()),
        ("DataLoader", lambda: torch.utils.data.IterDataPipe()),
        ("custom_op", lambda: torchlike.overrides.TorchFunctionMode()),
        ("torch.save", lambda: importlib_("package").PackageExporter("f")),
    ):
        with pytest.raises(NotImplementedError, match=name):
            made()
    assert not torch.mtia.is_available()


def importlib_(name):
    import importlib

    return importlib.import_module(f"torchlike.{name}")


def test_environment():
    assert "torch_version: 2.13" in collect_env.get_pretty_env_info()


def test_set_module():
    def f():
        """Nothing."""

    torch.utils.set_module(f, "elsewhere")
    assert f.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="string"):
        torch.utils.set_module(f, 3)
