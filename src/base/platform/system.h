/* SPDX-License-Identifier: MIT */
/* Further functions whose implementation depends on the operating system. */
#ifndef BASE_PLATFORM_SYSTEM_H
#define BASE_PLATFORM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The name of the operating system: "Linux" or "macOS". */
extern const char *const system_name;
/* Fills `out` with `len` unpredictable bytes, at most 256. */
int random_bytes(void *out, size_t len, struct error *err);
/* Gives the free memory that malloc() keeps back to the operating system. */
void memory_give_back(void);
/* Stores the size of the host's memory, and the amount of it that a new process could get, in
 * bytes. */
int memory_of_host(uint64_t *total, uint64_t *available, struct error *err);
/* Returns the operating system's text for an error number; NULL if there is no text. The text is
 * valid until the same thread calls the function again. */
const char *system_error_text(int errnum);
/* Works like getenv(), but returns NULL in a program that has more rights than its caller (a
 * set-uid program). */
const char *system_getenv(const char *name);
/* Stores an id of this host that is the same after each boot and that no other host has; "" if the
 * host has no id. */
#define SYSTEM_HOST_ID 65
void system_host_id(char out[SYSTEM_HOST_ID]);
/* Return the time since the boot in ns: system_awake_ns() without the time in which the host slept,
 * system_boot_ns() including that time. */
uint64_t system_awake_ns(void);
uint64_t system_boot_ns(void);

#endif
