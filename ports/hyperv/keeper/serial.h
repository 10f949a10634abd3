/* SPDX-License-Identifier: MIT */
/*
 * Writes serial.log: the guest's output to COM1. This process makes the pipe of COM1 and HCS
 * connects to it, as in Windows' own Subsystem for Linux (github.com/microsoft/WSL,
 * src/windows/common/Dmesg.cpp). When the log would grow above half of its limit, it is renamed to
 * serial.log.1, and a new log begins.
 */
#ifndef HYPERV_SERIAL_H
#define HYPERV_SERIAL_H

#include <stddef.h>

#include "base/error.h"

struct serial;
/* Starts to read the pipe `name` into the log at `path`, for the life of the process. Returns NULL
 * with an error. */
struct serial *serial_begin(const char *name, const char *path, struct error *err);
/* Writes the last line of this boot that is not blank to `out`. An unprintable byte becomes '?'.
 * Writes "" if there is no such line. */
void serial_tail(struct serial *serial, char *out, size_t size);
/* Waits until the machine has closed its end of the pipe, but at most `ms` milliseconds. */
void serial_drain(struct serial *serial, unsigned ms);

#endif
