"""The parts of a data set that ``DistributedSampler`` gives each process, against PyTorch."""

import pytest

import torchlike

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("n", [3, 10, 11])
@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"drop_last": True}, {"seed": 3}])
def test_distributed_sampler(n, options):
    for rank in range(4):
        seen = []
        for t in (torchlike, torch):
            s = t.utils.data.DistributedSampler(range(n), num_replicas=4, rank=rank, **options)
            seen.append([len(s), list(s)])
            s.set_epoch(2)
            seen[-1].append(list(s))
        assert seen[0] == seen[1]


def test_distributed_sampler_complains():
    for options in ({"num_replicas": 2, "rank": 2}, {"num_replicas": 2, "rank": -1}):
        said = []
        for t in (torchlike, torch):
            with pytest.raises(ValueError) as refused:
                t.utils.data.DistributedSampler([1], **options)
            said.append((refused.type, str(refused.value)))
        assert said[0] == said[1]
