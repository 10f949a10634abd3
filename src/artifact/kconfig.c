/* SPDX-License-Identifier: MIT */
#include "artifact/kconfig.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"

#define NAMED 12 /* settings in a message */

/* Whether one whole line of text is line[0..len). */
static bool has_line(const char *text, const char *line, size_t len)
{
	for (;;) {
		size_t n = strcspn(text, "\n");
		if (n == len && memcmp(text, line, len) == 0)
			return true;
		if (!text[n])
			return false;
		text += n + 1;
	}
}

/* Whether text has a line that begins with "<name>=". */
static bool is_set(const char *text, const char *name, size_t len)
{
	for (;;) {
		size_t n = strcspn(text, "\n");
		if (n > len && memcmp(text, name, len) == 0 && text[len] == '=')
			return true;
		if (!text[n])
			return false;
		text += n + 1;
	}
}

/* The fragment's other lines, comments among them, ask for nothing. */
static bool kconfig_holds(const char *config, const char *line, size_t len)
{
	static const char unset[] = "# CONFIG_", not_set[] = " is not set";
	size_t tail = sizeof(not_set) - 1;

	if (len > 7 && memcmp(line, "CONFIG_", 7) == 0)
		return has_line(config, line, len);
	if (len > sizeof(unset) - 1 + tail && memcmp(line, unset, sizeof(unset) - 1) == 0 &&
	    memcmp(line + len - tail, not_set, tail) == 0)
		return !is_set(config, line + 2, len - 2 - tail);
	return true;
}

int kconfig_verify(const char *fragment, const char *config, struct error *err)
{
	autobuf struct buf lost = BUF_INIT(0);
	size_t count = 0;

	while (*fragment) {
		size_t n = strcspn(fragment, "\n");
		if (!kconfig_holds(config, fragment, n) && count++ < NAMED &&
		    buf_printf(&lost, err, "%s%.*s", lost.len ? ", " : "", (int)n, fragment) < 0)
			return -1;
		fragment += n + (fragment[n] == '\n');
	}
	if (count == 0)
		return 0;
	return error_set(err, ERR_INVALID,
			 "this kernel source does not take %zu of our settings: %s%s", count,
			 buf_string(&lost), count > NAMED ? ", ..." : "");
}
