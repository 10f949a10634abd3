# SPDX-License-Identifier: MIT
"""Stages about sessions: the times to clone, to claim from a pool and to destroy; their shares; and their use of the
host. They need root, for file systems that are mounted from a file, and for runc."""

import contextlib
import functools
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import containers
from harness import (BASE_GB, BIN, BUILD, FILES, HANG_S, OUT, ROOT, ROUNDS, THOUSAND, Cli, bare_initrd, bare_words,
                     our_qemu_words, pss_kib, running, timed, until, wait_for)
from table import other, record, skip

CLAIMS = min(5, ROUNDS)  # in a row; as many wait at once in the pool


class Place(Cli):
    """Makes a state directory with sessions and with bases, whose files are immutable."""

    def __init__(self, where=None):
        super().__init__(where)
        self.env["PATH"] = f"{BIN}:{self.env['PATH']}"
        self.state = self.base / "state"

    def json(self, *words):
        return json.loads(self("--json", *words))

    def program(self, *words):
        """Returns the lines of numbers of session_bench, each as a list of words."""
        done = subprocess.run([session_program(), *map(str, words)], env=self.env, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise SystemExit(f"session_bench {words}: {done.stderr}")
        return [line.split() for line in done.stdout.splitlines()]

    def exec(self, name, *words, **kw):
        return self("session", "exec", name, "--", *words, **kw)

    def as_root(self, name, *words):
        return self("session", "exec", "-u", "root", name, "--", *words)

    def bundle(self, name):
        return self.state / "sessions" / f"{name}.bundle"

    def __exit__(self, *_):
        def quiet(*words):
            subprocess.run(list(map(str, words)), env=self.env, check=False, capture_output=True)
        for pool in (self.state / "pool").glob("*"):
            quiet(BIN / "microagent", "pool", "drain", "--base", pool.name)
        for lease in (self.state / "sessions").glob("*/lease"):
            quiet(BIN / "microagent", "session", "destroy", lease.parent.name)
        quiet("chattr", "-R", "-i", self.base)
        shutil.rmtree(self.base, ignore_errors=True)


def is_root(stage):
    if os.geteuid() != 0:
        skip(stage, "it needs root")
    return os.geteuid() == 0


def compiled(name, *words):
    OUT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-o", OUT / name, ROOT / f"tests/bench/{name}.c", *words],
                   check=True)
    return OUT / name


@functools.cache
def session_program():
    return compiled("session_bench", f"-I{ROOT}/include", BUILD / "lib/libmicroagent.a", "-ljansson", "-lmd", "-lxxhash")


def own_file_system():
    """The file system of build/."""
    return subprocess.run(["findmnt", "-no", "FSTYPE", "-T", OUT], capture_output=True, text=True, check=True).stdout.strip()


def column(lines, number):
    return [float(line[number]) for line in lines]


@contextlib.contextmanager
def xfs():
    """Makes an XFS with reflinks from a file in build/. It is unmounted and removed whatever happens, also if an
    earlier run left it."""
    place, image = OUT / "xfs", OUT / "xfs.img"
    place.mkdir(parents=True, exist_ok=True)
    if os.path.ismount(place):
        subprocess.run(["umount", place], check=True)
    image.unlink(missing_ok=True)
    with open(image, "wb") as file:
        file.truncate(8 << 30)
    try:
        subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        yield place
    finally:
        if os.path.ismount(place):
            subprocess.run(["umount", place], check=False)
        image.unlink(missing_ok=True)
        if not os.path.ismount(place):
            place.rmdir()


def image_path(cli, name):
    return next((i["path"] for i in cli.json("image", "list")["images"] if i["name"] == name), None)


# ---- clone ------------------------------------------------------------------------------------------


def large_image(cli):
    """Makes the busybox image with a file system of 60 GB, nearly all of it holes."""
    image = OUT / "large.ext4"
    subprocess.run(["cp", "--sparse=always", "--no-preserve=mode", image_path(cli, "busybox"), image], check=True)
    os.truncate(image, BASE_GB << 30)
    subprocess.run(["resize2fs", "-f", image], check=True, capture_output=True)
    return image


def large_base(cli, image):
    copy = cli.base / "image.ext4"
    subprocess.run(["cp", "--sparse=always", image, copy], check=True)
    cli("base", "create", "large", "--image", copy)
    copy.unlink()


def beside_clone(cli, method):
    """Other programs that make the same disk, as a whole process: (its words, one round)."""
    disk, target = cli.state / "bases/large-v1.bundle/disk.img", cli.base / "other"
    words = (["cp", "--reflink=always", disk, target] if method == "reflink" else
             ["qemu-img", "create", "-q", "-f", "qcow2", "-b", disk, "-F", "raw", target])

    def make():
        target.unlink(missing_ok=True)
        return timed(lambda: subprocess.run(words, check=True))
    return f"`{' '.join(words[:2])}`", make


def clones_beside(cli, make):
    """Runs some rounds of ours and some of theirs, so that a busy moment of the host affects both. The first round of a
    process opens what later ones have open."""
    ours, theirs = [], []
    while len(ours) < ROUNDS:
        ours += column(cli.program("clone", "large", CLAIMS + 1), 0)[1:]
        theirs += [make() for _ in range(CLAIMS)]
    return ours, theirs


def measure_clone(cli, file_system, goal):
    made = cli.json("session", "create", "--base", "large", "--network", "isolated", "--no-share")
    cli("session", "destroy", made["name"])
    against, make = beside_clone(cli, made["clone"])
    ours, theirs = clones_beside(cli, make)
    name = f"clone of a {BASE_GB} GB base on {file_system} ({made['clone']})"
    record(name, ours, "ms", against, theirs, goal)
    other[f"{name}, the disk alone (ms)"] = made["timings"]["cloneMs"]
    cli.program("clone", "large", max(0, THOUSAND - 2 * ROUNDS))
    ours, theirs = clones_beside(cli, make)
    record(f"clone on {file_system} with {THOUSAND:,} sessions there", ours, "ms", against, theirs, goal)


def bench_clone():
    """Measures the time that a caller of microagent_session_clone_base() waits: for name, directory, disk, records, audit log."""
    if not is_root("clones of a base"):
        return
    with xfs() as mounted, Place(OUT) as here, Place(mounted) as there:
        image = large_image(here)
        try:
            with ThreadPoolExecutor(2) as threads:  # most of it is SHA-256 of the whole disk
                list(threads.map(lambda cli: large_base(cli, image), (here, there)))
            measure_clone(here, own_file_system(), "<= 3 ms")
            measure_clone(there, "XFS", "<= 1.2x")
        finally:
            image.unlink()


# ---- claim and destroy ------------------------------------------------------------------------------


def bare_qemu(cli, name):
    """Starts the session's QEMU with its own words and nothing of ours around it."""
    words = bare_words(our_qemu_words(cli, f"sessions/{name}.bundle"), bare_initrd())
    return running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def bare_end(cli, name):
    with bare_qemu(cli, name) as qemu:
        until(qemu.stdout, b"BENCH-INIT")
        return timed(lambda: (qemu.kill(), qemu.wait()))


def fill(cli):
    cli("pool", "set", "--base", "web", "--size", CLAIMS)
    wait_for(lambda: (lambda p: p["ready"] == CLAIMS and not p["filling"])(cli.json("pool", "status")["pools"][0]),
             "the pool", 5 * HANG_S)


def claim_and_exec(cli, names):
    names.append(cli("session", "create", "--base", "web").decode().strip())
    cli.exec(names[-1], "/bin/true")


def busybox_container(cli):
    """Makes a container of the busybox image's own files."""
    root = cli.base / "rootfs"
    root.mkdir()
    subprocess.run(["debugfs", "-R", f"rdump / {root}", image_path(cli, "busybox")], check=True, capture_output=True)
    return containers.runc(cli.base, root)


def all_claimed(cli, names):
    sources = {s["source"] for s in cli.json("session", "list")["sessions"] if s["name"] in names}
    if sources != {"pool"}:
        raise SystemExit(f"claim: not all sessions came from the pool: {sources}")


def claim_round(cli, runc, took):
    """Measures a pool that the library fills and ends, and a pool that the command line fills and ends; containers run
    between them."""
    fill(cli)
    took["runc"] += [timed(runc) for _ in range(CLAIMS)]
    inside = cli.program("claim", "web", CLAIMS)
    names = [line[2] for line in inside]
    all_claimed(cli, names)
    took["create"] += column(inside, 0)
    took["library"] += [create + first for create, first in zip(column(inside, 0), column(inside, 1))]
    took["bare"] += [bare_end(cli, names[0]) for _ in range(CLAIMS)]
    ended = cli.program("end", *names)
    took["end"] += column(ended, 0)
    took["removed"] += column(ended, 1)
    fill(cli)
    took["runc"] += [timed(runc) for _ in range(CLAIMS)]
    names = []
    took["commands"] += [timed(claim_and_exec, cli, names) for _ in range(CLAIMS)]
    all_claimed(cli, names)
    took["destroy"] += [timed(cli, "session", "destroy", name) for name in names]


def bench_claim():
    why = containers.lacking("runc", "debugfs")
    if why:
        skip("claim from the pool, destroy of a session", why)
        return
    took = {name: [] for name in ("runc", "create", "library", "commands", "bare", "end", "removed", "destroy")}
    with Place() as cli:
        cli("base", "create", "web")
        runc = busybox_container(cli)
        runc()
        while len(took["library"]) < ROUNDS:
            claim_round(cli, runc, took)
    other["of a claim the claim itself (ms)"] = took["create"]
    record("claim from the pool to first exec answered, by the library", took["library"], "ms", "`runc run` of the same command",
           took["runc"], "<= 0.4x")
    record("the same by two commands, `session create` and `session exec`", took["commands"], "ms", "`runc run` of the same command",
           took["runc"], "<= 0.5x")
    record("destroy of a session, its VM ended", took["removed"], "ms", goal="<= 50 ms")
    record("end of the VM of a session", took["end"], "ms", "SIGKILL of a bare QEMU", took["bare"])
    record("`session destroy` of a running one", took["destroy"], "ms", "SIGKILL of a bare QEMU", took["bare"], "<= +50 ms")


# ---- share ------------------------------------------------------------------------------------------


def make_tree(tree):
    """Makes FILES small files in a hundred directories, all of them committed."""
    for number in range(FILES):
        file = tree / f"d{number % 100}" / f"file{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * random.Random(number).randint(10, 200))
    git = ["git", "-C", tree, "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True)


def native(*words):
    return subprocess.run(list(map(str, words)), capture_output=True, check=True).stdout


def measure_reads(cli, name, program, file):
    """Each round begins with empty caches. In one open the reader then fills them."""
    took = {key: [] for key in ("guest", "native", "cold guest", "cold native")}
    for _ in range(ROUNDS):
        native(program, "drop", file)
        first, again = map(float, native(program, file, 1000).split())
        took["cold native"].append(first)
        took["native"].append(again)
        native(program, "drop", file)
        cli.as_root(name, "sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches")
        first, again = map(float, cli.exec(name, "/workspace/read_bench", "/workspace/file", 1000).split())
        took["cold guest"].append(first)
        took["guest"].append(again)
    record("4 KiB read in a share, cached in the guest", took["guest"], "us", "native, cached", took["native"])
    record("4 KiB read in a share, cached nowhere", took["cold guest"], "us", "native, not cached", took["cold native"])


def measure_git(cli, name, tree):
    """Runs git natively on a copy. Git writes owners and numbers of the files into the index. On the same tree, the
    other side would have to read all files again."""
    copy = cli.base / "tree"
    subprocess.run(["cp", "-a", tree, copy], check=True)

    def status_native():
        native("git", "-C", copy, "status", "--porcelain")

    def status_guest():
        cli.exec(name, "git", "-C", "/workspace/tree", "status", "--porcelain")
    status_native()  # writes the owners and numbers that it has seen into the index
    status_guest()  # sees other owners and numbers, and reads all files once
    alone, warm = [], []
    for _ in range(ROUNDS):
        alone.append(timed(status_native))
        warm.append(timed(status_guest))
    record(f"`git status` of {FILES:,} files in a share", warm, "ms", "native", alone)


def bench_share():
    with Place() as cli:
        if not image_path(cli, "debian"):
            skip("shares", "there is no debian image (microagent image build debian)")
            return
        share = cli.base / "share"
        (share / "tree").mkdir(parents=True)
        make_tree(share / "tree")
        (share / "file").write_bytes(os.urandom(64 << 20))
        program = shutil.copy(compiled("read_bench", "-static"), share / "read_bench")
        cli("base", "create", "web", "--image", "debian")
        name = cli.json("session", "create", "--base", "web", "--network", "isolated", "--share", share)["name"]
        measure_reads(cli, name, program, share / "file")
        measure_git(cli, name, share / "tree")


# ---- density ----------------------------------------------------------------------------------------

# Writes files, packs them, packs them smaller, and removes most of them.
TASK = """cd /workspace && mkdir p && i=0 && while [ $i -lt 200 ]; do head -c 20000 /dev/urandom > p/f$i; i=$((i + 1)); done
tar cf p.tar p && gzip p.tar && rm -r p && sync && du -k /workspace | tail -n 1"""


def unshared_bytes(file):
    """Returns the size of the blocks that the file shares with no other file."""
    shared = 0
    if file.name == "rootfs.ext4":
        for line in native("filefrag", "-v", "-b1", file).decode().splitlines():
            extent = re.match(r"\s*\d+:\s*\d+\.\.\s*\d+:\s*\d+\.\.\s*\d+:\s*(\d+):.*", line)
            if extent and "shared" in line:
                shared += int(extent.group(1))
    return file.lstat().st_blocks * 512 - shared


def unique_mib(cli, name):
    os.sync()
    return sum(unshared_bytes(file) for file in cli.bundle(name).iterdir() if file.is_file()) / 2**20


def measure_unique(cli, file_system):
    made = cli.json("session", "create", "--base", "web", "--network", "isolated")
    name = made["name"]
    before = unique_mib(cli, name)
    kept = int(cli.exec(name, "sh", "-c", TASK).split()[0]) / 1024
    after = unique_mib(cli, name)
    record(f"unique bytes of a session on {file_system} ({made['clone']}), just booted", [before], "MiB")
    record(f"the same after a task that wrote 12 MB, on {file_system}", [after], "MiB", "what it left in files", [kept])
    cli("session", "destroy", name)


def processes(cli, name):
    facts = json.loads((cli.bundle(name) / "runtime.json").read_text())
    return {"qemu": facts["pid"], "supervisor": facts["supervisorPid"]} | {
        c["name"]: c["pid"] for c in facts["companions"] if c.get("pid")}


def measure_memory(cli):
    (cli.base / "shared").mkdir()
    names = [line[2] for line in cli.program("claim", "web", 3)]
    shared = cli.json("session", "create", "--base", "web", "--share", cli.base / "shared")["name"]
    time.sleep(5)  # memory that a boot leaves behind is freed a while after it
    parts = [{part: pss_kib(pid) / 1024 for part, pid in processes(cli, name).items()} for name in (*names, shared)]
    other["PSS of an idle session's processes (MiB)"] = parts
    each = [sum(part.values()) for part in parts[:3]]
    with bare_qemu(cli, names[0]) as qemu:
        until(qemu.stdout, b"BENCH-INIT")
        time.sleep(5)
        bare = pss_kib(qemu.pid) / 1024
    record("memory (PSS) of an idle session of 256 MiB, all processes", each, "MiB", "a bare QEMU, same machine and kernel",
           [bare])
    record("the same with a share", [sum(parts[3].values())], "MiB", "a bare QEMU, same machine and kernel", [bare])
    record("idle sessions for each GiB of the host", [1024 / statistics.median(each)], "", "of bare QEMU", [1024 / bare],
           better="more")


def bench_density():
    if not is_root("unique bytes of a session"):
        return
    with xfs() as mounted, Place(OUT) as here, Place(mounted) as there:
        for cli in (here, there):
            cli("base", "create", "web")
        measure_unique(here, own_file_system())
        measure_unique(there, "XFS")
        measure_memory(here)
