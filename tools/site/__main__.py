"""python -m tools.site: build the site into build/site; a warning of the generator is an error."""

from __future__ import annotations

import argparse
import subprocess
import sys

from tools.site import checks, reference, staging

#: As zensical.toml has it.
_PAGES = staging.ROOT / "build" / "pages"
_SITE = staging.ROOT / "build" / "site"


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
    build = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    code = subprocess.run(build, cwd=staging.ROOT).returncode
    found = [] if code else checks.problems(_SITE)
    print("\n".join(found) or "links and searches hold")
    return code or int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
