# SPDX-License-Identifier: MIT
"""Children that end with the broker. Its main thread starts all of them: the kernel's signal for the end of a parent
(PR_SET_PDEATHSIG) depends on the thread that started the child."""

import ctypes
import os
import queue
import signal
import subprocess
import threading

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
jobs = queue.SimpleQueue()
children = []


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Job:
    def __init__(self, words, given, options):
        self.words, self.given, self.options = words, given, options
        self.done, self.child, self.failure = threading.Event(), None, None

    def run(self):
        try:
            self.child = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=self.given,
                                          preexec_fn=die_with_parent, **self.options)
            children.append(self.child)
        except OSError as why:
            self.failure = why
        self.done.set()


def spawn(words, log, given=(), **options):
    """log is a descriptor for its stderr, and is closed here. given are the descriptors that it inherits with the same numbers."""
    job = Job([str(word) for word in words], given, {**options, "stderr": log})
    jobs.put(job)
    job.done.wait()
    os.close(log)
    if job.failure:
        raise job.failure
    return job.child


def serve():
    """Runs the main thread's work for ever."""
    while True:
        jobs.get().run()


def end_with_parent(clean_up):
    """The end of stdin ends everything. If the broker ends otherwise, the kernel's signal ends its children."""

    def watch():
        while os.read(0, 4096):
            pass
        for child in children:
            child.kill()
        for child in children:
            child.wait()
        clean_up()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
