# SPDX-License-Identifier: MIT
"""The engines, one for each file of tests, as fixtures."""

from pathlib import Path

import pytest

from engines import image
from engines.containerd import Containerd
from engines.cri import Cri
from engines.docker import Docker
from engines.place import RUNTIME, lacking
from engines.podman import Podman

pytest.register_assert_rewrite("engines.cases")


def expected_failures():
    """Returns the expected failures of the runtime under test: {name of the test: reason}."""
    lines = (Path(__file__).parent / "expected.txt").read_text().splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {case.split()[1]: reason for case, reason in pairs if case.split()[0] == RUNTIME.name}


def pytest_collection_modifyitems(items):
    expected = expected_failures()
    for item in items:
        if item.path.stem.startswith("test_engine_") and item.originalname in expected:
            item.add_marker(pytest.mark.xfail(strict=True, reason=expected[item.originalname]))


def engine(request, make, *needed):
    """The engine. If no test of the file has failed, nothing of it may be left at the end."""
    why = lacking(*needed)
    if why:
        pytest.skip(why)
    failed = request.session.testsfailed
    it = make()
    try:
        it.begin()
        it.load(*image.archives())
        yield it
    except BaseException:
        it.sweep()
        raise
    it.close(look=request.session.testsfailed == failed)


@pytest.fixture(scope="module")
def containerd_place(request):
    yield from engine(request, Containerd, "containerd")


@pytest.fixture
def ctr(containerd_place):
    """The engine without a container, also when the test is over."""
    yield containerd_place
    containerd_place.remove_all()


@pytest.fixture(scope="module")
def podman_place(request):
    yield from engine(request, Podman, "podman")


@pytest.fixture
def podman(podman_place):
    yield podman_place
    podman_place.remove_all()


@pytest.fixture(scope="module")
def docker_place(request):
    yield from engine(request, Docker, "docker")


@pytest.fixture
def docker(docker_place):
    yield docker_place
    docker_place.remove_all()


@pytest.fixture(scope="module")
def cri_place(request):
    yield from engine(request, Cri, "containerd", "cri")


@pytest.fixture
def cri(cri_place):
    """The engine without a pod, also when the test is over."""
    yield cri_place
    cri_place.remove_all()
