/* SPDX-License-Identifier: MIT */
#include "guest/job/rlimits.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

/* The names of the limits. The index of a name is the limit's number. NULL ends the list, as the
 * function json_only_keys() requires. */
static const char *const names[RLIMIT_NLIMITS + 1] = {
	[RLIMIT_CPU] = "cpu",		[RLIMIT_FSIZE] = "fsize",
	[RLIMIT_DATA] = "data",		[RLIMIT_STACK] = "stack",
	[RLIMIT_CORE] = "core",		[RLIMIT_RSS] = "rss",
	[RLIMIT_NPROC] = "nproc",	[RLIMIT_NOFILE] = "nofile",
	[RLIMIT_MEMLOCK] = "memlock",	[RLIMIT_AS] = "as",
	[RLIMIT_LOCKS] = "locks",	[RLIMIT_SIGPENDING] = "sigpending",
	[RLIMIT_MSGQUEUE] = "msgqueue", [RLIMIT_NICE] = "nice",
	[RLIMIT_RTPRIO] = "rtprio",	[RLIMIT_RTTIME] = "rttime",
};

const char *rlimits_name(int resource)
{
	return resource >= 0 && resource < RLIMIT_NLIMITS ? names[resource] : "?";
}

static int get_value(const json_t *from, const char *path, const char *key, bool *given,
		     rlim_t *out, struct error *err)
{
	const json_t *value = json_object_get(from, key);
	const char *text = json_string_value(value);
	int64_t number = 0;

	if (!value)
		return 0;
	*given = true;
	if (text && strcmp(text, "unlimited") == 0) {
		*out = RLIM_INFINITY;
		return 0;
	}
	if (!json_is_integer(value))
		return error_set(err, ERR_INVALID, "%s.%s must be an integer or \"unlimited\"",
				 path, key);
	if (json_get_int(from, path, key, JSON_REQUIRED, 0, INT64_MAX, &number, err) < 0)
		return -1;
	*out = (rlim_t)number;
	return 0;
}

static int decode_one(const json_t *value, const char *path, struct rlimit_wish *wish,
		      struct error *err)
{
	static const char *const keys[] = {"soft", "hard", NULL};

	if (!json_is_object(value))
		return error_set(err, ERR_INVALID, "%s must be an object", path);
	if (json_only_keys(value, path, keys, err) < 0 ||
	    get_value(value, path, "soft", &wish->has_soft, &wish->soft, err) < 0 ||
	    get_value(value, path, "hard", &wish->has_hard, &wish->hard, err) < 0)
		return -1;
	if (wish->has_soft && wish->has_hard && wish->soft > wish->hard)
		return error_set(
			err, ERR_INVALID,
			"%s.soft is above %s.hard: lower the soft limit, or raise the hard one",
			path, path);
	return 0;
}

int rlimits_decode(json_t *wanted, const char *path, struct rlimits *out, struct error *err)
{
	struct rlimits limits = {0};
	char where[128];

	if (!wanted)
		return 0;
	if (json_only_keys(wanted, path, names, err) < 0)
		return -1;
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		const json_t *value = json_object_get(wanted, names[i]);
		struct rlimit_wish *wish = &limits.wishes[limits.count];

		if (!value)
			continue;
		*wish = (struct rlimit_wish){.resource = i};
		snprintf(where, sizeof(where), "%s.%s", path, names[i]);
		if (decode_one(value, where, wish, err) < 0)
			return -1;
		limits.count++;
	}
	*out = limits;
	return 0;
}

int rlimits_apply(const struct rlimits *limits, int *resource)
{
	for (size_t i = 0; i < limits->count; i++) {
		const struct rlimit_wish *wish = &limits->wishes[i];
		struct rlimit now;

		*resource = wish->resource;
		if (getrlimit((__rlimit_resource_t)wish->resource, &now) < 0)
			return -1;
		if (wish->has_soft)
			now.rlim_cur = wish->soft;
		if (wish->has_hard)
			now.rlim_max = wish->hard;
		else if (now.rlim_cur > now.rlim_max)
			now.rlim_max = now.rlim_cur;
		if (now.rlim_cur > now.rlim_max)
			now.rlim_cur = now.rlim_max;
		if (setrlimit((__rlimit_resource_t)wish->resource, &now) < 0)
			return -1;
	}
	return 0;
}
