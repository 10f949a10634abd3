/* SPDX-License-Identifier: MIT */
/* Measures the frequency of the host's time-stamp counter. TCG shows this counter to its guests
 * unchanged. */
#ifndef BACKEND_QEMU_TSC_H
#define BACKEND_QEMU_TSC_H

#include <stdint.h>

/* Returns the frequency in kHz. Measures it for about 20 ms against CLOCK_MONOTONIC_RAW, with an
 * error of about 10 ppm. Returns 0 on a processor without such a counter. */
uint32_t tsc_measure_khz(void);

#endif
