"""``FileCheck``: whether lines of a text say what they should, in order."""

from __future__ import annotations

from typing import Any, Self


class FileCheck:
    """Checks that are gathered, then run over a text from its start.

    ``check`` finds its words after the check before, ``check_same`` on the same line,
    ``check_next`` on the next line, ``check_count`` several times; ``check_not`` does not find
    them between the checks around it; ``check_dag`` finds neighbouring ones in any order.
    RuntimeError where one fails.

    Differs from PyTorch: ``check_source_highlighted`` and ``check_regex`` raise
    NotImplementedError, and so does ``run`` on checks written as comments of a file.

    Example:
      >>> torch.testing.FileCheck().check("a").check_not("c").check("b").run("a b")
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, int]] = []

    def check(self, text: str) -> Self:
        """Expect the text after what was found before."""
        return self._add("check", text)

    def check_same(self, text: str) -> Self:
        """Expect the text on the same line."""
        return self._add("check_same", text)

    def check_next(self, text: str) -> Self:
        """Expect the text on the next line."""
        return self._add("check_next", text)

    def check_not(self, text: str) -> Self:
        """Expect that the text does not come before what is found next."""
        return self._add("check_not", text)

    def check_dag(self, text: str) -> Self:
        """Expect the text somewhere after what was found before; neighbours of this kind in any
        order."""
        return self._add("check_dag", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> Self:
        """Expect the text ``count`` times; no more when ``exactly``."""
        for _ in range(count):
            self._add("check", text)
        return self._add("check_not", text) if exactly else self

    def _add(self, kind: str, text: str) -> Self:
        self._checks.append((kind, text, len(self._checks)))
        return self

    def check_source_highlighted(self, text: str) -> Self:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            "FileCheck.check_source_highlighted: nothing here marks source code. Use instead: check"
        )

    def check_regex(self, text: str) -> Self:
        """Raise NotImplementedError."""
        raise NotImplementedError("FileCheck.check_regex. Use instead: re.search")

    def run(self, text: Any, *rest: Any) -> None:
        """Check a text. RuntimeError for the first check that fails."""
        if not isinstance(text, str) or rest:
            raise NotImplementedError(
                "FileCheck.run: checks in comments of a file are not read. Use instead: "
                "FileCheck().check(…).run(text)"
            )
        at, refused = 0, []
        group_start, group_end = 0, 0
        previous = ""
        for kind, words, _ in self._checks:
            if kind == "check_not":
                refused.append(words)
                previous = kind
                continue
            if kind == "check_dag":
                if previous != "check_dag":
                    group_start = group_end = at
                start = self._found(text, words, group_start, len(text), kind)
                end = start + len(words)
                group_end = max(group_end, end)
                self._refuse(text, refused, at, start)
                at = group_end
            else:
                limit, begin = self._lines(text, at, kind)
                start = self._found(text, words, begin, limit, kind)
                self._refuse(text, refused, at, start)
                at = start + len(words)
            refused, previous = [], kind
        self._refuse(text, refused, at, len(text))

    @staticmethod
    def _lines(text: str, at: int, kind: str) -> tuple[int, int]:
        """Return the position at which a check may end and the one at which it begins."""
        if kind == "check":
            return len(text), at
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if kind == "check_same":
            return end, at
        begin = min(end + 1, len(text))
        after = text.find("\n", begin)
        return len(text) if after < 0 else after, begin

    @staticmethod
    def _found(text: str, words: str, begin: int, end: int, kind: str) -> int:
        start = text.find(words, begin, end)
        if start < 0:
            raise RuntimeError(f'Expected to find "{words}" but did not find it ({kind})')
        return start

    @staticmethod
    def _refuse(text: str, words: list[str], begin: int, end: int) -> None:
        for refused in words:
            if text.find(refused, begin, end) >= 0:
                raise RuntimeError(f'Expected to not find "{refused}" but found it')
