/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_base.h"
#include "base/platform/file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int look_at_name(const char *path, struct stat *now, struct error *err)
{
	return lstat(path, now) < 0 ? error_errno(err, errno, "%s", path) : 0;
}

static int serve_look(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	const struct watch_base *watch = data;
	struct stat now;

	(void)in;
	if (!watch || !watch->path)
		return error_set(
			err, ERR_DENIED,
			"the broker refuses to look at the base, because this machine has no base: this is a bug, or the live supervisor was taken over");
	if (look_at_name(watch->path, &now, err) < 0)
		return -1;
	memcpy(out->bytes, &now, sizeof(now));
	out->len = sizeof(now);
	return 0;
}

const struct broker_duty watch_base_duty = {serve_look};

static int look_at_base_file(const char *path, struct stat *now, struct error *err)
{
	static const struct broker_message nothing;
	struct broker_message answer;

	if (!broker_is_asked())
		return look_at_name(path, now, err);
	if (broker_ask(&watch_base_duty, &nothing, &answer, err) < 0)
		return -1;
	memcpy(now, answer.bytes, sizeof(*now));
	return 0;
}

int watch_base_begin(struct watch_base *watch, const char *path, struct error *err)
{
	struct watch_base made = {.path = strdup(path)};

	if (!made.path)
		return error_errno(err, ENOMEM, "%s", path);
	if (look_at_name(path, &made.was, err) < 0) {
		free(made.path);
		return -1;
	}
	*watch = made;
	return 0;
}

static const char *difference(const struct stat *was, const struct stat *now)
{
	if (was->st_dev != now->st_dev || was->st_ino != now->st_ino)
		return "was replaced";
	if (was->st_size != now->st_size || !is_same_time(file_modified(was), file_modified(now)))
		return "was written";
	/* The mode is compared in addition to ctime, since a change of the mode may leave ctime the
	 * same. Before Linux 6.13 the times of a file system are as coarse as a clock tick. A
	 * change in the same tick as the first look does not change ctime. */
	if (was->st_mode != now->st_mode || !is_same_time(file_changed(was), file_changed(now)))
		return "was given other attributes";
	return NULL;
}

const char *watch_base_look(struct watch_base *watch)
{
	const char *what;
	struct error gone;
	struct stat now;

	if (!watch->path)
		return NULL;
	what = look_at_base_file(watch->path, &now, &gone) < 0 ? "is gone"
							       : difference(&watch->was, &now);
	if (!what || (watch->told && strcmp(what, watch->told) == 0))
		return NULL;
	watch->told = what;
	return what;
}

void watch_base_end(struct watch_base *watch)
{
	free(watch->path);
	*watch = (struct watch_base){0};
}
