"""A clock for a server that can be set back while it runs, as an administrator or a time server does it.

A library that is loaded before the system's own moves the time of day by what stands in a file; clocks that
only measure how long something takes go on, as they do when a computer's clock is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from benchmarks.first_paint import MeasurementError

_SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long *moved;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("MOVED_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    void *content = file < 0 ? MAP_FAILED : mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
    moved = content == MAP_FAILED ? 0 : content;
    if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int failed = syscall(SYS_clock_gettime, clock, out);
    int of_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!failed && moved && of_day) out->tv_sec += *moved;
    return failed;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"""
_BYTES = 8


class MovedClock:
    """The time of day of whatever is started with ``settings``; on Linux, with a C compiler.

    Attributes:
        settings: Variables for the environment of a server.
    """

    def __init__(self, folder: Path) -> None:
        """Make one that is right yet; a MeasurementError where there is no compiler."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise MeasurementError("A C compiler is missing: install one (Debian: apt-get install gcc).")
        source, library = folder / "clock.c", folder / "clock.so"
        source.write_text(_SOURCE, encoding="utf-8")
        made = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", library, source],
            check=False,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise MeasurementError(f"The clock cannot be compiled: {made.stderr.strip()[-300:]}")
        self._moved = folder / "clock-moved"
        self.move(0)
        self.settings = {"LD_PRELOAD": str(library), "MOVED_CLOCK": str(self._moved)}

    def move(self, seconds: int) -> None:
        """Set the clock so many seconds before or after the right time, also for what is running."""
        descriptor = os.open(self._moved, os.O_RDWR | os.O_CREAT)
        try:
            os.pwrite(descriptor, seconds.to_bytes(_BYTES, "little", signed=True), 0)
        finally:
            os.close(descriptor)
