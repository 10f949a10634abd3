/* SPDX-License-Identifier: MIT */
/* What a C library has, or the system tells, and each by another name. */
#ifndef BASE_PLATFORM_SYSTEM_H
#define BASE_PLATFORM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "Linux" or "macOS". */
extern const char *const system_name;
/* Unpredictable bytes, up to 256. */
int random_bytes(void *out, size_t len, struct error *err);
/* Whatever malloc() holds back for later. */
void memory_give_back(void);
/* Of the host: all of it, and what a new process could have. */
int memory_of_host(uint64_t *total, uint64_t *available, struct error *err);
/* The system's words for an errno; NULL: it has none. This thread's, until it asks again. */
const char *system_error_text(int errnum);
/* getenv(), but NULL in a program that has more rights than who called it. */
const char *system_getenv(const char *name);
/* An id that this host keeps over boots and no other host has; "" where there is none. */
#define SYSTEM_HOST_ID 65
void system_host_id(char out[SYSTEM_HOST_ID]);
/* Nanoseconds since the boot: without the time asleep, and with it. */
uint64_t system_awake_ns(void);
uint64_t system_boot_ns(void);

#endif
