# SPDX-License-Identifier: MIT
"""Makes Debian packages of this tree, and places to install them."""

import os
import shutil
import subprocess
from pathlib import Path

from conftest import BUILD, ROOT

# The next version can be made without a build, since the version is a text of the same length in each program.
VERSION = subprocess.run([BUILD / "bin" / "microagent", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
NEXT = VERSION[:-1] + ("8" if VERSION[-1] == "9" else "9")


def run(*words, cwd=None, env=None, code=0, **kw):
    """Returns the output of both streams."""
    done = subprocess.run(list(map(str, words)), cwd=cwd, env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, **kw)
    assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout[-6000:]}"
    return done.stdout


def export(place):
    """Copies the sources as `make deb` takes them."""
    place.mkdir(parents=True)
    run("sh", "-c", 'tar -c --exclude-vcs --exclude=./build --exclude=__pycache__ --exclude=.pytest_cache . | tar -x -C "$0"', place, cwd=ROOT)
    return place


def of_what_is_built(place):
    """Makes packages of the programs that exist, quickly. Returns their paths by package."""
    source = export(place / "microagent")
    run("dpkg-buildpackage", "-us", "-uc", "-b", "-nc", "-d", cwd=source,
        env={"MICROAGENT_BUILD": str(BUILD), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEB_BUILD_OPTIONS": "nostrip noautodbgsym", "DPKG_DEB_COMPRESSOR_TYPE": "none"})
    shutil.rmtree(source)
    return by_package(place)


def by_package(place):
    return {path.name.split("_")[0]: path for path in place.glob("*.deb") if "-dbgsym_" not in path.name}


def extract(debs, place):
    for deb in debs.values():
        run("dpkg-deb", "-x", deb, place)
    return place / "usr" / "bin"


def make_next(programs):
    """Makes the same programs of the next version."""
    for program in programs.iterdir():
        data = program.read_bytes()
        if data.startswith(b"#!"):  # the version of the binding is the library's
            continue
        assert VERSION.encode() in data, program
        program.write_bytes(data.replace(VERSION.encode(), NEXT.encode()))


def next_of(debs, place):
    """The packages of the next version."""
    for name, deb in debs.items():
        root = place / name
        run("dpkg-deb", "-R", deb, root)
        if (root / "usr" / "bin").exists():
            make_next(root / "usr" / "bin")
        control = root / "DEBIAN" / "control"
        control.write_text(control.read_text().replace(f"Version: {VERSION}", f"Version: {NEXT}").replace(f"(= {VERSION})", f"(= {NEXT})"))
        (root / "DEBIAN" / "md5sums").unlink()
        run("dpkg-deb", "-Znone", "-b", root, place)
        shutil.rmtree(root)
    return by_package(place)


def replace(old, new):
    """Replaces files as dpkg does: a file of the new version takes the name of each old one."""
    for program in new.iterdir():
        beside = old / f"{program.name}.dpkg-new"
        shutil.copy2(program, beside)
        beside.rename(old / program.name)


def archives():
    """Returns the archives of Debian that apt uses here, as lines of a sources.list."""
    suite = next(line.split("=")[1] for line in Path("/etc/os-release").read_text().splitlines() if line.startswith("VERSION_CODENAME"))
    told = run("apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    return suite, [line.split("|")[2] for line in told.splitlines() if line.startswith(f"Debian|{suite}")]


def bootstrap(tar):
    """Makes a fresh Debian, which systems are made of."""
    suite, lines = archives()
    run("mmdebstrap", "--mode=root", "--variant=minbase", '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"',
        "--include=adduser,passwd", suite, tar, *lines)


class System:
    """Makes a system of it, in namespaces of its own. A process that is only chrooted may make no user namespaces."""

    def __init__(self, tar, place):
        self.root = place
        place.mkdir()
        run("tar", "-xf", tar, "--numeric-owner", "-C", place)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(Path("/etc", name), place / "etc" / name)
        script = ('mount --rbind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; cd "$0" && pivot_root . mnt &&'
                  "umount -l /mnt && echo ready && exec sleep infinity")
        self.first = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", script,
                                       str(place)], stdout=subprocess.PIPE, text=True)
        assert self.first.stdout.readline() == "ready\n"
        children = Path(f"/proc/{self.first.pid}/task/{self.first.pid}/children").read_text().split()
        self.enter = ["nsenter", "--target", children[0], "--mount", "--pid", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                      "DEBIAN_FRONTEND=noninteractive"]

        self("apt-get -q update")

    def __call__(self, script, code=0):
        return run(*self.enter, "sh", "-ec", script, code=code)

    def user(self, script, code=0):
        return run(*self.enter, "su", "-", "someone", "-c", script, code=code)

    def install(self, *packages):
        return self("apt-get -q -y --no-install-recommends install " + " ".join(map(str, packages)))

    def put(self, files, place):
        (self.root / place).mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, self.root / place)

    def end(self):
        self.first.kill()
        self.first.wait()
        shutil.rmtree(self.root, ignore_errors=True)
