# SPDX-License-Identifier: MIT
"""Ten sandboxes at once, a thread each. All of them are gone at the end, also when one has failed or Ctrl-C was typed.

    $ python3 ten.py tools
    0 squared is 0
    1 squared is 1
    2 squared is 4
    3 squared is 9
    4 squared is 16
    5 squared is 25
    6 squared is 36
    7 squared is 49
    8 squared is 64
    9 squared is 81
    10 machines"""

import sys
from concurrent.futures import ThreadPoolExecutor

import microagent


def square(base, number):
    with microagent.Sandbox(base, network="isolated") as box:
        told = box.run("echo $(($NUMBER * $NUMBER))", env={"NUMBER": str(number)}, check=True).text.strip()
        return box.name, f"{number} squared is {told}"


def main(base):
    with ThreadPoolExecutor(10) as threads:
        done = list(threads.map(lambda number: square(base, number), range(10)))
    for _, text in done:
        print(text)
    print(len({name for name, _ in done}), "machines")


if len(sys.argv) != 2:
    sys.exit("usage: python3 ten.py BASE")
main(sys.argv[1])
