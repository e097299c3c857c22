"""Sample arguments for linear algebra, Fourier transforms and special functions."""

from __future__ import annotations

import math

from op_harness import PD, Case, F, I, V, Z, case, numbered

inf = math.inf
R = {"rtol": 2e-4, "skip": "second"}  # condition numbers of random matrices eat one digit or two of float32
N = {"rtol": 2e-4, "skip": "strides second"}  # LAPACK's column-major results are not kept

LINALG = [
    case("linalg.inv", PD(3, 3), rtol=5e-4, skip="strides"), case("linalg.inv", PD(2, 2, 2), **N), case("inverse", PD(2, 2), **N), case("linalg.inv_ex", PD(2, 2), **N),
    case("linalg.det", F(3, 3), rtol=5e-4), case("det", F(2, 2, 2), **R), case("linalg.slogdet", F(3, 3), **R), case("slogdet", PD(2, 2), **R), case("logdet", PD(3, 3), **R),
    case("linalg.det", V([[1.0, 2.0], [2.0, 4.0]]), skip="grad"), case("linalg.det", Z(2, 2), **R),
    case("linalg.solve", PD(3, 3), F(3), rtol=5e-4, skip="strides"), case("linalg.solve", PD(3, 3), F(3, 2), **N), case("linalg.solve", PD(2, 3, 3), F(2, 3), **N), case("linalg.solve", PD(3, 3), F(2, 3, 2), **N),
    case("linalg.solve", PD(3, 3), F(2, 3), left=False, **N), case("linalg.solve_ex", PD(2, 2), F(2), **N), case("linalg.solve", Z(2, 2), Z(2), **N),
    case("linalg.cholesky", PD(3, 3), rtol=5e-4, skip="strides"), case("linalg.cholesky", PD(2, 2, 2), upper=True, **N), case("cholesky", PD(2, 2), **N), case("linalg.cholesky_ex", PD(2, 2), **N),
    case("linalg.qr", F(3, 2), **N), case("linalg.qr", F(2, 3), **N), case("linalg.qr", F(3, 3), mode="r", skip="strides grad", rtol=1e-4), case("linalg.qr", F(3, 2), mode="complete", skip="strides grad", rtol=1e-4), case("qr", F(3, 2), **N),
    case("linalg.eigvalsh", PD(3, 3), **R), case("linalg.svdvals", F(3, 2), **R), case("linalg.svdvals", F(2, 2, 3), **R), case("linalg.eigvalsh", PD(2, 2), "U", **R),
    case("linalg.pinv", F(3, 2), **N), case("linalg.pinv", F(2, 3), **N), case("linalg.pinv", PD(2, 2), hermitian=True, **N), case("pinverse", F(3, 2), **N),
    case("linalg.pinv", V([[1.0, 2.0], [2.0, 4.0]]), skip="strides grad", rtol=1e-4), case("linalg.pinv", F(2, 2, 3), **N),
    case("linalg.lstsq", F(4, 2), F(4, 3), skip="strides second", rtol=2e-4), case("linalg.lstsq", F(4, 2), F(4), **N), case("linalg.lstsq", F(4, 2), F(4, 1), driver="gelsd", skip="strides grad", rtol=2e-4),
    case("linalg.matrix_rank", F(3, 2)), case("linalg.matrix_rank", V([[1.0, 2.0], [2.0, 4.0]])), case("linalg.matrix_rank", PD(2, 2), hermitian=True), case("linalg.matrix_rank", F(3, 2), atol=1.0, rtol=0.1),
    case("linalg.matrix_power", F(2, 2), 3, **R), case("matrix_power", PD(2, 2), -2, **N), case("linalg.matrix_power", F(2, 2), 0), case("linalg.multi_dot", [F(2, 3), F(3, 4), F(4, 2)], **R), case("linalg.multi_dot", [F(3), F(3, 4), F(4)], **R),
    case("matrix_exp", F(2, 2), **N), case("linalg.matrix_exp", F(2, 2, 2), **N), case("linalg.eigvals", V([[2.0, 1.0], [0.5, -1.0]]), skip="grad out", rtol=1e-4),
    case("linalg.solve_triangular", PD(2, 2), F(2, 3), upper=True, **N), case("linalg.solve_triangular", PD(2, 2), F(3, 2), upper=False, left=False, **N), case("linalg.solve_triangular", PD(2, 2), F(2, 1), upper=False, unitriangular=True, **N),
    case("triangular_solve", F(2, 1), PD(2, 2), **N), case("cholesky_solve", F(2, 1), PD(2, 2), **N), case("cholesky_inverse", PD(2, 2), **N), case("cholesky_solve", F(2, 1), PD(2, 2), True, **N),
    case("linalg.lu", F(3, 3), **N), case("linalg.lu", F(3, 2), **N), case("linalg.lu_factor", F(3, 3), **N), case("linalg.lu_factor_ex", F(2, 2), **N), case("lu_unpack", F(2, 2), V([2, 2], "int32"), **N),
    case("linalg.lu_solve", F(2, 2), V([2, 2], "int32"), F(2, 1), **N), case("lu_solve", F(2, 1), F(2, 2), V([2, 2], "int32"), **N), case("linalg.lu_solve", F(2, 2), V([2, 2], "int32"), F(2, 1), adjoint=True, **N), case("linalg.lu_solve", F(2, 2), V([2, 2], "int32"), F(1, 2), left=False, **N),
    case("linalg.cond", F(3, 3), **R), case("linalg.cond", F(2, 2), 1, rtol=2e-4, skip="grad"), case("linalg.cond", F(2, 2), "nuc", **R), case("linalg.cond", F(2, 2), -2, **R),
    case("linalg.norm", F(2, 3)), *(case("linalg.norm", F(2, 3), o, rtol=1e-4) for o in ("fro", "nuc", 1, -1, 2, -2, inf, -inf)), case("linalg.norm", F(4), 3), case("linalg.norm", F(2, 3), 1, 1), case("linalg.norm", F(2, 2, 2), 2, (0, 2), True, rtol=1e-4, skip="second strides"),
    case("linalg.matrix_norm", F(2, 2, 3)), case("linalg.matrix_norm", F(2, 2, 3), "nuc", (0, 1), rtol=1e-4), case("linalg.matrix_norm", F(2, 3, 2), 1, (0, 1)), case("linalg.matrix_norm", F(2, 3), inf, keepdim=True), case("linalg.matrix_norm", F(2, 3), dtype="dtype:float64"),
    case("linalg.vector_norm", F(2, 3)), case("linalg.vector_norm", F(2, 3), 1, 0), case("linalg.vector_norm", F(4), 0), case("linalg.vector_norm", F(4), inf), case("linalg.vector_norm", F(2, 3), 3.5, (0, 1), True, rtol=5e-5),
    case("linalg.vector_norm", Z(3)), case("linalg.vector_norm", V([0.0, 0.0]), skip="second"), case("frobenius_norm", F(2, 3), (0, 1)), case("nuclear_norm", F(2, 3), rtol=1e-4),
    case("linalg.vecdot", F(2, 3), F(3)), case("linalg.vecdot", Z(3), Z(3)), case("linalg.diagonal", F(2, 3, 3)), case("linalg.tensorinv", PD(4, 4), ind=1, **N), case("linalg.tensorsolve", PD(3, 3), F(3), **N),
    case("linalg.householder_product", F(3, 2), F(2), **N), case("orgqr", F(3, 2), F(2), **N), case("geqrf", F(3, 2), skip="strides grad", rtol=1e-4), case("linalg.matmul", F(2, 3), F(3, 2)),
]  # fmt: skip

FOURIER = [
    *(case(f"fft.{n}", F(2, 4), skip="strides", rtol=2e-5) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")),
    *(case(f"fft.{n}", F(2, 5), 3, 0, "ortho", skip="strides", rtol=2e-5) for n in ("fft", "ifft", "rfft", "hfft", "ihfft")),
    *(case(f"fft.{n}", Z(2, 4), skip="strides", rtol=2e-5) for n in ("fft", "ifft", "irfft", "hfft")), case("fft.irfft", Z(2, 3), 5, skip="strides", rtol=2e-5), case("fft.fft", I(4), skip="strides"),
    case("fft.fft", F(2, 4), 6, norm="forward", skip="strides", rtol=2e-5), case("fft.rfft", F(4, dtype="float64"), skip="strides"), case("fft.fft", F(4), 4, -1, "backward", skip="strides", rtol=2e-5),
    *(case(f"fft.{n}", F(2, 3, 4), skip="strides", rtol=2e-5) for n in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")),
    case("fft.fftn", F(2, 3, 4), (3, 2), (0, 2), "ortho", skip="strides", rtol=2e-5), case("fft.rfftn", F(2, 3, 4), (3,), skip="strides", rtol=2e-5), case("fft.irfftn", Z(2, 3), (2, 4), skip="strides", rtol=2e-5),
    case("fft.fftfreq", 5, 0.5), case("fft.rfftfreq", 6), case("fft.fftshift", F(3, 4)), case("fft.ifftshift", F(5), 0), case("fft.fftshift", F(3, 4), (1,)),
]  # fmt: skip

P = {"low": 0.3, "high": 2.0}
SPECIAL = [
    *(case(f"special.{n}", F(4), rtol=1e-4) for n in ("expit", "exp2", "expm1", "erf", "erfc", "sinc", "round", "i0", "i0e", "i1", "i1e", "ndtr", "log_ndtr", "erfcx")),
    *(case(f"special.{n}", F(4, **P), rtol=2e-4) for n in ("log1p", "digamma", "psi", "gammaln", "entr")), *(case(f"special.{n}", F(4, low=0.1, high=0.9), rtol=2e-4) for n in ("logit", "ndtri", "erfinv")),
    case("special.xlogy", F(3), F(3, **P)), case("special.xlog1py", F(3), F(3, **P)), case("special.zeta", F(3, low=1.5, high=4, grad=False), F(3, grad=False, **P), rtol=1e-4), case("special.logsumexp", F(2, 3), 1),
    case("polygamma", 1, F(3, **P), rtol=1e-3, skip="method second"), case("special.polygamma", 2, F(3, **P), rtol=1e-3, skip="method second grad"), case("mvlgamma", F(3, low=2, high=4), 2, rtol=1e-4), case("special.multigammaln", F(3, low=2, high=4), 2, rtol=1e-4),
    case("igamma", F(3, grad=False, **P), F(3, **P), rtol=1e-4, skip="second"), case("igammac", F(3, grad=False, **P), F(3, **P), rtol=1e-4, skip="second"), case("special.gammainc", F(3, grad=False, **P), F(3, grad=False, **P), rtol=1e-4),
    case("special.entr", V([0.0, -1.0, 1.0]), skip="grad"), case("special.expit", I(3)),
]  # fmt: skip

CASES: list[Case] = numbered([*LINALG, *FOURIER, *SPECIAL])
