"""Passes over DataLoaders with workers. As a script: what PyTorch says of each, as JSON.

PyTorch's workers are forks of the process, which is no good with JAX's threads in it.
"""

import json
import random
import re
import sys
import warnings

import numpy as np

OPTIONS = {
    "none": {"batch_size": 2},
    "one": {"batch_size": 2, "num_workers": 1},
    "two, shuffled": {"batch_size": 2, "num_workers": 2, "shuffle": True},
    "three, a generator": {"batch_size": 3, "num_workers": 3, "generator": 5, "shuffle": True},
    "one by one": {"batch_size": None, "num_workers": 2, "prefetch_factor": 1},
    "anew": {"batch_size": 4, "num_workers": 2, "passes": 2},
    "persistent": {
        "batch_size": 4,
        "num_workers": 2,
        "passes": 2,
        "persistent_workers": True,
        "drop_last": True,
    },
}


#: More options of loaders with workers.
MORE = {}


def told(batch):
    if isinstance(batch, (list, tuple)):
        return [told(b) for b in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


def loaded(m, dataset, passes=1, **options):
    """Batches of some passes, and what the process's streams give afterwards."""
    m.manual_seed(3)
    random.seed(1)
    np.random.seed(2)
    if "generator" in options:
        options["generator"] = m.Generator().manual_seed(options["generator"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch counts the processors
        more = MORE if options.get("num_workers") else {}
        loader = m.utils.data.DataLoader(dataset, **options, **more)
        batches = [[told(batch) for batch in loader] for _ in range(passes)]
    return [batches, m.rand(2).tolist(), random.random(), np.random.rand()]


def drawing(m, options, from_process):
    """A dataset that says who loads, and draws."""

    class Drawing(m.utils.data.Dataset):
        def __len__(self):
            return 11

        def __getitem__(self, i):
            info = m.utils.data.get_worker_info()
            who = (-1, -1, -1) if info is None else (info.id, info.num_workers, info.seed)
            drawn = (random.random(), np.random.rand()) if from_process else ()
            return (i, *who, m.rand(2), m.initial_seed() % 2**31, *drawn)

    return loaded(m, Drawing(), **options)


def iterating(m, options, shared):
    """A dataset with an order of its own, whole in each worker or shared out between them."""

    class Numbers(m.utils.data.IterableDataset):
        def __iter__(self):
            info = m.utils.data.get_worker_info()
            start, step = (0, 1) if info is None or not shared else (info.id, info.num_workers)
            for i in range(start, 11, step):
                yield i, m.rand(()), random.random(), np.random.rand()

    return loaded(m, Numbers(), **{k: v for k, v in options.items() if k != "shuffle"})


def begun(m):
    """A function that begins workers sets their copies' attributes and their streams."""

    class Begun(m.utils.data.Dataset):
        at = -1

        def __len__(self):
            return 6

        def __getitem__(self, i):
            return self.at + i, np.random.rand(), m.rand(())

    def begin(place):
        info = m.utils.data.get_worker_info()
        info.dataset.at = 100 * place
        np.random.seed(m.initial_seed() % 2**32)
        m.manual_seed(place)

    dataset = Begun()
    return [loaded(m, dataset, num_workers=2, worker_init_fn=begin), dataset.at]


def with_its_own_methods(m, workers):
    """Methods of the dataset that are given to the loader are those of each worker's copy."""

    class Placed(m.utils.data.Dataset):
        at = -1

        def __len__(self):
            return 6

        def __getitem__(self, i):
            return i

        def begin(self, place):
            self.at = place

        def collate(self, rows):
            return [self.at, *rows]

    dataset = Placed()
    loader = m.utils.data.DataLoader(
        dataset,
        batch_size=2,
        num_workers=workers,
        worker_init_fn=dataset.begin,
        collate_fn=dataset.collate,
    )
    return [list(loader), dataset.at]


def failing(m, workers, iterable, batch_size):
    """What comes after samples and batches that cannot be made."""

    class Odd:
        """An iterator that goes on after its errors, which a generator does not."""

        def __init__(self):
            self.at = -1

        def __next__(self):
            self.at += 1
            if self.at in (3, 4):
                raise ValueError("row")
            if self.at > 9:
                raise StopIteration
            return self.at

        def __iter__(self):
            return self

    class Rows(m.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, i):
            if i in (3, 4):
                raise ValueError("row")
            return i

    class Stream(m.utils.data.IterableDataset):
        def __iter__(self):
            return Odd()

    def collate(rows):
        if rows == 7 or rows == [6, 7]:
            raise KeyError("batch")
        return rows

    loader = m.utils.data.DataLoader(
        Stream() if iterable else Rows(),
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=collate,
    )
    batches, seen = iter(loader), []
    while True:
        try:
            seen.append(next(batches))
        except StopIteration:
            return seen
        except Exception as error:
            seen.append(type(error).__name__)


def longer_than_it_says(m, workers):
    """Which batches of an iterable dataset come with a warning that they are too many."""

    class Short(m.utils.data.IterableDataset):
        def __len__(self):
            return 2

        def __iter__(self):
            return iter(range(4))

    loader = m.utils.data.DataLoader(Short(), batch_size=None, num_workers=workers)
    asked, seen = [], []
    for ask in (False, True):
        asked.append(len(loader) if ask else None)
        batches = iter(loader)
        for _ in range(4):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                told(next(batches))
            words = (str(w.message).split(" was ")[-1] for w in caught)
            seen.append([re.findall("[0-9]+", w.split(" samples")[0]) for w in words])
    return [asked, seen]


def when_seeds_are_drawn(m, workers):
    m.manual_seed(0)
    batches = iter(m.utils.data.DataLoader(range(6), shuffle=True, num_workers=workers))
    return [m.rand(()).item(), next(batches).item(), m.rand(()).item()]


CASES = {"begun": begun}
for _name, _options in OPTIONS.items():
    for _flag in (False, True):
        CASES[f"drawing, {_name}, {_flag}"] = lambda m, o=_options, f=_flag: drawing(m, o, f)
        CASES[f"iterating, {_name}, {_flag}"] = lambda m, o=_options, f=_flag: iterating(m, o, f)
for _workers in (0, 1, 2):
    CASES[f"seeds, {_workers}"] = lambda m, w=_workers: when_seeds_are_drawn(m, w)
    CASES[f"methods, {_workers}"] = lambda m, w=_workers: with_its_own_methods(m, w)
    CASES[f"longer, {_workers}"] = lambda m, w=_workers: longer_than_it_says(m, w)
    for _flag in (False, True):
        for _size in (None, 2):
            CASES[f"failing, {_workers}, {_flag}, {_size}"] = (
                lambda m, w=_workers, f=_flag, s=_size: failing(m, w, f, s)
            )


if __name__ == "__main__":
    import torch

    # From Python 3.14 on the default pickles the data set, whose classes are local to their case.
    torch.multiprocessing.set_start_method("fork")
    json.dump({name: case(torch) for name, case in CASES.items()}, sys.stdout)
