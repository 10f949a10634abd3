/* SPDX-License-Identifier: MIT */
/*
 * Writes what the guest sends to COM1 to the file serial.log. This process creates the pipe for
 * COM1, and HCS connects to the pipe, as in Windows Subsystem for Linux (github.com/microsoft/WSL,
 * src/windows/common/Dmesg.cpp). When the log would become larger than half of its limit, the log
 * is renamed to serial.log.1, and a new log begins.
 */
#ifndef HYPERV_SERIAL_H
#define HYPERV_SERIAL_H

#include <stddef.h>

#include "base/error.h"

struct serial;
/* Starts a thread that reads the pipe `name` and writes to the log at `path` until the process
 * ends. Returns NULL with err set on failure. */
struct serial *serial_begin(const char *name, const char *path, struct error *err);
/* Writes the last line of this boot that is not blank to `out`, or "" if there is no such line. An
 * unprintable byte becomes '?'. */
void serial_tail(struct serial *serial, char *out, size_t size);
/* Waits until the machine has closed its end of the pipe, but at most `ms` milliseconds. */
void serial_drain(struct serial *serial, unsigned ms);

#endif
