/* SPDX-License-Identifier: MIT */
/* Further functions and facts for which each system has other calls. */
#ifndef BASE_PLATFORM_SYSTEM_H
#define BASE_PLATFORM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The name of this system: "Linux" or "macOS". */
extern const char *const system_name;
/* Fills `out` with `len` unpredictable bytes, at most 256. */
int random_bytes(void *out, size_t len, struct error *err);
/* Gives back to the system the free memory that malloc() keeps for later. */
void memory_give_back(void);
/* Stores the size of the host's memory, and how much of it a new process could get, in bytes. */
int memory_of_host(uint64_t *total, uint64_t *available, struct error *err);
/* Returns the system's text for an errno; NULL if there is no text. The text is valid in this
 * thread until this thread calls the function again. */
const char *system_error_text(int errnum);
/* Works like getenv(), but returns NULL in a program that has more rights than its caller (a
 * set-uid program). */
const char *system_getenv(const char *name);
/* Stores an id of this host that stays the same at each boot, and that no other host has; "" if the
 * host has no id. */
#define SYSTEM_HOST_ID 65
void system_host_id(char out[SYSTEM_HOST_ID]);
/* Return the nanoseconds since the boot: system_awake_ns() without the time for which the host
 * slept, system_boot_ns() with this time. */
uint64_t system_awake_ns(void);
uint64_t system_boot_ns(void);

#endif
