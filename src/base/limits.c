/* SPDX-License-Identifier: MIT */
#include "base/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/system.h"

const struct limit_row limit_table[LIMIT_COUNT] = {
#define LIMIT_ROW(name, value, unit, text) [LIMIT_##name] = {#name, value, unit, text},
	LIMIT_TABLE(LIMIT_ROW)
#undef LIMIT_ROW
};
static_assert(ARRAY_SIZE(limit_table) == LIMIT_COUNT, "every limit has a row");

/* Parses a decimal number. Returns `otherwise` for any other text. So a test that misspells a value
 * runs with the ordinary limit, and fails. */
static uint64_t parse_or(const char *text, uint64_t otherwise)
{
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? otherwise : value;
}

/* The value of each limit plus one; 0: the value has not been read yet. If several threads read a
 * limit for the first time at once, all of them store the same number. */
static _Atomic uint64_t known[LIMIT_COUNT];

uint64_t limit_get(enum limit which)
{
	uint64_t value = atomic_load_explicit(&known[which], memory_order_relaxed);
	const struct limit_row *row = &limit_table[which];
	char name[96];

	if (value)
		return value - 1;
	/* system_getenv() ignores the environment of a program that has more rights than the user
	 * who starts it. Otherwise that user could change the program's limits. */
	snprintf(name, sizeof(name), "MICROAGENT_TEST_LIMIT_%s", row->name);
	value = parse_or(system_getenv(name), row->value);
	limit_set(which, value);
	return value;
}

uint64_t limit_deadline(enum limit which)
{
	return clock_mono_ns() + limit_get(which) * NS_PER_MS;
}

void limit_set(enum limit which, uint64_t value)
{
	atomic_store_explicit(&known[which], value + 1, memory_order_relaxed);
}

void limit_reset(enum limit which)
{
	atomic_store_explicit(&known[which], 0, memory_order_relaxed);
}
