"""Writes examples.json: the first losses of each example under real PyTorch 2.13 on the CPU.

Run it as ``python tests/golden/make_examples.py`` where PyTorch is installed. The GPT is left out:
its text, the standard library's sources, differs from one version of Python to the next.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
COUNT = 50


def first_losses(output):
    return [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)", output, re.M)][:COUNT]


def main():
    golden = {}
    for path in sorted(EXAMPLES.glob("*.py")):
        if path.stem not in ("gpt", "seven_billion"):
            command = [sys.executable, str(path)]
            result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            golden[path.stem] = first_losses(result.stdout)
            print(path.stem, golden[path.stem][-1])
    lines = [f"{json.dumps(name)}: {json.dumps(losses)}" for name, losses in golden.items()]
    (HERE / "examples.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
