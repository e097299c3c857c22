"""torch.utils.collect_env describes the machine."""

import torchlike.utils.collect_env as collect_env


def test_environment():
    assert "torch_version: 2.13" in collect_env.get_pretty_env_info()
