/* SPDX-License-Identifier: MIT */
/* Clocks. Loop timers and deadlines read clock_mono_ns(), which unit tests may set by hand. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

uint64_t clock_mono_ns(void); /* the monotonic time in ns, which stands still while the host sleeps;
			       * in unit tests the time of the virtual clock */
uint64_t clock_boot_ns(void); /* the time in ns since the boot, including the time in which the host
			       * slept */
int64_t clock_real_ns(void);  /* the wall clock time in ns since 1970 (CLOCK_REALTIME) */
/* Switches to a virtual monotonic clock whose time is `ns` until the next call; only for unit
 * tests. */
void clock_set_virtual(uint64_t ns);
/* Returns true if the clock is virtual. Then no function may wait until a time is reached, since
 * the time does not pass. */
bool clock_is_virtual(void);
/* Writes a time as RFC 3339 in UTC with milliseconds, "2026-05-02T00:00:00.000Z"; out needs 25
 * bytes. */
void clock_rfc3339(int64_t real_ns, char out[25]);
#define CLOCK_TEXT 25
/* Reads a text that clock_rfc3339() has written. Returns the time in nanoseconds since 1970; -1 for
 * any other text. */
int64_t clock_of_rfc3339(const char *text);

#endif
