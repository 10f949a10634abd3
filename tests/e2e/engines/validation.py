# SPDX-License-Identifier: MIT
"""The validation programs of github.com/opencontainers/runtime-tools, which test a runtime by the specification's
sentences. No package of Debian has them. They are built, without a network, from a checkout that
MICROAGENT_RUNTIME_TOOLS names."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import strays
from conftest import BUILD, HANG_S, Child
from engines.place import RUNTIME, cgroups

SOURCE = Path(os.environ.get("MICROAGENT_RUNTIME_TOOLS", "/nonexistent"))
RUNC = Path("/usr/sbin/runc")
ROOTFS = "rootfs-amd64.tar.gz"
GROUPS = ("cgrouptest", "testdir")  # the programs' name for them, in the host's own hierarchy
ANY, MAYBE = "*", "?"


def lacking():
    """Returns why they cannot be run here, or ""."""
    if not (SOURCE / "validation").is_dir():
        return "MICROAGENT_RUNTIME_TOOLS names no checkout of opencontainers/runtime-tools"
    if os.geteuid() != 0:
        return "containers of engines are root's"
    missing = [program for program in ("go", str(RUNC), str(RUNTIME)) if not shutil.which(program)]
    return f"{', '.join(missing)} is not there (scripts/install-packages.sh engines validation)" if missing else ""


def names():
    if lacking():
        return ["none"]
    return sorted({path.parent.name for path in (SOURCE / "validation").glob("*/*.go")} - {"util"})


def built():
    """Returns the folder of the programs, compiled once for each state of the checkout."""
    digest = hashlib.sha256(str(SOURCE).encode())
    for path in sorted((SOURCE / "validation").rglob("*.go")):
        digest.update(path.read_bytes())
    kept = BUILD / "engines" / f"runtime-tools-{digest.hexdigest()[:12]}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with open(kept.parent / "runtime-tools.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            packages = ["./cmd/runtimetest", *(f"./validation/{name}" for name in names())]
            with tempfile.TemporaryDirectory(prefix="runtime-tools-", dir=kept.parent) as fresh:
                env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=vendor", "GOPROXY": "off", "GOCACHE": f"{fresh}/go"}
                subprocess.run(["go", "build", "-o", f"{fresh}/bin/", *packages], cwd=SOURCE, env=env, check=True)
                (Path(fresh) / "bin").rename(kept)
    return kept


def expected():
    """Returns {program: (failures, reason)}."""
    lines = (Path(__file__).parent / "validation.txt").read_text().splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {case.split()[0]: (set(case.split()[1].split(",")), why) for case, why in pairs}


def failed_checks(code, said):
    """Returns the numbers of the failed checks; "exit" if the program gave up; "error" if it has no checks and reported one."""
    failed = set(re.findall(r"^not ok (\d+)", said, re.M))
    if code != 0:
        failed.add("exit")
    if not re.search(r"^(not )?ok \d+", said, re.M) and '"error":' in said:
        failed.add("error")
    return failed


def remove_groups():
    for name in GROUPS:
        inner, tops = cgroups(name)
        for folder in (*inner, *tops):
            folder.rmdir()


def unmount(base):
    """Removes what runc has left of a container without a mount namespace."""
    for line in reversed(strays.mounts(base)):
        subprocess.run(["umount", "--lazy", line.split()[5]], check=True)


def failures(runtime, program, base):
    """Runs a program with a runtime, whose state and bundles are below base. Returns (failed checks, all output)."""
    for file in (built() / "runtimetest", SOURCE / ROOTFS):
        shutil.copy(file, base)
    command = base / "runtime"
    command.write_text(f'#!/bin/sh\nexec {runtime} --root {base}/oci "$@"\n')
    command.chmod(0o755)
    child = Child([str(built() / program)], cwd=base, env={**os.environ, "RUNTIME": str(command), "TMPDIR": str(base)},
                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = (part.decode(errors="replace") for part in child.communicate(timeout=HANG_S))
    finally:  # some leave what they could not end
        for left in (base / "oci").glob("[!.]*"):
            subprocess.run([command, "delete", "--force", left.name], check=False, capture_output=True)
        remove_groups()
    return failed_checks(child.returncode, out), f"{out}\n{err}"
