# SPDX-License-Identifier: MIT
"""Stages about sessions: cloned, claimed from a pool, destroyed; their shares; what they take of the host. Root only, for
file systems mounted from a file and runc."""

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

from harness import (BIN, BUILD, HANG_S, OUT, ROOT, Cli, bare_initrd, bare_words, our_qemu_words, pss_kib, raw, record,
                     running, timed, until, wait_for)

BASE_GB = 60
THOUSAND = int(os.environ.get("SESSIONS", "1000"))
CLONES = 30
CLAIMS = 5
FILES = 10000


class Place(Cli):
    """A state directory with bases, whose files are immutable, and sessions."""

    def __init__(self, where=None):
        super().__init__(where)
        self.env["PATH"] = f"{BIN}:{self.env['PATH']}"
        self.state = self.base / "state"

    def json(self, *words):
        return json.loads(self("--json", *words))

    def program(self, *words):
        """Lines of numbers of session_bench, each a list of words."""
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
        print(f"{stage}: skipped, it needs root")
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
    """Of build/."""
    return subprocess.run(["findmnt", "-no", "FSTYPE", "-T", OUT], capture_output=True, text=True, check=True).stdout.strip()


def column(lines, number):
    return [float(line[number]) for line in lines]


@contextlib.contextmanager
def xfs():
    """An XFS with reflinks, of a file in build/; unmounted and removed whatever happens, also what an earlier run left."""
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
    """The busybox image with a file system of 60 GB, nearly all of it holes."""
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
    """The same disk by who else makes one: whole processes."""
    disk, target = cli.state / "bases/large-v1.bundle/disk.img", cli.base / "other"
    words = (["cp", "--reflink=always", disk, target] if method == "reflink" else
             ["qemu-img", "create", "-q", "-f", "qcow2", "-b", disk, "-F", "raw", target])
    took = []
    for _ in range(CLONES):
        target.unlink(missing_ok=True)
        took.append(timed(lambda: subprocess.run(words, check=True)))
    target.unlink()
    return f"`{' '.join(words[:2])}`", took


def measure_clone(cli, file_system):
    made = cli.json("session", "create", "--base", "large", "--network", "isolated", "--no-share")
    cli("session", "destroy", made["name"])
    name = f"clone of a {BASE_GB} GB base on {file_system} ({made['clone']})"
    against, other = beside_clone(cli, made["clone"])
    record(name, column(cli.program("life", "large", CLONES), 0), against, other, "ms", "<= 3 ms")
    raw[f"{name}, the disk alone (ms)"] = made["timings"]["cloneMs"]
    cli.program("clone", "large", THOUSAND - CLONES)
    record(f"the same with {THOUSAND:,} sessions there", column(cli.program("clone", "large", CLONES), 0), against, other,
           "ms", "<= 3 ms")


def bench_clone():
    """What a caller of microagent_session_clone_base() waits for: name, directory, disk, records, audit log."""
    if not is_root("clone"):
        return
    with xfs() as mounted, Place(OUT) as here, Place(mounted) as there:
        image = large_image(here)
        try:
            with ThreadPoolExecutor(2) as threads:  # most of it is SHA-256 of the whole disk
                list(threads.map(lambda cli: large_base(cli, image), (here, there)))
            measure_clone(here, own_file_system())
            measure_clone(there, "XFS")
        finally:
            image.unlink()


# ---- destroy ----------------------------------------------------------------------------------------


def bare_qemu(cli, name):
    """The session's QEMU without anything of ours around it."""
    words = bare_words(our_qemu_words(cli, f"sessions/{name}.bundle"), bare_initrd())
    return running(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def bare_end(cli, name):
    with bare_qemu(cli, name) as qemu:
        until(qemu.stdout, b"BENCH-INIT")
        return timed(lambda: (qemu.kill(), qemu.wait()))


def bench_destroy():
    with Place() as cli:
        cli("base", "create", "web")
        names = [line[2] for line in cli.program("claim", "web", 2 * CLAIMS)]
        bare = [bare_end(cli, names[0]) for _ in range(3)]
        ended = cli.program("end", *names[:CLAIMS])
        whole = [timed(cli, "session", "destroy", name) for name in names[CLAIMS:]]
    record("destroy of a session, its VM ended", column(ended, 1), "", [], "ms", "<= 50 ms")
    record("end of its VM before that", column(ended, 0), "SIGKILL of a bare QEMU", bare, "ms", "-")
    record("`session destroy` of a running one", whole, "SIGKILL of a bare QEMU", bare, "ms", "<= 50 ms and the VM's end",
           ratio=False)


# ---- claim ------------------------------------------------------------------------------------------


def container(cli):
    """`runc run` of /bin/true in the busybox image's own files."""
    root = cli.base / "rootfs"
    root.mkdir()
    subprocess.run(["debugfs", "-R", f"rdump / {root}", image_path(cli, "busybox")], check=True, capture_output=True)
    subprocess.run(["runc", "spec"], cwd=cli.base, check=True)
    spec = json.loads((cli.base / "config.json").read_text())
    spec["process"] |= {"terminal": False, "args": ["/bin/true"]}
    (cli.base / "config.json").write_text(json.dumps(spec))
    words = ["runc", "--root", cli.base / "runc", "run", "--bundle", cli.base]

    def run():
        subprocess.run([*words, f"bench-{os.getpid()}"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return run


def fill(cli):
    cli("pool", "set", "--base", "web", "--size", CLAIMS)
    wait_for(lambda: (lambda p: p["ready"] == CLAIMS and not p["filling"])(cli.json("pool", "status")["pools"][0]),
             "the pool", 5 * HANG_S)


def claim_and_exec(cli):
    name = cli("session", "create", "--base", "web").decode().strip()
    cli.exec(name, "/bin/true")


def bench_claim():
    if not is_root("claim"):
        return
    with Place() as cli:
        cli("base", "create", "web")
        runc = container(cli)
        other = [timed(runc) for _ in range(CLAIMS + 1)][1:]
        fill(cli)
        inside = cli.program("claim", "web", CLAIMS)
        fill(cli)
        processes = [timed(claim_and_exec, cli) for _ in range(CLAIMS)]
        other += [timed(runc) for _ in range(CLAIMS)]
        sources = {s["source"] for s in cli.json("session", "list")["sessions"]}
        created = column(inside, 0)
    if sources != {"pool"}:
        raise SystemExit(f"claim: not all sessions came from the pool: {sources}")
    raw["of that the claim (ms)"] = created
    record("claim from the pool to first exec answered", [c + e for c, e in zip(created, column(inside, 1))],
           "`runc run` of the same command", other, "ms", "<= 0.5x")
    record("of that the claim", created, "", [], "ms", "-")
    record("the same as two processes, create and exec", processes, "`runc run` of the same command", other, "ms", "<= 0.5x")


# ---- share ------------------------------------------------------------------------------------------


def make_tree(tree):
    """FILES small files in a hundred directories, all of them committed."""
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
    """Each round begins with nothing cached; then the host alone has it; then, in one open, the reader too."""
    took = {key: [] for key in ("guest", "native", "cold guest", "cold native", "host has it")}
    for _ in range(5):
        native(program, "drop", file)
        first, again = map(float, native(program, file, 2000).split())
        took["cold native"].append(first)
        took["native"].append(again)
        native(program, "drop", file)
        cli.as_root(name, "sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches")
        took["cold guest"].append(float(cli.exec(name, "/workspace/read_bench", "/workspace/file", 2000).split()[0]))
        cli.as_root(name, "sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches")
        first, again = map(float, cli.exec(name, "/workspace/read_bench", "/workspace/file", 2000).split())
        took["host has it"].append(first)
        took["guest"].append(again)
    record("4 KiB read in a share, cached in the guest", took["guest"], "native, cached", took["native"], "us", "-")
    record("the same, cached on the host alone", took["host has it"], "native, cached", took["native"], "us", "-")
    record("the same, cached nowhere", took["cold guest"], "native, not cached", took["cold native"], "us", "-")


def measure_git(cli, name, tree):
    def status_native():
        native("git", "-C", tree, "status", "--porcelain")

    def status_guest():
        cli.exec(name, "git", "-C", "/workspace/tree", "status", "--porcelain")
    status_native()  # writes into the index what it has seen
    alone = [timed(status_native) for _ in range(5)]
    status_guest()  # sees other owners and numbers, and reads all the files for once
    warm = [timed(status_guest) for _ in range(3)]
    cold = []
    for _ in range(2):
        cli.as_root(name, "sh", "-c", "echo 3 > /proc/sys/vm/drop_caches")
        cold.append(timed(status_guest))
    record(f"`git status` of {FILES:,} files in a share", warm, "native", alone, "ms", "-")
    record("the same, nothing cached in the guest", cold, "native, cached", alone, "ms", "-")


def bench_share():
    with Place() as cli:
        if not image_path(cli, "debian"):
            print("share: skipped, there is no debian image (microagent image build debian)")
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

# Files are written, packed, packed smaller, and most of them removed.
TASK = """cd /workspace && mkdir p && i=0 && while [ $i -lt 200 ]; do head -c 20000 /dev/urandom > p/f$i; i=$((i + 1)); done
tar cf p.tar p && gzip p.tar && rm -r p && sync && du -k /workspace | tail -n 1"""


def unshared_bytes(file):
    """What of its blocks it has with no other file."""
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
    raw[f"unique MiB before the task on {file_system}"] = before
    record(f"unique bytes of a session on {file_system} ({made['clone']}), just booted", [before], "", [], "MiB", "-")
    record("the same after a task that wrote 12 MB", [after], "what it left in files", [kept], "MiB", "-")
    cli("session", "destroy", name)


def processes(cli, name):
    facts = json.loads((cli.bundle(name) / "runtime.json").read_text())
    return {"qemu": facts["pid"], "supervisor": facts["supervisorPid"]} | {
        c["name"]: c["pid"] for c in facts["companions"] if c.get("pid")}


def measure_memory(cli):
    (cli.base / "shared").mkdir()
    names = [line[2] for line in cli.program("claim", "web", 3)]
    shared = cli.json("session", "create", "--base", "web", "--share", cli.base / "shared")["name"]
    time.sleep(5)  # what a boot leaves behind is let go a while after it
    parts = [{part: pss_kib(pid) / 1024 for part, pid in processes(cli, name).items()} for name in (*names, shared)]
    raw["PSS of an idle session's processes (MiB)"] = parts
    each = [sum(part.values()) for part in parts[:3]]
    with bare_qemu(cli, names[0]) as qemu:
        until(qemu.stdout, b"BENCH-INIT")
        time.sleep(5)
        bare = pss_kib(qemu.pid) / 1024
    record("memory (PSS) of an idle session of 256 MiB, all processes", each, "a bare QEMU, same machine and kernel", [bare],
           "MiB", "-")
    record("the same with a share", [sum(parts[3].values())], "the same", [bare], "MiB", "-")
    record("idle sessions for each GiB of the host", [1024 / statistics.median(each)], "of bare QEMU", [1024 / bare], "", "-")


def bench_density():
    if not is_root("density"):
        return
    with xfs() as mounted, Place(OUT) as here, Place(mounted) as there:
        for cli in (here, there):
            cli("base", "create", "web")
        measure_unique(here, own_file_system())
        measure_unique(there, "XFS")
        measure_memory(here)
