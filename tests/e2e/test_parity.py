# SPDX-License-Identifier: MIT
"""What is true of one backend is true of each: tests of other files once more, with the machines of the backends that they do
not have there. A dozen is enough for `make test`; `make soak TESTS=parity` runs the files whole."""

import tempfile
from pathlib import Path

import pytest

import conftest
import test_audit
import test_exec
import test_lifecycle
import test_mediation
import test_network
import test_run
import test_sessions
import test_supervisor
import test_verification
from conftest import lent, make_host, shared_machine, with_base

SUITE = {
    test_lifecycle: ["test_a_workload_runs_at_start_and_ends_the_workspace", "test_life_of_a_workspace"],
    test_run: ["test_kill_9_of_run_ends_the_guest"],
    test_supervisor: ["test_a_changed_config_is_a_conflict_that_names_the_field", "test_remove_answers_when_nothing_is_left",
                      "test_start_answers_and_lets_go_of_its_streams", "test_whole_life"],
    test_verification: ["test_every_digest_is_recorded_and_enforced_before_the_first_start"],
    test_exec: ["test_many_at_once", "test_streams_stay_apart", "test_timeout_kills_the_whole_tree"],
    test_mediation: ["targets", "test_channels_of_one_guest"],
    test_network: ["own_net", "test_bridged"],
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


@pytest.fixture(scope="module")
def place(other):
    yield from with_base(make_host(Path(tempfile.mkdtemp(prefix="e-")), other))


@pytest.fixture(scope="module")
def other_machine(other):
    yield from shared_machine("--memory", 256, "--cpus", 1, backend=other)


@pytest.fixture
def vm(other_machine, request):
    yield from lent(other_machine, request)


def test_every_field_is_honoured_or_refused_by_name(host, backend):
    """With the limitation that causes it: test_contract.py holds it for what QEMU's supervisor prints."""
    support = host.json("contract")["backendSupport"][backend]
    assert support["available"] and {"prepare", "start", "inspect", "kill", "quarantine"} <= set(support["commands"])
    for refusal in support["refusals"]:
        assert refusal["field"] and len(refusal["limitation"].split()) > 3, refusal
