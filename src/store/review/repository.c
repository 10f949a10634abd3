/* SPDX-License-Identifier: MIT */
#include "store/review/repository.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "store/share/autorun.h"

static const struct {
	const char *name;
	unsigned part;
} part_names[] = {
	{"HEAD", REVIEW_PART_HEAD},
	{"objects", REVIEW_PART_OBJECTS},
	{"refs", REVIEW_PART_REFS},
	{"commondir", REVIEW_PART_COMMONDIR},
};

unsigned review_part_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(part_names); i++)
		if (strcasecmp(part_names[i].name, name) == 0)
			return part_names[i].part;
	return 0;
}

#define STORES (REVIEW_PART_OBJECTS | REVIEW_PART_REFS)

static bool is_whole(unsigned parts)
{
	return (parts & REVIEW_PART_HEAD) &&
	       ((parts & REVIEW_PART_COMMONDIR) || (parts & STORES) == STORES);
}

const char *review_repository_by(const char *path, bool is_dir, review_find_parts *find, void *data)
{
	const char *at = path + strlen(path);

	/* Files that git runs or obeys are at most two names below the repository. */
	for (int names = 0; names < 2 && at > path; names++) {
		do
			at--;
		while (at > path && at[-1] != '/');
		const size_t len = at > path ? (size_t)(at - path) - 1 : 0;
		const unsigned own = names == 0 ? review_part_of_name(at) : 0;
		const char *by = is_dir ? NULL : autorun_in_repository(at);

		if (!own && !by)
			continue;
		const unsigned parts = find(data, path, len);
		if (by && (parts & (REVIEW_PART_HEAD | STORES)))
			return by;
		if (own && is_whole(parts | own))
			return "git takes its directory for a repository because of it";
	}
	return NULL;
}

unsigned review_parts_on_host(struct review_dirs *host, const char *path, size_t len)
{
	char any[PATH_MAX + 16];
	const char *name = NULL;
	unsigned parts = 0;
	struct stat st;
	int dir = -1;

	if ((size_t)snprintf(any, sizeof(any), "%.*s%sHEAD", (int)len, path, len ? "/" : "") >=
		    PATH_MAX ||
	    review_dirs_open(host, any, &dir, &name) != REVIEW_BAR_NONE)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(part_names); i++)
		if (fstatat(dir, part_names[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			parts |= part_names[i].part;
	return parts;
}
