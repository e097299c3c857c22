"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from collections import OrderedDict

import pytest

import torchlike as torch
import torchlike.nn as nn


def kinds(modules):
    return [type(m).__name__ for m in modules]


def test_sequential_runs_in_order_and_is_a_list():
    s = nn.Sequential(OrderedDict(a=nn.Linear(2, 3), b=nn.ReLU()))
    assert s(torch.ones(1, 2)).shape == (1, 3)
    assert s.a is s[0]
    assert s[-1] is s.b
    assert kinds(s[:1]) == ["Linear"]
    assert list(s[1:]._modules) == ["b"]
    with pytest.raises(IndexError, match="index 2 is out of range"):
        s[2]
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.ELU())
    del s[1]
    assert list(s._modules) == ["0", "1"]
    s.insert(1, nn.Sigmoid()).append(nn.GELU()).extend(nn.Sequential(nn.Mish()))
    assert kinds(s) == ["ReLU", "Sigmoid", "ELU", "GELU", "Mish"]
    assert kinds([s.pop(0), *(s[:1] + s[:1])]) == ["ReLU", "Sigmoid", "Sigmoid"]
    assert len(s * 2) == 8
    s[0] = nn.SiLU()
    assert kinds(s)[0] == "SiLU"
    with pytest.raises(IndexError, match="Index out of range: 9"):
        s.insert(9, nn.ReLU())
    with pytest.raises(ValueError, match="only objects of Sequential class"):
        s + 3


def test_module_list():
    ms = nn.ModuleList([nn.ReLU()])
    ms.extend([nn.Tanh(), nn.ELU()]).append(nn.GELU())
    ms.insert(1, nn.Sigmoid())
    assert kinds(ms) == ["ReLU", "Sigmoid", "Tanh", "ELU", "GELU"]
    del ms[1:3]
    assert kinds(ms) == ["ReLU", "ELU", "GELU"]
    assert list(ms._modules) == ["0", "1", "2"]
    assert kinds(ms + [nn.Tanh()])[-1] == "Tanh"
    ms += [nn.Tanh()]
    assert kinds([ms.pop(-1), ms[-1]]) == ["Tanh", "GELU"]
    assert kinds(ms[::-1]) == ["GELU", "ELU", "ReLU"]
    with pytest.raises(TypeError, match="should be called with an iterable, but got int"):
        ms.extend(3)
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_module_dict():
    ms = nn.ModuleDict([("a", nn.ReLU())])
    ms["b"] = nn.Tanh()
    ms.update({"c": nn.ELU()})
    assert "a" in ms
    assert list(ms) == ["a", "b", "c"]
    assert kinds([ms.pop("a"), *ms.values()]) == ["ReLU", "Tanh", "ELU"]
    with pytest.raises(KeyError):
        ms["a"]
    with pytest.raises(ValueError, match="element #0 has length 3; 2 is required"):
        ms.update([(1, 2, 3)])
    ms.clear()
    assert len(ms) == 0


def test_parameter_list():
    ps = nn.ParameterList([torch.ones(1), nn.Parameter(torch.ones(2, 3))])
    ps.append(torch.zeros(3)).append("other")
    assert [n for n, _ in ps.named_parameters()] == ["0", "1", "2"]
    assert isinstance(ps[0], nn.Parameter)
    assert ps[-1] == "other"
    assert [p.numel() for p in ps[1:3]] == [6, 3]
    with pytest.raises(IndexError, match="index 7 is out of range"):
        ps[7]
    with pytest.raises(RuntimeError, match="should not be called"):
        ps()
    assert repr(ps[1:]) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Parameter containing: [torch.float32 of size 3]\n"
        "    (2): Object of type: str\n"
        ")"
    )


def test_parameter_dict():
    ps = nn.ParameterDict({"a": torch.ones(1)})
    ps["b"] = nn.Parameter(torch.ones(2))
    assert [n for n, _ in ps.named_parameters()] == ["a", "b"]
    assert ps.get("c", 4) == 4
    assert ps.setdefault("c", 5) == 5
    assert [k for k, _ in ps.items()] == ["a", "b", "c"]
    merged = ps | nn.ParameterDict({"d": torch.ones(1)})
    assert list(merged.keys()) == ["a", "b", "c", "d"]
    assert ps.popitem() == ("c", 5)
    assert ps.pop("a").tolist() == [1]
    assert list(ps) == ["b"]
    with pytest.raises(TypeError, match="not a string"):
        ps[3]
    assert "torch.FloatTensor of size 2]" in repr(ps)


def test_the_old_container_is_a_module_with_named_children():
    with pytest.warns(FutureWarning, match=r"`nn\.Container` is deprecated"):
        container = nn.Container(a=nn.Linear(1, 2), b=nn.ReLU())
    assert list(dict(container.named_children())) == ["a", "b"]
    assert list(container.state_dict()) == ["a.weight", "a.bias"]
