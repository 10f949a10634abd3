/* SPDX-License-Identifier: MIT */
/*
 * serial.log: what the guest says on COM1. The pipe is ours and HCS connects to it, as Windows'
 * own Subsystem for Linux does it (github.com/microsoft/WSL, src/windows/common/Dmesg.cpp). Above
 * half its cap the log begins anew, and what was in it is serial.log.1 from then on.
 */
#ifndef HYPERV_SERIAL_H
#define HYPERV_SERIAL_H

#include <stddef.h>

#include "base/error.h"

struct serial;
/* name: of the pipe; path: of the log. For the life of the process. */
struct serial *serial_begin(const char *name, const char *path, struct error *err);
/* The last line of this boot that has something in it, unprintable bytes as '?'; "" for none. */
void serial_tail(struct serial *serial, char *out, size_t size);
/* Until the machine's end of the pipe is closed, but no longer than that. */
void serial_drain(struct serial *serial, unsigned ms);

#endif
