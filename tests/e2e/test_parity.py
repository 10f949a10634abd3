# SPDX-License-Identifier: MIT
"""Tests that hold for every backend: tests of other files once more, with machines of the backends that they do not
use. `make test` runs a dozen, and `make soak TESTS=parity` runs the files whole."""

import json
import re
import tempfile
from pathlib import Path

import pytest

import conftest
import schema_check
import test_applevf
import test_applevf_macos
import test_artifacts
import test_audit
import test_bundles
import test_contract
import test_devices
import test_egress
import test_exec
import test_firecracker
import test_lifecycle
import test_mediation
import test_network
import test_publish
import test_run
import test_sessions
import test_supervisor
import test_verification
from conftest import ROOT, lent, make_host, shared_machine, with_base
from pools import LATER, create, tokens, wait_full

SUITE = {
    test_lifecycle: ["test_a_workload_runs_at_start_and_ends_the_workspace", "test_life_of_a_workspace"],
    test_run: ["test_kill_9_of_run_ends_the_guest"],
    test_supervisor: ["test_a_changed_config_is_a_conflict_that_names_the_field", "test_an_end_is_told_as_it_was", "test_a_run_that_others_end",
                      "test_remove_answers_when_nothing_is_left", "test_start_answers_and_lets_go_of_its_streams", "test_whole_life"],
    test_verification: ["test_every_digest_is_recorded_and_enforced_before_the_first_start"],
    test_exec: ["test_many_at_once", "test_streams_stay_apart", "test_timeout_kills_the_whole_tree"],
    test_mediation: ["targets", "test_channels_of_one_guest"],
    test_network: ["own_net", "test_bridged", "test_nat"],
    test_egress: ["own_world", "test_names"],
    test_publish: ["test_published_ports_of_one_guest"],
    # Files that are put into a machine and taken out of it.
    test_devices: ["cgroup", "test_a_cgroup_holds_the_whole_workspace", "test_a_root_in_memory"],
    test_bundles: ["test_bundles_are_disks_of_the_guest"],
    test_artifacts: ["test_outputs_and_copies"],
    test_contract: ["test_unlisted_commands_are_refused_and_listed_ones_are_not", "test_features_are_those_that_check_lets_pass",
                    "test_each_refusal_names_its_limitation"],
    test_audit: ["test_the_trail_of_a_session",  # first: it finds no log before its own
                 "test_a_killed_supervisor", "test_a_vmm_that_dies"],
    test_sessions: ["base", "test_the_life_of_a_session"],
}
globals().update({name: getattr(module, name) for module, names in SUITE.items() for name in names})

OTHERS = [name for name in conftest.BACKEND_ENV if name != conftest.BACKEND]


@pytest.fixture(params=OTHERS, scope="module")
def other(request):
    return request.param


@pytest.fixture
def backend(other):
    return other


# Features that a backend does not have.
WITHOUT = {"apple-vf": {
    "test_remove_answers_when_nothing_is_left": "its supervisor has no parent of its own, and dies with the machine",
    "test_nat": "its nat is the framework's: no filter and no process of ours",
    "test_names": "the same",
    "test_bridged": "its bridges need Apple's entitlement (test_applevf.py)",
    "test_a_cgroup_holds_the_whole_workspace": "macOS has no cgroups",
    "test_a_vmm_that_dies": "its machine is in the supervisor's own process",
    "test_a_pool_is_of_its_backend": "its machines can have a directory, which is what the test has refused",
}}


@pytest.fixture(autouse=True)
def of_the_backend(request):
    name = getattr(request.node, "callspec", None) and request.node.callspec.params.get("other")
    why = WITHOUT.get(name, {}).get(request.node.originalname)
    if why:
        pytest.skip(why)


@pytest.fixture(scope="module")
def place(other):
    yield from with_base(make_host(Path(tempfile.mkdtemp(prefix="e-")), other))


@pytest.fixture(scope="module")
def other_machine(other):
    yield from shared_machine("--memory", 256, "--cpus", 1, backend=other)


@pytest.fixture
def vm(other_machine, request):
    yield from lent(other_machine, request)


def test_a_pool_is_of_its_backend(host):
    """A session of another backend, or with features that its machines cannot have, takes no member."""
    shared = ("session", "create", "--base", "web", "--network", "isolated", "--share", str(host.base))
    host("base", "create", "web", check=0)
    refused = host(*shared)
    host("pool", "set", "--base", "web", "--size", 1, "--network", "isolated", check=0)
    wait_full(host, 1)
    member = tokens(host, "ready")[0]
    schema_check.validate("pool", json.loads((host.state / "pool" / "web-v1" / "pool.json").read_text()))
    again = host(*shared)
    assert refused.returncode == again.returncode == 1 and refused.stderr == again.stderr
    assert create(host, "--backend", conftest.DEFAULT_BACKEND)["source"] == "new" and tokens(host, "ready") == [member]
    mine = create(host, "--no-share", env=LATER)
    assert (mine["name"], mine["source"]) == (member, "pool")
    assert host("session", "exec", member, "--", "echo", "mine", check=0).stdout == "mine\n"
    host("pool", "drain", check=0)
    for session in host.json("session", "list")["sessions"]:
        host("session", "destroy", session["name"], check=0)
    host("base", "delete", "web-v1", check=0)


# The tests that show each feature. A backend that claims the feature passes them.
SEEN = {
    "initrdPath": "test_a_root_in_memory",
    "network.portForwards": "test_published_ports_of_one_guest",
    "network.allow": "test_nat",
    "network.egress": "test_names",
    "disks": "test_disks_are_found_by_their_order",
    "shares": "test_shares",
    "hotplug": "test_a_directory_for_a_machine_that_runs",
    "macos": "test_a_base_is_what_was_installed",
    "bundles": "test_bundles_are_disks_of_the_guest",
    "outputs": "test_outputs_and_copies",
    "mediation": "test_channels_of_one_guest",
    "vsockListeners": "test_channels_of_one_guest",
    "cgroup": "test_a_cgroup_holds_the_whole_workspace",
    "cgroupLimits": "test_a_cgroup_holds_the_whole_workspace",
    "limits": "test_rates_are_the_drive_s",
    "console": "test_serial_console",
    "powerButton": "test_a_life",
    "balloon": "test_balloon",
    "halfClose": "test_published_ports_of_one_guest",
}


def test_each_feature_is_seen(host, other):
    own = {"firecracker": [test_firecracker], "apple-vf": [test_applevf, test_applevf_macos]}[other]
    missing = set(host.support()["features"]) - {name for name, test in SEEN.items()
                                                 if test in globals() or any(hasattr(module, test) for module in own)}
    assert not missing


def test_the_library_knows_what_is_refused(host, other):
    """Layers and hotplug, which the library must know before it asks a supervisor."""
    row = re.search(rf'\.name = "{other}"([^}}]*)}}', (ROOT / "src" / "contract" / "fields.c").read_text())[1]
    refused = {refusal["field"] for refusal in host.support()["refusals"]}
    assert (".layers = true" in row) == ("rootfsBase" not in refused)
    assert (".plugs = " in row) == ("hotplug" not in refused)
