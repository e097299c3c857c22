"""Runs the cases of a file in this rank: ``runner.py FILE PORT OUT``, under either launcher.

Writes what each gives, as JSON, to OUT with the rank behind it. The environment variable CASES may
name some of them, between spaces.
"""

import importlib.util
import json
import os
import sys

import torch.distributed as dist


def main():
    path, port, out = sys.argv[1:4]
    dist.init_process_group("gloo")
    spec = importlib.util.spec_from_file_location("cases", path)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    cases.PORT = port
    found = {}
    only = os.environ.get("CASES", "").split()
    for name, case in list(vars(cases).items()):
        if name.startswith("case_") and (not only or name in only):
            try:
                if os.environ.get("SAY_CASES"):
                    sys.stderr.write(f"{name} begins\n")
                found[name] = case()
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}"
                if len(sys.argv) > 4:
                    raise
            dist.barrier()
    with open(f"{out}{dist.get_rank()}", "w") as file:
        json.dump(found, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
