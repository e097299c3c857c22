"""torch.testing.FileCheck finds lines in their order."""

import pytest

import torchlike as torch


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
