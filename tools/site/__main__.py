"""python -m tools.site: build the site into build/site; a warning of the generator is an error."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tools.site import reference, staging

#: As zensical.toml has it.
_PAGES = staging.ROOT / "build" / "pages"


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    missing = reference.undocumented()
    if missing:
        print("undocumented:", *missing, sep="\n  ")
        return 1
    written = staging.stage(_PAGES)
    made = reference.pages()
    for path, text in made.items():
        target = _PAGES / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
    print(f"{len(written)} files and {len(made)} pages of the reference")
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=staging.ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
