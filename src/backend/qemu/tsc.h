/* SPDX-License-Identifier: MIT */
/* The frequency of the host's time-stamp counter, which TCG hands to its guests unchanged. */
#ifndef BACKEND_QEMU_TSC_H
#define BACKEND_QEMU_TSC_H

#include <stdint.h>

/* Measures for about 20 ms against CLOCK_MONOTONIC_RAW; some 10 ppm true. 0 on a processor without
 * such a counter. */
uint32_t tsc_measure_khz(void);

#endif
