"""``torchlike scan``: what is found in programs, and what is told of files that are none."""

import io
import json
import os

import pytest
from rich.console import Console

from torchlike.porting.scan import command, differences, listing, notebooks, page, sources
from torchlike.porting.scan.scanning import scan, scan_file


def found(tmp_path, text, kind=None):
    file = tmp_path / "program.py"
    file.write_text(text, "utf-8")
    report = scan_file(file)
    assert report.skipped == ""
    return [(f.line, f.kind, f.name) for f in report.findings if kind in (None, f.kind)]


@pytest.mark.parametrize(
    "spelling",
    [
        "import torch\ntorch.quantize_per_tensor",
        "import torch as t\nt.quantize_per_tensor",
        "\nfrom torch import quantize_per_tensor",
        "import torch\n(lambda: torch.quantize_per_tensor)()",
        "import torch\nclass A(torch.quantize_per_tensor): pass",
        "from torch import Tensor as T\ndef f(x: T): return x.q_scale()",
        "import torch\ndef f(x: 'torch.Tensor | None'): return x.q_scale()",
        "import torch.nn.functional as F\ndef f(y): x = F.linear(y, y); return x.q_scale()",
        "import torch\ndef f(y): return (torch.ones(3) * 2)[0].sin().q_scale()",
        "import torch.nn as nn\nnn.Linear(2, 3, biass=True)",
        "import torch\ntorch.ones(3).sum(dims=0)",
        # Private names, and names that are strings.
        "import torch\ntorch._C._no_such_thing",
        "import torch\ntorch._utils._no_such_thing(1)",
        "\nfrom torch._utils import _no_such_thing",
        "\nimport torch._no_such_module",
        "import torch\ngetattr(torch._C, '_no_such_thing')",
        "import importlib\nimportlib.import_module('torch._C')._no_such_thing",
        # Ways to get at torch.
        "import pytest\npytest.importorskip('torch').quantize_per_tensor",
        "torch, has_torch = optional_import('torch')\ntorch.quantize_per_tensor",
        "from somewhere import *\ntorch.quantize_per_tensor",
        "import torch; torch = torch if torch else object()\ntorch.quantize_per_tensor",
    ],
)
def test_what_is_missing_is_found(tmp_path, spelling):
    names = found(tmp_path, spelling, "missing")
    assert [line for line, *_ in names] == [2], names


@pytest.mark.parametrize(
    "text",
    [
        # Not PyTorch's, or not certainly a tensor.
        "torch = object()\ntorch.no_such_thing",
        "import torch\ndef f(torch): torch.no_such_thing",
        "import torch\ndef f(x): return x.q_scale()",
        "import torch\ndef f(c):\n    x = torch.ones(3)\n    x = c\n    return x.q_scale()",
        "import torch\nclass A:\n    torch = 1\n    no = torch.real",
        "from torch import Tensor\ndef f(x: Tensor): return x.my_own_mark",
        # The program puts it there.
        "import torch\ntorch.no_such = print\ntorch.no_such(1)\ntorch.no_such.more",
        "import torch\nsetattr(torch, 'no_such', print)\ntorch.no_such(1)",
        "import torch\ntorch.nn.functional.mine = print\nfrom torch.nn.functional import mine",
        "import torch\ntorch.ops.mylib.something(1)",
        # Names that are there.
        "import torch\ntorch.ones(3).sum(axis=0, keepdims=True)",
        "import torch\ntorch.swapaxes(torch.ones(2, 3), axis0=0, axis1=1)",
        "import torch.nn.functional as F\nF.softmax(1, dim=-1, _stacklevel=3, dtype=None)",
        "from torch import nn\nnn.Linear(2, 3, bias=False, device='cpu')",
        # What is asked for first.
        "try:\n    from torch import no_such_thing\nexcept ImportError:\n    pass",
        "import torch\nif hasattr(torch, 'no_such'):\n    torch.no_such()",
        "import torch\ngetattr(torch, 'no_such', None)",
        "import torch\ngetattr(torch, name)\ngetattr(thing, 'no_such')",
        "importance = weigh('torch')\nimportance.no_such",
    ],
)
def test_what_is_not_missing_is_not_told(tmp_path, text):
    file = tmp_path / "program.py"
    file.write_text(text, "utf-8")
    assert scan_file(file).of("missing") == []


def test_names_are_followed_through_the_programs_other_files(tmp_path):
    files = {
        "pack/__init__.py": "",
        "pack/compat.py": "import torch as t\nimport torch.nn.functional as F\nfrom .loop import *",
        "pack/loop.py": "from .compat import *\nfrom torch import nn as layers\n_own = 1",
        "pack/listed.py": "import torch\nfrom torch import nn\n__all__ = ['nn']",
        "pack/shadowed.py": "import torch\ntorch = object()",
        "pack/broken.py": "import torch\n(",
        "pack/sub/star.py": "from ..compat import *\nt.no_such\nlayers.no_such\nF.no_such",
        "pack/sub/named.py": "from ..compat import t as tt, F\n\ntt.no_such\nF.no_such",
        "pack/sub/absolute.py": "from pack.loop import *\nlayers.no_such\nt.no_such",
        "pack/only_listed.py": "from .listed import *\nfrom .listed import torch as t\nt.no_such\n"
        "nn.no_such",
        "pack/hidden.py": "from .shadowed import torch\ntorch.no_such\nfrom . import compat\n"
        "from .broken import *\nfrom .absent import *\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    report = scan([tmp_path])
    lines = {os.path.basename(f.path): [x.line for x in f.of("missing")] for f in report.files}
    assert {name: found for name, found in lines.items() if found} == {
        "star.py": [2, 3, 4],
        "named.py": [3, 4],
        "absolute.py": [2, 3],
        "only_listed.py": [3, 4],
    }


def test_words_come_from_the_package(tmp_path):
    (tmp_path / "a.py").write_text(
        "import torch\ntorch.optim.SGD\ntorch.quantize_per_tensor\ntorch.sparse"
    )
    (report,) = scan([tmp_path]).files
    by_name = {f.name: f for f in report.findings}
    assert by_name["torch.optim.SGD"].kind == "differs"
    assert "momentum of sparse gradients" in by_name["torch.optim.SGD"].says
    assert "Use instead: a floating dtype" in by_name["torch.quantize_per_tensor"].says


@pytest.mark.parametrize(
    ("text", "risk"),
    [
        ("import torch\nfor i in range(3):\n    loss.item()", ".item() reads a value in a loop"),
        ("import torch\nx = torch.ones(1)\nwhile 1:\n    float(x)", "float(tensor) reads"),
        ("import torch\nfor i in y:\n    x = torch.cat([x, i])", "grows in a loop"),
        ("model.cuda()", "names a device"),
        ("x = y.to('cuda:0')", "names a device"),
        ("import torch\ntorch.distributed.init_process_group()", "starts processes"),
        (
            "import torch\n@torch.compile\ndef f(x: torch.Tensor):\n    if x.sum() > 0: pass",
            "branches on a value",
        ),
        (
            "import torch\n@torch.compile\ndef f(x: torch.Tensor):\n    return x.sum().item()",
            ".item() needs a value in compiled code",
        ),
        (
            "import torch\n@torch.compile\ndef f(x: torch.Tensor):\n    return float(x.sum())",
            "float(tensor) needs a value in compiled code",
        ),
        (
            "from torch import nn, Tensor\nclass B(nn.Module): pass\nclass A(B):\n"
            "    def forward(self, x: Tensor):\n        while x.any(): pass",
            "branches on a value",
        ),
    ],
)
def test_risks_are_found(tmp_path, text, risk):
    (name,) = [name for _, _, name in found(tmp_path, text, "risky")]
    assert risk in name


@pytest.mark.parametrize(
    "text",
    [
        "loss.item()",
        "for i in y:\n    def f(): loss.item()",
        "for i in y:\n    d.items()\n    float(i)",
        "import torch\ndef f(x: torch.Tensor):\n    if x.sum() > 0: pass",
        "import torch\nfor i in y:\n    x = torch.cat([a, b])",
    ],
)
def test_what_is_no_risk_is_not_told(tmp_path, text):
    assert found(tmp_path, text, "risky") == []


def report_of(tmp_path, text):
    (tmp_path / "program.py").write_text(text)
    return scan([tmp_path / "program.py"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\ntorch.ones(2)", "runs"),
        (
            "for i in y:\n    a.item()\n    b.item()\nm.cuda()",
            "runs; 1 thing to know; 2 slow lines",
        ),
        ("import torch\ntorch.q_scale\ntorch.q_scale", "stops at 1 missing name"),
        ("import torch\nif hasattr(torch, 'no_such'):\n    torch.no_such", "runs"),
        ("import torch\nif on_npu:\n    torch.npu.empty_cache()", "runs"),
        ("import torch\nif HAS_TRITON:\n    torch._C._no_such", "runs"),
        (
            "import torch\nclass A:\n    def f(self):\n        torch.q_scale\n        torch._C._no",
            "runs but for 1 function, where 2 names are missing",
        ),
        ("import torch\ndef f(x=torch.q_scale): pass", "stops at 1 missing name"),
    ],
)
def test_the_verdict_comes_first(tmp_path, text, said):
    report = report_of(tmp_path, text)
    assert next(iter(listing.report_lines(report, everything=False, width=80))) == said


def test_functions_are_named_that_alone_use_what_is_missing(tmp_path):
    text = (
        "import torch\nclass A:\n    def f(self):\n        def g(): torch.q_scale\ndef h(): pass\n"
    )
    lines = list(listing.report_lines(report_of(tmp_path, text), everything=False, width=80))
    assert "    used only in A.f" in lines
    assert lines[-1] == "1 file, 5 lines: 1 missing, 1 use as in PyTorch"
    lines = listing.report_lines(
        report_of(tmp_path, text + "torch.q_scale"), everything=False, width=80
    )
    assert not any("used only" in line for line in lines)


def test_a_finding_is_told_once_with_its_lines(tmp_path):
    text = "import torch\n" + "torch.q_scale\n" * 10 + "x.to('cuda')\nm.cuda()\n"
    lines = list(listing.report_lines(report_of(tmp_path, text), everything=False, width=80))
    assert lines.count("  torch.q_scale") == 1
    told = " ".join(" ".join(lines).split())
    assert "program.py:2, 3, 4, 5, 6, 7, 8, 9 and 2 more" in told
    assert "  names a device: 'cuda', .cuda()" in lines
    assert sum("--device-map" in line for line in lines) == 1


def test_names_and_paths_are_not_broken(tmp_path):
    name = "torch.ao.quantization.prepare_qat"
    folder = tmp_path / ("a_long_name_of_a_folder" * 4)
    folder.mkdir()
    (folder / "p.py").write_text(f"import torch\n{name}")
    lines = list(listing.report_lines(scan([folder]), everything=False, width=80))
    assert f"  {name}" in lines
    assert any(line.strip() == f"{folder / 'p.py'}:2" for line in lines)
    assert all(len(line) <= 80 for line in lines if str(folder) not in line)


@pytest.mark.parametrize(
    ("says", "program", "met"),
    [
        ("the momentum of sparse gradients is dense.", "import torch", False),
        ("the momentum of sparse gradients is dense.", "nn.Embedding(2, 3, sparse=True)", True),
        ("inside ``torchlike.jit`` it does not look.", "x = 1", False),
        ("inside ``torchlike.jit`` it does not look.", "@torch.compile", True),
        ("``pin_memory`` changes nothing.", "DataLoader(data)", False),
        ("``pin_memory`` changes nothing.", "DataLoader(data, pin_memory=True)", True),
        ("has gradients of every order.", "import torch", False),
        ("of equal values the earlier ones are chosen.", "import torch", True),
        ("there are no graph breaks.", "re.compile('a')", False),
        ("there are no graph breaks.", "model.compile()", True),
        ("Casts are not nodes of the graph.", "with torch.autocast('cpu'): pass", False),
        ("fractions are computed in float64.", "torch.arange(n)", False),
        ("fractions are computed in float64.", "torch.arange(0, 1, 0.1)", True),
        ("filled with zeros rather than whatever was in memory.", "torch.empty(3)", False),
    ],
)
def test_a_difference_is_told_where_it_can_be_met(says, program, met):
    assert differences.can_meet(says, [program]) is met


def test_advice_is_for_the_case(tmp_path):
    text = "import torch\ntorch._C._no_such\ntorch.npu.is_available()\ntorch.amp.autocast"
    said = {f.name: f.says for f in report_of(tmp_path, text).files[0].findings}
    assert "private to PyTorch" in said["torch._C._no_such"]
    assert "hasattr(torch, 'npu')" in said["torch.npu.is_available"]
    assert not said["torch.amp.autocast"].startswith("-")


def test_a_library_is_not_told_of_itself(tmp_path):
    folder = tmp_path / "torchmetrics"
    folder.mkdir()
    (folder / "a.py").write_text("import torchmetrics\nimport einops")
    assert [f.name for f in scan([folder]).files[0].of("other")] == ["einops"]


def test_forms_for_programs(tmp_path):
    def said(form):
        console = Console(file=io.StringIO(), width=80)
        command.run([tmp_path], console=console, form=form)
        return console.file.getvalue()

    (tmp_path / "p, q.py").write_text("import torch\ntorch.q_scale\nfor i in y:\n    i.item()")
    assert json.loads(said("json"))["counts"]["missing"] == 1
    lines = said("github").splitlines()
    assert lines[0].startswith("::error file=")
    assert "p%2C q.py,line=2,title=torch.q_scale::" in lines[0]
    assert lines[1].startswith("::warning file=")


def test_a_line_of_a_notebook_is_known_by_its_cell(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "text"},
        {
            "cell_type": "code",
            "source": [
                "%matplotlib inline\n",
                "!pip install \\\n",
                " x\n",
                "import torch\n",
                "files = !ls\n",
                "torch.ones?",
            ],
        },
        {"cell_type": "code", "source": "%%bash\nrm -r no"},
        {"cell_type": "code", "source": "this is no Python"},
        {"cell_type": "code", "source": "%%time\n\ntorch.quantize_per_tensor"},
    ]
    file = tmp_path / "n.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    report = scan_file(file)
    assert [(f.cell, f.line) for f in report.of("missing")] == [(5, 3)]
    assert [note[:15] for note in report.notes] == ["cell 3 left out", "cell 4 left out"]
    with pytest.raises(sources.UnreadableError, match="not a notebook"):
        notebooks.read("[1]")


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LARGEST", 1000)
    files = {
        "good.py": b"import torch\ntorch.ones(1)\n",
        "empty.py": b"",
        "latin.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        "mark.py": b"\xef\xbb\xbfx = 1\n",
        "binary.py": b"\0\1\2",
        "old.py": b"print 'hello'\n",
        "utf8.py": b"x = 1\ny = '\xe9'\n",
        "nocodec.py": b"# coding: klingon\n",
        "rot13.py": b"# coding: rot13\nvzcbeg gbepu\n",
        "huge.py": b"x = 1\n" * 1000,
        "deep.py": b"x = " + b"(" * 300 + b")" * 300,
        "bad.ipynb": b"{",
        "readme.txt": b"torch",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing.py")
    report = scan([tmp_path, tmp_path / "absent"])
    skipped = {os.path.basename(f.path): f.skipped for f in report.skipped}
    words = {
        "binary.py": "binary",
        "old.py": "not Python 3",
        "utf8.py": "line 2",
        "deep.py": "",
        "nocodec.py": "encoding",
        "rot13.py": "not a text encoding",
        "huge.py": "MiB",
        "bad.ipynb": "not a notebook",
        "gone.py": "No such file",
        "absent": "No such file",
    }
    assert set(skipped) == set(words)
    assert all(word in skipped[name] for name, word in words.items()), skipped
    assert len(report.files) - len(report.skipped) == 4


def test_exit_codes_and_files(tmp_path):
    def code(text, **options):
        (tmp_path / "p.py").write_text(text)
        console = Console(file=io.StringIO(), width=200)
        return command.run([tmp_path], console=console, **options), console.file.getvalue()

    assert code("import torch\ntorch.ones(2)")[0] == 0
    assert code("m.cuda()")[0] == 0
    assert code("m.cuda()", fail_on="risky")[0] == 1
    made = {"json_path": tmp_path / "r.json", "html_path": tmp_path / "r.html"}
    number, said = code("import torch\ntorch.quantize_per_tensor('<b>')", **made)
    assert (number, "1 missing" in said) == (1, True)
    assert code("import torch\ntorch.quantize_per_tensor", fail_on="never")[0] == 0
    assert json.loads(made["json_path"].read_text())["counts"]["missing"] == 1
    html = made["html_path"].read_text()
    assert "torch.quantize_per_tensor" in html
    assert "http" not in html
    assert code("x = (")[0] == 2
    (tmp_path / "q.py").write_text("x = 1")
    assert code("x = (")[0] == 3
    (tmp_path / "<b>.py").write_text("import torch\ntorch.quantize_per_tensor")
    assert "<b>" not in page.html(scan([tmp_path]))
