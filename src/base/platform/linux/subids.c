/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/subids.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"

#define TEXT_BYTES (1u << 20)

/* Returns the number FIRST of the text ":FIRST:COUNT" at the end of a line; 0 if the text is
 * malformed or COUNT is 0. */
static unsigned long first_of(const char *text)
{
	char *end;

	if (*text != ':' || text[1] < '0' || text[1] > '9')
		return 0;
	unsigned long first = strtoul(text + 1, &end, 10);
	if (*end != ':' || end[1] < '0' || end[1] > '9')
		return 0;
	return strtoul(end + 1, NULL, 10) > 0 ? first : 0;
}

unsigned long subids_first(const char *text, const char *user, uid_t uid)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t name = strcspn(text, ":\n");
		bool ours = (strlen(user) == name && memcmp(text, user, name) == 0) ||
			    (strlen(number) == name && memcmp(text, number, name) == 0);
		unsigned long first = ours ? first_of(text + name) : 0;

		if (first > 0)
			return first;
	}
	return 0;
}

unsigned long subids_own(const char *path)
{
	autobuf struct buf text = BUF_INIT(TEXT_BYTES);
	struct passwd entry, *user = NULL;
	char room[4096];
	struct error ignored;

	if (path_read_file_at(AT_FDCWD, path, &text, &ignored) < 0)
		return 0;
	/* A failure is not an error, because the file may name the user by the user id. */
	(void)getpwuid_r(geteuid(), &entry, room, sizeof(room), &user);
	const char *string = buf_string(&text);
	return string ? subids_first(string, user ? user->pw_name : "", geteuid()) : 0;
}
