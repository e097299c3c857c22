"""The site: links that hold, a reference that leaves nothing out, errors that exist."""

import ast
import json
import re

import pytest

from tools.site import checks, reference, staging

PACKAGE = staging.ROOT / "torchlike"


def test_every_public_name_is_documented():
    pytest.importorskip("tensorboard")  # it imports every module
    assert reference.undocumented() == []


def test_pages_of_the_reference_have_every_name():
    pytest.importorskip("tensorboard")
    pages = reference.pages()
    assert "## zeros_like\n" in pages["reference/torchlike.md"]
    assert "## scaled_dot_product_attention\n" in pages["reference/torchlike.nn.functional.md"]
    assert "## add_\n" in pages["reference/torchlike.Tensor.md"]
    assert all(
        f"({path.split('/')[1]})" in pages["reference/index.md"]
        for path in pages
        if path != "reference/index.md"
    )
    page = pages["reference/differs.md"]
    assert "- [`topk`](torchlike.md#topk): " in page
    assert "[`Optimizer.load_state_dict`](torchlike.optim.md#optimizer): copies the tensors" in page
    assert "(../docs/protocols.md#differs-from-pytorch)" in page
    assert page.count("[`topk`]") == 1  # the method says the same


def test_links_to_what_the_site_has_not_are_text(tmp_path):
    page, other = tmp_path / "a.md", tmp_path / "b.md"
    text = "[b](b.md#part), [code](src/x.py), [out](https://example.org), ![p](p.png)"
    assert staging.with_links(text, page, {other.resolve()}) == (
        "[b](b.md#part), code, [out](https://example.org), ![p](p.png)"
    )


def test_pages_lie_as_in_the_project(tmp_path):
    into = tmp_path / "pages"
    (into / "stale").mkdir(parents=True)
    staging.stage(into)
    assert (into / "docs" / "design" / "ops.md").exists()
    assert (into / "README.md").exists()
    assert not (into / "stale").exists()


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("``x * 2`` is a_b", r"`x * 2` is a\_b"),
        ("One.\n\n    x = 1", "One.\n\n```text\nx = 1\n```"),
        ("Args:\n  a: one\n    and on\n  b: two", "**Args:**\n\n- a: one and on\n- b: two"),
        (
            "Say it.\n\nExample:\n  >>> f(*x)\n  3",
            "Say it.\n\n**Example:**\n\n```pycon\n>>> f(*x)\n3\n```",
        ),
    ],
)
def test_docstrings_as_markdown(said, shown):
    assert reference.prose(said) == shown


@pytest.mark.exhaustive
def test_the_words_of_the_page_of_errors_are_raised():
    """Each of its first column stands in a string of the package, but for what is filled in."""
    strings = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.append(node.value)
    raised = "\0".join(strings)
    page = (staging.ROOT / "docs" / "errors.md").read_text("utf-8")
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert len(cells) > 10
    for words in re.findall(r"`([^`]+)`", " ".join(cells)):
        assert words in raised, words


def test_the_built_site_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "SEARCHES", {"two words": "b/", "absent": "b/"})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "index.html").write_text('<h2 id="part">x</h2>')
    links = ("b/", "b/#part", "b/#gone", "c/", "https://example.org", "#top")
    (tmp_path / "index.html").write_text("".join(f'<a href="{a}">' for a in links))
    items = [{"location": "b/#part", "title": "Two", "text": "words"}]
    (tmp_path / "search.json").write_text(json.dumps({"items": items}))
    assert checks.problems(tmp_path) == [
        "index.html: b/#gone",
        "index.html: c/#",
        "index.html: #top",
        "'absent' does not find b/",
        "pages do not say how wide they are on a phone",
    ]
