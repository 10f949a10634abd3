/* SPDX-License-Identifier: MIT */
#include "artifact/kconfig.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define NAMED 12 /* the largest number of settings that a message names */

/* Settings that have another name from the version major.minor of Linux on. `now` is the line with
 * the new name. `now` is NULL if later kernels have no such setting, and always do what the setting
 * demanded. */
static const struct renamed {
	const char *line;
	int major, minor;
	const char *now;
} renamed[] = {
	{"CONFIG_RANDOM_TRUST_CPU=y", 6, 2, NULL},
	{"CONFIG_RANDOM_TRUST_BOOTLOADER=y", 6, 2, NULL},
	{"CONFIG_PAGE_TABLE_ISOLATION=y", 6, 9, "CONFIG_MITIGATION_PAGE_TABLE_ISOLATION=y"},
	{"CONFIG_RETPOLINE=y", 6, 9, "CONFIG_MITIGATION_RETPOLINE=y"},
	{"CONFIG_RETHUNK=y", 6, 9, "CONFIG_MITIGATION_RETHUNK=y"},
	{"CONFIG_CPU_UNRET_ENTRY=y", 6, 9, "CONFIG_MITIGATION_UNRET_ENTRY=y"},
	{"CONFIG_CPU_IBPB_ENTRY=y", 6, 9, "CONFIG_MITIGATION_IBPB_ENTRY=y"},
	{"CONFIG_CPU_IBRS_ENTRY=y", 6, 9, "CONFIG_MITIGATION_IBRS_ENTRY=y"},
	{"CONFIG_CPU_SRSO=y", 6, 9, "CONFIG_MITIGATION_SRSO=y"},
	{"CONFIG_BASE_FULL=y", 6, 10, "# CONFIG_BASE_SMALL is not set"},
};

/* Returns true if one of the lines of `text` consists of exactly the `len` bytes at `line`. */
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

/* Returns true if `text` has a line that begins with "<name>=". `name` has `len` bytes. */
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

/* Returns true if the .config is for this version of Linux or a later one. A .config has the
 * version in a comment: "# Linux/x86 6.12.1 Kernel Configuration". */
static bool is_since(const char *config, int major, int minor)
{
	const char *at = strstr(config, "# Linux/");
	int own_major, own_minor;

	/* NOLINTNEXTLINE(cert-err34-c): each number has few digits */
	return at && sscanf(at, "# Linux/%*s %4d.%4d", &own_major, &own_minor) == 2 &&
	       (own_major > major || (own_major == major && own_minor >= minor));
}

/* Returns the line with the name that the setting has in the Linux version of this .config, and
 * sets *len to the line's length in bytes. Returns NULL if this version needs no such line. */
static const char *present_line(const char *config, const char *line, size_t *len)
{
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++) {
		const struct renamed *it = &renamed[i];

		if (strlen(it->line) != *len || memcmp(it->line, line, *len) != 0 ||
		    !is_since(config, it->major, it->minor))
			continue;
		*len = it->now ? strlen(it->now) : 0;
		return it->now;
	}
	return line;
}

/* Returns true if the .config has the setting in the line `asked`. Also returns true for a line
 * without a setting, such as a comment. */
static bool kconfig_holds(const char *config, const char *asked, size_t len)
{
	const char *line = present_line(config, asked, &len);
	static const char unset[] = "# CONFIG_", not_set[] = " is not set";
	size_t tail = sizeof(not_set) - 1;

	if (!line)
		return true;
	if (len > 7 && memcmp(line, "CONFIG_", 7) == 0)
		return has_line(config, line, len);
	if (len > sizeof(unset) - 1 + tail && memcmp(line, unset, sizeof(unset) - 1) == 0 &&
	    memcmp(line + len - tail, not_set, tail) == 0)
		return !is_set(config, line + 2, len - 2 - tail);
	return true;
}

int kconfig_add_new_names(const char *fragment, struct buf *out, struct error *err)
{
	if (buf_printf(out, err, "%s", fragment) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (renamed[i].now &&
		    has_line(fragment, renamed[i].line, strlen(renamed[i].line)) &&
		    buf_printf(out, err, "%s\n", renamed[i].now) < 0)
			return -1;
	return 0;
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
	return error_set(
		err, ERR_INVALID,
		"this kernel source lacks %zu of the settings that microagent needs, so build from another version of it: %s%s",
		count, buf_string(&lost), count > NAMED ? ", ..." : "");
}
