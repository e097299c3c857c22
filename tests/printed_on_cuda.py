"""What programs printed that ran PyTorch on CUDA, from public issues and repositories: the seed,
the call, the numbers in a row, where they stand, how far the generator had moved before (4 for each
call unless said), and the card where it matters."""

from __future__ import annotations

from typing import Any, NamedTuple

import torchlike as torch


class Printed(NamedTuple):
    """Numbers that somebody's program printed."""

    name: str
    seed: int
    call: Any
    numbers: str
    where: str
    skip: int = 0
    card: str = "A100"


def _rand(*size, **kw):
    return lambda g: torch.rand(*size, generator=g, **kw)


def _randn(*size, **kw):
    return lambda g: torch.randn(*size, generator=g, **kw)


def _randint(high, *size):
    return lambda g: torch.randint(0, high, size, generator=g)


def _as_shown(x):
    # What is printed of a large matrix: three rows and columns at each side.
    side = [0, 1, 2, -3, -2, -1]
    return x[side][:, side]


def _corners(x, *places):
    return torch.stack([x[place] for place in places])


def _linear(g):
    # Linear(1, 1): the weight, then the bias, each uniform on [-1, 1).
    return torch.cat([torch.empty(1).uniform_(-1, 1, generator=g) for _ in range(2)])


def _dropout_sum(g):
    # Dropout of a million ones with p = 0.5, in a release (1.2) whose kernel of it was laid out as
    # bernoulli's is.
    return 2 * torch.empty(1000, 1000).bernoulli_(0.5, generator=g).sum()


def _classes_between_images(g):
    # Eight classes, 256 tokens of eight images, each by multinomial over 16,384 logits, and the
    # next eight classes.
    weights, first = torch.ones(8, 16384), torch.randint(0, 1000, (8,), generator=g)
    for _ in range(256):
        torch.multinomial(weights, 1, generator=g)
    return torch.stack([first, torch.randint(0, 1000, (8,), generator=g)])


def _after_images(images):
    def call(g):
        g.set_offset(g.get_offset() + images * 1028)
        return torch.randint(0, 1000, (8,), generator=g)

    return call


_ISSUE = "github.com/pytorch/pytorch/issues/"
_ROIS = "open-mmlab/mmdetection3d, tests of parta2_roi_head"
_LORA = "cuda-mode, lecture 1 on torch.compile and Triton, LoRA notebook (T4)"
_FOREACH = "a report on torch._foreach_sub under inductor"
_CLASSES = "LlamaGen's sampling script, classes of ten batches of images"

PUBLISHED = [
    Printed(
        "rand",
        0,
        _rand(10),
        "0.3990 0.5167 0.0249 0.9401 0.9459 0.7967 0.4150 0.8203 0.2290 0.9096",
        _ISSUE + "47347; Triton gradients",
    ),
    Printed(
        "rand, next",
        0,
        _rand(10),
        "0.9722 0.7910 0.4690 0.3300 0.3345 0.3783 0.7640 0.6405 0.1103 0.3594",
        "Triton gradients, the second tensor",
        skip=4,
    ),
    Printed(
        "rand 5 x 7",
        0,
        _rand(35),
        (
            "0.3990 0.5167 0.0249 0.9401 0.9459 0.7967 0.4150 0.8203 0.2290 0.9096 0.1183 0.0752 "
            "0.4092 0.9601 0.2093 0.1940 0.8909 0.4387 0.3570 0.5454 0.8299 0.2099 0.7684 0.4290 "
            "0.2117 0.6606 0.1654 0.4250 0.9927 0.6964 0.2472 0.7028 0.7494 0.9303 0.0494"
        ),
        _ROIS,
    ),
    Printed(
        "rand 5 x 3, fourth",
        0,
        _rand(15),
        (
            "0.7874 0.1344 0.2190 0.8193 0.6969 0.7304 0.2328 0.9028 0.3900 0.6177 0.5012 0.2330 "
            "0.8985 0.4894 0.7152"
        ),
        _ROIS,
        skip=12,
    ),
    Printed(
        "rand 3 x 4",
        42,
        _rand(3, 4),
        "0.6130 0.0101 0.3984 0.0403 0.1563 0.4825 0.7362 0.4060 0.5189 0.2867 0.2416 0.9228",
        "notes on PyTorch, cell 105",
    ),
    Printed(
        "rand 1 x 5, second",
        42,
        _rand(1, 5),
        "0.9877 0.1289 0.5621 0.5221 0.7445",
        "being-aerys/Deep_Learning_Marathon_with_PyTorch, the first notebook",
        skip=4,
    ),
    Printed(
        "Linear(1, 1)",
        42,
        _linear,
        "0.2259 0.9754",
        "github.com/mrdbourke/pytorch-deep-learning/issues/759",
    ),
    Printed(
        "Uniform.rsample",
        0,
        lambda g: torch.empty(5).uniform_(0.0, 1.0, generator=g),
        "0.3990 0.5167 0.0249 0.9401 0.9459",
        _ISSUE + "47347",
    ),
    Printed(
        "randn",
        0,
        _randn(3, 8),
        (
            "-0.9247 -0.4253 -2.6438 0.1452 -0.1209 -0.5797 -0.6229 -0.3284 -1.0745 -0.3631 "
            "-1.6711 2.2655 0.3117 -0.1842 1.2866 1.1820 -0.1271 1.2169 1.4353 1.0605 -0.4941 "
            "-1.4244 -0.7244 -1.2973"
        ),
        _LORA,
    ),
    Printed(
        "randn",
        42,
        _randn(19),
        (
            "0.1940 2.1614 -0.1721 0.8491 -1.9244 0.6530 -0.6494 -0.8175 0.5280 -1.2753 -1.6621 "
            "-0.3033 -0.0926 0.1992 -1.1204 1.8577 -0.7145 0.6881 0.7968"
        ),
        "a flow-matching policy's script; flashinfer's documentation",
    ),
    Printed(
        "randn, second",
        42,
        _randn(4),
        "0.1391 -0.1082 -0.7174 0.7566",
        _FOREACH,
        skip=4,
    ),
    Printed(
        "randn, third",
        42,
        _randn(4),
        "-0.5187 1.2268 0.6255 -0.9117",
        _FOREACH,
        skip=8,
    ),
    Printed(
        "randn, fourth",
        42,
        _randn(4),
        "-0.6974 -1.8688 -0.8832 -1.6627",
        _FOREACH,
        skip=12,
    ),
    Printed(
        "randn, fifth",
        42,
        _randn(4),
        "-1.2682 -0.0383 -0.1029 1.4400",
        _FOREACH,
        skip=16,
    ),
    Printed(
        "randn, sixth",
        42,
        _randn(4),
        "1.4640 -0.3238 0.7740 1.5892",
        _FOREACH,
        skip=20,
    ),
    Printed(
        "randn",
        10,
        _randn(3),
        "-0.1029 1.6810 -0.2708",
        _ISSUE + "79496",
    ),
    Printed(
        "randn",
        1234,
        _randn(3),
        "-1.6165 0.5685 -0.5102",
        "an exercise on torch.cuda.manual_seed",
    ),
    Printed(
        "randn 2 x 10",
        1,
        _randn(2, 10),
        (
            "-0.2963 2.6764 -0.1408 -0.8441 0.2905 -0.2838 -1.4535 2.3737 -0.0177 -2.7884 -0.3788 "
            "0.7046 -1.3956 -0.1248 -0.9259 -1.5463 -0.4902 0.0244 -1.5992 -0.8469"
        ),
        "a script on Hamiltonian Monte Carlo",
    ),
    Printed(
        "randn double",
        0,
        _randn(2, 8, dtype=torch.float64),
        (
            "-0.3104 -0.0343 0.1756 -2.2804 0.5039 0.5596 -0.0750 0.9691 -0.2357 -0.4582 0.5661 "
            "1.2851 -1.8667 -0.0312 1.2433 1.3689"
        ),
        "a page on pooling backwards",
    ),
    Printed(
        "randn half",
        0,
        _randn(3, 5, dtype=torch.half),
        (
            "-0.9248 -0.4253 -2.6445 0.1451 -0.1208 -0.5796 -0.6230 -0.3284 -1.0742 -0.3630 "
            "-1.6709 2.2656 0.3118 -0.1842 1.2871"
        ),
        "notes on tensor attributes",
    ),
    Printed(
        "normal_ on an A6000",
        43,
        lambda g: torch.empty(3, 16384).normal_(generator=g)[:, 0],
        "1.9983 0.8704 2.1127",
        _ISSUE + "62467",
        card="A6000",
    ),
    Printed(
        "randn on an RTX 3060",
        42,
        lambda g: _as_shown(torch.randn(64, 2048, generator=g)),
        (
            "0.1940 2.1614 -0.1721 1.4540 -2.7733 -0.8932 "
            "-0.4574 0.8063 0.1580 0.1124 0.2769 -1.2535 "
            "1.1346 -0.6329 -0.9147 -1.0001 -1.1552 -0.6955 "
            "-0.4861 0.3358 1.0578 -0.7282 0.5087 0.1318 "
            "0.7881 0.8339 -1.1424 -0.6297 -1.1112 -0.4091 "
            "-1.2356 -0.4083 -0.4695 -0.4841 1.2850 -0.0282"
        ),
        # The card is not said: among all of up to 260 multiprocessors they are its numbers alone.
        _ISSUE + "158398",
        card="RTX 3060",
    ),
    Printed(
        "randn 1823 x 781",
        42,
        lambda g: _as_shown(torch.randn(1823, 781, generator=g)[:10]),
        (
            "0.1940 2.1614 -0.1721 -0.8353 -1.6443 0.1315 "
            "-0.1797 0.9744 -2.0136 0.0543 0.2508 -0.2370 "
            "1.1266 1.5895 0.1072 -0.4797 1.4313 1.7260 "
            "1.9695 0.5996 0.5583 -0.0692 2.9254 0.9274 "
            "-1.7301 1.2562 -1.2144 -0.4262 -2.0327 -1.0277 "
            "-0.2987 0.1946 1.1640 -0.2081 -1.0439 0.7082"
        ),
        "a softmax kernel in Triton",
    ),
    Printed(
        "randint 100",
        0,
        _randint(100, 8),
        "41 97 91 72 53 4 3 33",
        "noise levels of a diffusion model of graphs",
    ),
    Printed(
        "randint 1000",
        0,
        _randint(1000, 8),
        "541 97 191 172 553 604 103 733",
        _CLASSES + "; AudioLDM (4 of them)",
    ),
    Printed(
        "randint between multinomials",
        0,
        _classes_between_images,
        "541 97 191 172 553 604 103 733 907 545 202 965 295 347 802 475",
        _CLASSES,
    ),
    *[
        Printed(f"randint after {n} batches", 0, _after_images(n), row, _CLASSES)
        for n, row in (
            (2, "856 843 973 187 369 871 718 636"),
            (3, "986 367 638 255 994 659 778 680"),
            (4, "914 197 57 864 691 297 607 723"),
            (5, "102 199 936 967 276 380 12 278"),
            (6, "740 668 940 911 601 368 996 797"),
            (7, "804 343 371 733 686 52 459 585"),
            (8, "970 277 511 828 732 808 927 608"),
            (9, "493 596 938 722 394 88 783 845"),
        )
    ],
    Printed(
        "dropout on a P100",
        0,
        _dropout_sum,
        "999826",
        _ISSUE + "25690",
        card="P100",
    ),
    Printed(
        "dropout on a K80",
        0,
        _dropout_sum,
        "999100",
        _ISSUE + "25690",
        card="K80",
    ),
]

_FRAMES = 49 * 12 * 112 * 144
#: Tensors of more elements than the card has threads; 10 to 100 million elements.
LARGE = [
    Printed(
        "randn on an H100",
        1,
        lambda g: torch.randn(_FRAMES, generator=g)[-3:],
        "-0.6970 -0.7780 0.3267",
        _ISSUE + "143086",
        card="H100",
    ),
    Printed(
        "randn on an A100",
        1,
        lambda g: torch.randn(_FRAMES, generator=g)[-3:],
        "0.1549 -0.6797 -0.1656",
        _ISSUE + "143086",
        card="A100",
    ),
    Printed(
        "rand on a T4",
        0,
        lambda g: _corners(
            torch.rand(10000, 10000, generator=g),
            *[(0, c) for c in (-3, -2, -1)],
            *[(1, c) for c in (0, 1, 2, -3, -2, -1)],
            (2, 0),
            *[(-1, c) for c in (-3, -2, -1)],
        ),
        (
            "0.9971 0.8137 0.0429 0.1117 0.5124 0.6413 0.2033 0.4244 0.7405 0.7685 0.1611 0.7280 "
            "0.1510"
        ),
        "an output on a T4",
        card="T4",
    ),
]


def count(table: list[Printed]) -> int:
    """Return how many numbers a table has."""
    return sum(len(row.numbers.split()) for row in table)
