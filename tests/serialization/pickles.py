"""Pickles written opcode by opcode, and the archives that checkpoints are."""

from __future__ import annotations

import io
import zipfile


def program(*parts: bytes) -> bytes:
    """A pickle of protocol 2."""
    return b"\x80\x02" + b"".join(parts) + b"."


def named(path: str) -> bytes:
    """A global, by its dotted name."""
    module, _, name = path.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + len(raw).to_bytes(4, "little") + raw


def number(value: int) -> bytes:
    return b"J" + value.to_bytes(4, "little", signed=True)


def several(*items: bytes) -> bytes:
    """A tuple."""
    return b"(" + b"".join(items) + b"t"


def listed(*items: bytes) -> bytes:
    """A list."""
    return b"](" + b"".join(items) + b"e"


def dictionary(**items: bytes) -> bytes:
    return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"


def called(path: str, *args: bytes) -> bytes:
    """A call of a global."""
    return named(path) + several(*args) + b"R"


def storage(kind: str = "FloatStorage", count: int = 4, location: str = "cpu") -> bytes:
    """The storage "0", of 16 bytes."""
    return (
        several(text("storage"), named(f"torch.{kind}"), text("0"), text(location), number(count))
        + b"Q"
    )


def tensor(
    held: bytes = storage(),
    size: tuple[int, ...] = (4,),
    stride: tuple[int, ...] = (1,),
    offset: int = 0,
) -> bytes:
    """A tensor on that storage."""
    return called(
        "torch._utils._rebuild_tensor_v2",
        held,
        number(offset),
        several(*map(number, size)),
        several(*map(number, stride)),
        b"\x89",
        called("collections.OrderedDict"),
    )


def archive(code: bytes) -> io.BytesIO:
    """A checkpoint with a pickle and one storage of 16 zeros."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("a/data.pkl", code)
        made.writestr("a/byteorder", "little")
        made.writestr("a/data/0", bytes(16))
        made.writestr("a/version", "3\n")
    file.seek(0)
    return file
