# SPDX-License-Identifier: MIT
"""Tests programs in the guest that need more than busybox: Python, a compiler."""


def test_agent_port_is_taken_and_loopback_is_not_there(debian_vm):
    """A workload that dials host port 1024, binds 2222 or dials 2222 in the guest gets nothing."""
    probe = """
import socket, sys
def attempt(what, f):
    try:
        f(); print(what, 'worked')
    except OSError as e:
        print(what, 'refused')
def dial(cid, port):
    s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); s.settimeout(20); s.connect((cid, port))
    s.sendall(b'{}\\n'); d = s.recv(10)
    if not d: raise OSError('closed')
def bind(port):
    s = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); s.bind((socket.VMADDR_CID_ANY, port))
attempt('dial 1024', lambda: dial(2, 1024))
attempt('dial 9999', lambda: dial(2, 9999))
attempt('dial self', lambda: dial(3, 2222))
attempt('dial loopback', lambda: dial(1, 2222))
attempt('bind 2222', lambda: bind(2222))
attempt('bind 1024', lambda: bind(1024))
"""
    for user in ("agent", "root"):
        done = debian_vm("exec", "--user", user, "vm", "--", "python3", "-c", probe, check=0)
        lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
        refused = {k for k, v in lines.items() if v == "refused"}
        assert {"dial 1024", "dial 9999", "dial self", "dial loopback", "bind 2222"} <= refused, lines


def test_debian_compiles_and_runs_c(debian_vm):
    source = '#include <stdio.h>\nint main(void) { puts("compiled in the guest"); return 3; }\n'
    done = debian_vm("exec", "-i", "vm", "--", "sh", "-c", "cd /tmp && cat > a.c && gcc -o a a.c && ./a; r=$?; rm a a.c; exit $r",
                     input=source, check=3)
    assert done.stdout == "compiled in the guest\n"
