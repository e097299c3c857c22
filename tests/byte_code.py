"""Imported before this package is: byte code is kept while tests run.

Tests start some hundred interpreters. Under ``PYTHONDONTWRITEBYTECODE`` each compiles this package
for itself: 2.7 s of processor time until it is imported, and not 1.3.
"""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
