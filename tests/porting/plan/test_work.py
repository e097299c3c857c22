"""Operations, bytes, and the share of a device's peak."""

import pytest

import torchlike as torch
from torchlike.porting import report
from torchlike.porting.plan import work
from torchlike.porting.plan.chips import CHIPS


def _step():
    model = torch.nn.Linear(64, 32, bias=False)
    return torch.jit.jit(lambda x: model(x).square().mean(), warmup=0), torch.ones(16, 64)


def test_a_compiled_function_is_counted_with_its_backward_pass():
    step, x = _step()
    with pytest.raises(ValueError, match="has not run"):
        work.work_of(step)
    step(x).backward()
    found = work.work_of(step)
    # y = x W.T, and of W alone a gradient.
    assert found.flops == {"f32": 2 * 2 * 16 * 64 * 32}
    assert found.bytes > 4 * (16 * 64 + 64 * 32)
    assert found == work.work_of(step.program_that_ran())
    with torch.no_grad():
        step(x)
    assert work.work_of(step).flops == {"f32": 2 * 16 * 64 * 32}


def test_a_plain_function_is_counted_as_a_call_on_its_arguments():
    x, half = torch.ones(8, 16), torch.ones(8, 16, dtype=torch.bfloat16)
    assert work.work_of(lambda a: a @ a.T, x).flops == {"f32": 2 * 8 * 8 * 16}
    assert work.work_of(lambda a: a @ a.T, half).flops == {"bf16": 2 * 8 * 8 * 16}


def test_the_unit_depends_on_the_precision_on_an_accelerator():
    a = torch.ones(8, 16)
    assert work.work_of(lambda a: a @ a.T, a, platform="cuda").flops == {"f32": 2048}
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        assert work.work_of(lambda a: a @ a.T, a, platform="cuda").flops == {"tf32": 2048}
        assert work.work_of(lambda a: a @ a.T, a, platform="cpu").flops == {"f32": 2048}
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_peak_is_a_chips_a_number_or_one_a_unit_and_a_cpu_has_none():
    assert work.peak_of() is None
    assert work.peak_of("h100") == CHIPS["h100"].peak
    assert work.peak_of("2e12") == {"bf16": 2e12, "tf32": 2e12, "f32": 2e12}
    assert work.peak_of("bf16=4e12,f32=1e12") == {"bf16": 4e12, "f32": 1e12}
    for wrong in ("h1000", "f64=1e12", "-1", "0", "f32=", "nan"):
        with pytest.raises(ValueError, match="a peak is a chip's name"):
            work.peak_of(wrong)
    assert set(work._KINDS.values()) <= set(CHIPS)


def test_the_share_adds_up_the_time_of_each_unit():
    both = work.ProgramWork({"bf16": 4 * 10**12, "f32": 10**12}, 10**9)
    peak = {"bf16": 8e12, "f32": 2e12}
    assert both.share(2.0, peak) == pytest.approx(0.5)
    assert both.share(2.0, {"bf16": 8e12}) is None
    assert both.share(2.0, None) is None
    said = "4 TFLOP bf16, 1 TFLOP f32, 1 GB moved"
    assert work.told(both, None, peak) == said
    assert work.told(both, 2.0, None).endswith("; no peak known (--peak gives it)")
    assert work.told(both, 2.0, peak) == (
        f"{said}: 2.5 TFLOP/s, 50.0% of the peak (8 TFLOP/s bf16, 2 TFLOP/s f32)"
    )


def test_a_comparison_tells_it_of_the_whole_step_alone():
    run = report.RecordedRun(
        label="compiled",
        framework="torchlike",
        version="0",
        device="cpu",
        first_step=1.0,
        steps=[0.5],
        losses=[],
        seconds=2.0,
        whole_steps=["step"],
        work={"program": "step", "flops": {"f32": 10**9}, "bytes": None, "peak": None},
    )
    assert any("20.0% of the peak" in line for line in report.notes([run], {"f32": 1e10}))
    assert any("no peak known" in line for line in report.notes([run]))
    part = report.RecordedRun(**{**vars(run), "whole_steps": []})
    assert "compiled: step: 1 GFLOP f32." in report.notes([part], {"f32": 1e10})
