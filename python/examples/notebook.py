# SPDX-License-Identifier: MIT
"""A notebook whose cells share an interpreter in the guest, which keeps its state: Python where the base has it, else the
shell.

    $ python3 notebook.py tools
    In [1]: total=1; for n in 1 2 3; do total=$((total * n)); done
    In [2]: echo "3! is $total"
    3! is 6
    In [3]: cd /absent || echo "still here"
    sh: cd: line 5: can't cd to /absent: No such file or directory
    still here
    $ python3 notebook.py debian
    In [1]: import math; total = math.factorial(3)
    In [2]: print(f"3! is {total}")
    3! is 6
    In [3]: 1 / 0
    Traceback (most recent call last):
      File "<stdin>", line 1, in <module>
    ZeroDivisionError: division by zero"""

import contextlib
import os
import secrets
import sys
import threading

import microagent

# What it is started by, and how it is made to say a word.
PYTHON = ["python3", "-iqu", "-c", "import sys; sys.ps1 = sys.ps2 = ''"], "print({!r})"
SHELL = ["sh"], "echo {}"
CELLS = {"python3": ["import math; total = math.factorial(3)", 'print(f"3! is {total}")', "1 / 0"],
         "sh": ["total=1; for n in 1 2 3; do total=$((total * n)); done", 'echo "3! is $total"',
                'cd /absent || echo "still here"']}


class Notebook:
    """One interpreter, whose streams are pipes of ours. It ends with its sandbox."""

    def __init__(self, box, interpreter):
        command, self.say = interpreter
        stdin, to_guest = os.pipe()
        from_guest, stdout = os.pipe()
        self.input, self.output = os.fdopen(to_guest, "wb", 0), os.fdopen(from_guest, "rb")
        threading.Thread(target=self._run, args=(box, command, stdin, stdout)).start()

    def _run(self, box, command, stdin, stdout):
        with contextlib.suppress(microagent.Error):
            box.exec(command, stdin=stdin, stdout=stdout, stderr=stdout)
        os.close(stdin)
        os.close(stdout)

    def run(self, cell):
        """Lines that the cell says, one after the other. A word that it cannot know comes behind them."""
        mark = secrets.token_hex(8)
        self.input.write(f"{cell}\n{self.say.format(mark)}\n".encode())
        for line in self.output:
            if line.strip() == mark.encode():
                return
            yield line.decode(errors="replace").rstrip("\n")
        raise EOFError("the interpreter has ended")


def main(base):
    with microagent.Sandbox(base, network="isolated") as box:
        name = "python3" if box.run(["python3", "-c", ""]).exit_code == 0 else "sh"
        notebook = Notebook(box, PYTHON if name == "python3" else SHELL)
        for number, cell in enumerate(CELLS[name], 1):
            print(f"In [{number}]: {cell}")
            for line in notebook.run(cell):
                print(line)


if len(sys.argv) != 2:
    sys.exit("usage: python3 notebook.py BASE")
main(sys.argv[1])
