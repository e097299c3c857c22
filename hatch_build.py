"""Puts the demo's script into the wheel, so that `torchlike demo` works without a checkout.

An editable install needs no copy: there the demo reads examples/ itself, and a copy would go stale.
"""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DEMO_SCRIPTS = {"examples/digits.py": "torchlike/porting/examples/digits.py"}


class DemoScripts(BuildHookInterface):
    def initialize(self, version, build_data):
        if version != "editable":
            build_data["force_include"].update(DEMO_SCRIPTS)
