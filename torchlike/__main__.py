"""``python -m torchlike``."""

import sys

from torchlike.porting.cli import main

if __name__ == "__main__":
    sys.exit(main())
