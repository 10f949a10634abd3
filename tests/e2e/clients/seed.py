# SPDX-License-Identifier: MIT
"""A client of the supervisor protocol in Python, made only from the published field lists. They are dataclasses,
written as they are, so a field that nobody has set is null."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from typing import Any, List, Optional


@dataclass
class Identity:
    requestID: str = "req-1"
    runtimeID: str = "agent-1"
    role: str = "workload"
    backend: str = "qemu"


@dataclass
class Network:
    mode: str
    interface: Optional[str] = None
    portForwards: Optional[List[Any]] = None


@dataclass
class Config:
    stateDir: str
    kernelPath: Optional[str] = None
    rootfsPath: Optional[str] = None
    memoryMiB: Optional[int] = None
    cpuCount: Optional[int] = None
    network: Optional[Network] = None
    disks: Optional[List[Any]] = None
    mediation: Optional[Any] = None


@dataclass
class Request:
    command: str
    identity: Optional[Identity] = None
    config: Optional[Config] = None


def main() -> None:
    supervisor, kernel, rootfs, state_dir = sys.argv[1:]
    sparse = Config(state_dir)
    whole = Config(state_dir, kernel, rootfs, 256, 1)
    isolated = replace(whole, network=Network("isolated"))
    for request in (Request("host"), Request("check", Identity(), whole), Request("prepare", Identity(), isolated), Request("start", Identity(), isolated),
                    Request("inspect", Identity(), sparse), Request("halt", Identity(), sparse), Request("delete", Identity(), sparse)):
        done = subprocess.run([supervisor], input=json.dumps(asdict(request)).encode(), stdout=subprocess.PIPE, check=False)
        answer = json.loads(done.stdout)
        told = answer.get("error") or (answer["event"]["state"] if "event" in answer else answer["host"]["backend"])
        print(request.command, str(answer["ok"]).lower(), told)


main()
