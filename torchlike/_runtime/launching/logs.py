"""Where a worker's output goes: to the console, to files, or to both."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

_STREAMS = ((1, "stdout"), (2, "stderr"))


class Output:
    """One worker's two streams."""

    def __init__(self, folder: Path, redirect: int, tee: int, shown: bool, prefix: str) -> None:
        self.streams: dict[str, Any] = {}
        self._files: list[IO[bytes]] = []
        self._copies: dict[str, IO[bytes]] = {}
        self._threads: list[threading.Thread] = []
        self._prefix = prefix.encode()
        for bit, name in _STREAMS:
            if (redirect | tee) & bit:
                folder.mkdir(parents=True, exist_ok=True)
                file = (folder / f"{name}.log").open("wb", buffering=0)
                self._files.append(file)
                if tee & bit and shown:
                    self.streams[name] = subprocess.PIPE
                    self._copies[name] = file
                else:
                    self.streams[name] = file
            elif not shown:
                self.streams[name] = subprocess.DEVNULL

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Copy what the process writes to the console too."""
        for name, file in self._copies.items():
            source = getattr(process, name)
            thread = threading.Thread(
                target=self._copy, args=(source, file, getattr(sys, name)), daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def _copy(self, source: IO[bytes], file: IO[bytes], console: Any) -> None:
        with source:
            for line in source:
                file.write(line)
                console.buffer.write(self._prefix + line)
                console.flush()

    def close(self) -> None:
        """Wait for the threads and close the files, once the process has ended."""
        for thread in self._threads:
            thread.join(5)
        for file in self._files:
            file.close()
