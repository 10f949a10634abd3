/* SPDX-License-Identifier: MIT */
#include "guest/job/users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DATABASE_MAX (1 << 20)
#define FIELDS_MAX 8

/*
 * Returns the whole file as a string, which the caller frees. Returns NULL if the file is absent,
 * is not a regular file, or is longer than DATABASE_MAX. The image may have any type of file at
 * this path, and a FIFO must not block the agent. Every command calls this function, so it makes
 * only one read() and one allocation to be fast.
 */
static char *read_database(const char *etc, const char *name)
{
	char path[USER_PATH_MAX];
	struct stat st;
	ssize_t n;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", etc, name) >= sizeof(path))
		return NULL;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > DATABASE_MAX)
		return NULL;
	autofree char *text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return steal_ptr(&text);
}

/* Splits a line "a:b:c" at its colons into fields. Changes the line. Missing fields become "". */
static void split_fields(char *line, char *fields[FIELDS_MAX])
{
	char *rest = line;

	for (size_t i = 0; i < FIELDS_MAX; i++) {
		char *end = rest ? strchr(rest, ':') : NULL;

		fields[i] = rest ? rest : line + strlen(line);
		if (end)
			*end = '\0';
		rest = end ? end + 1 : NULL;
	}
}

/* Ends the first line of *text with a NUL, and sets *text to the text after it. Returns the line,
 * or NULL at the end of the text. */
static char *cut_line(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	*text = end ? end + 1 : NULL;
	return line;
}

/* Reads a decimal uid or gid. Returns false for any other text, and for numbers from 2^32-1 on,
 * since 2^32-1 means "no id" for the kernel. */
static bool parse_id(const char *text, uint32_t *out)
{
	uint64_t value = 0;

	if (!*text || strlen(text) > 10)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	if (value >= UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	return true;
}

static bool copy_field(char *to, size_t size, const char *from, const char *otherwise)
{
	return (size_t)snprintf(to, size, "%s", *from ? from : otherwise) < size;
}

/* Sets *out from the line of passwd that has the uid *uid. If `uid` is NULL, uses the line that has
 * the name `name`. Returns false if there is no such line, or if a field is too long. */
static bool find_user(char *passwd, const char *name, const uint32_t *uid, struct user *out)
{
	char *fields[FIELDS_MAX], *line;
	uint32_t id, gid;

	while ((line = cut_line(&passwd))) {
		split_fields(line, fields);
		if (!parse_id(fields[2], &id) || !parse_id(fields[3], &gid))
			continue;
		if (uid ? id != *uid : strcmp(fields[0], name) != 0)
			continue;
		out->uid = id;
		out->gid = gid;
		return copy_field(out->name, sizeof(out->name), fields[0], "") &&
		       copy_field(out->home, sizeof(out->home), fields[5], "/") &&
		       copy_field(out->shell, sizeof(out->shell), fields[6], "/bin/sh");
	}
	return false;
}

static bool is_member(char *members, const char *name)
{
	char *rest = NULL;

	for (char *m = strtok_r(members, ",", &rest); m; m = strtok_r(NULL, ",", &rest))
		if (strcmp(m, name) == 0)
			return true;
	return false;
}

static int resolve_user(const char *etc, const char *name, struct user *out, struct error *err)
{
	autofree char *text = read_database(etc, "passwd");
	uint32_t uid = 0;
	bool numeric = parse_id(name, &uid);

	if (text && find_user(text, name, numeric ? &uid : NULL, out))
		return 0;
	if (!numeric && strcmp(name, "root") != 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"user \"%s\" is not in the guest's %s/passwd: give a user that is there, or a number",
			name, etc);
	*out = (struct user){.uid = uid, .gid = uid, .home = "/", .shell = "/bin/sh"};
	if (uid == USER_DEFAULT_UID)
		snprintf(out->name, sizeof(out->name), USER_DEFAULT_NAME);
	else if (uid == 0)
		snprintf(out->name, sizeof(out->name), "root");
	else
		snprintf(out->name, sizeof(out->name), "%u", uid);
	return 0;
}

static int resolve_group(const char *etc, const char *name, gid_t *out, struct error *err)
{
	autofree char *text = read_database(etc, "group");
	char *fields[FIELDS_MAX], *rest = text, *line;
	uint32_t gid;

	if (parse_id(name, &gid)) {
		*out = gid;
		return 0;
	}
	while ((line = cut_line(&rest))) {
		split_fields(line, fields);
		if (strcmp(fields[0], name) == 0 && parse_id(fields[2], &gid)) {
			*out = gid;
			return 0;
		}
	}
	return error_set(
		err, ERR_NOT_FOUND,
		"group \"%s\" is not in the guest's %s/group: give a group that is there, or a number",
		name, etc);
}

static int resolve_spec(const char *etc, const char *spec, struct user *out, struct error *err)
{
	char name[USER_NAME_MAX];
	const char *colon = strchr(spec, ':');
	size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
	struct user found = {0};

	if (len == 0 || len >= sizeof(name))
		return error_set(
			err, ERR_INVALID,
			"\"%.64s\" is not a user: give a name, a number, or both a user and a group as USER:GROUP",
			spec);
	memcpy(name, spec, len);
	name[len] = '\0';
	if (resolve_user(etc, name, &found, err) < 0)
		return -1;
	if (colon) {
		/* If `spec` names a group, the user gets only this group, as with the user of an
		 * image's configuration. */
		if (resolve_group(etc, colon + 1, &found.gid, err) < 0)
			return -1;
	} else {
		autofree char *text = read_database(etc, "group");
		char *fields[FIELDS_MAX], *rest = text, *line;
		uint32_t gid;

		while ((line = cut_line(&rest)) && found.ngroups < USER_GROUPS_MAX) {
			split_fields(line, fields);
			if (parse_id(fields[2], &gid) && gid != found.gid &&
			    is_member(fields[3], found.name))
				found.groups[found.ngroups++] = gid;
		}
	}
	*out = found;
	return 0;
}

int user_resolve(const char *etc, const char *spec, struct user *out, struct error *err)
{
	struct user found;
	char fallback[16];

	if (spec)
		return resolve_spec(etc, spec, out, err);
	/* Uses the user that the image has recorded. If this user is root or cannot be found,
	 * continues with the default user. */
	autofree char *text = read_database(etc, "microagent/user");
	char *rest = text, *line = cut_line(&rest);
	if (line && *line && resolve_spec(etc, line, &found, NULL) == 0 && found.uid != 0) {
		*out = found;
		return 0;
	}
	snprintf(fallback, sizeof(fallback), "%d", USER_DEFAULT_UID);
	return resolve_spec(etc, fallback, out, err);
}

int user_become(const struct user *user)
{
	if (setgroups(user->ngroups, user->groups) < 0 ||
	    setresgid(user->gid, user->gid, user->gid) < 0)
		return -1;
	return setresuid(user->uid, user->uid, user->uid);
}
