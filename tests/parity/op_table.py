"""All cases of the op table, those of ``torch.nn.functional`` among them."""

from __future__ import annotations

import op_cases
import op_cases_core
import op_cases_linalg
import op_cases_special
from nn_op_cases import CASES as NN_CASES
from op_harness import Case

ALL: list[Case] = [
    *op_cases_core.CASES,
    *op_cases.CASES,
    *op_cases_linalg.CASES,
    *op_cases_special.CASES,
    *NN_CASES,
]
