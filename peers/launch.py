"""Runs one program to its end and says what its process took; `sides.run` starts every program through it.

    python -I -S launch.py FD PROGRAM ARGUMENT…

Into the open file FD goes one line of JSON: seconds, processor_seconds, memory_mib and code, or the error if there is no such program. Linux
counts the memory of whoever starts a program as the program's own until it begins (ru_maxrss is kept over exec, and a vfork shares it), so
that a driver with large arrays would show them as everybody's. This process is small and forks: the least it can find is its own, some 7 MiB.
It imports nothing that it can do without. On SIGINT or SIGTERM it ends the program with all that it has started.
"""

import os
import signal
import sys
import time


def main():
    report, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)
    running = None

    def stop(number, _):
        if running:
            os.killpg(running, signal.SIGKILL)
            os.waitpid(running, 0)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    begin = time.perf_counter()
    running = os.fork()
    if not running:
        os.setpgid(0, 0)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(report, f'{{"error": "{error.strerror}"}}\n'.encode())
            os._exit(127)
    try:
        os.setpgid(running, running)  # whoever comes first
    except OSError:
        pass  # it has, and has begun or ended
    _, status, used = os.wait4(running, 0)
    seconds, code = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
    found = f'"seconds": {seconds!r}, "processor_seconds": {used.ru_utime + used.ru_stime!r}, "memory_mib": {used.ru_maxrss / 1024!r}'
    os.write(report, f'{{"code": {code}, {found}}}\n'.encode())


if __name__ == "__main__":
    main()
