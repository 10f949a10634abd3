/* SPDX-License-Identifier: MIT */
#include "artifact/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "store/cache_write.h"

#define TICK_US 250000
#define RECORD_BYTES 65536

static void on_tick(int number)
{
	(void)number;
}

/* Waits for the lock. poll() cannot wait for a lock, so the signal of a timer interrupts the wait
 * from time to time. At each interruption, the progress line is drawn, and this program checks
 * whether a signal has asked it to end. */
static int wait_for_place(int fd, struct error *err)
{
	const struct sigaction action = {.sa_handler = on_tick};
	const struct itimerval tick = {.it_interval.tv_usec = TICK_US, .it_value.tv_usec = TICK_US};
	const struct itimerval off = {0};
	int result = -1;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &tick, NULL);
	while (artifact_check_signal(err) == 0) {
		if (flock(fd, LOCK_EX) == 0) {
			result = 0;
			break;
		}
		if (errno != EINTR) {
			error_errno(err, errno, "wait");
			break;
		}
		progress_draw();
	}
	setitimer(ITIMER_REAL, &off, NULL);
	return result;
}

int place_exclusive(const struct place *place, const char *name, struct error *err)
{
	autofree char *dir = path_join(place->cache, ".locks", err);
	autoclose int dirfd = dir ? path_open_dir(dir, err) : -1;
	autoclose int fd = -1;

	if (dirfd < 0)
		return -1;
	fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s/%s", dir, name);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return steal_fd(&fd);
	progress_stage("waiting for another %s to end", name);
	return wait_for_place(fd, err) < 0 ? error_prefix(err, "lock %s/%s", dir, name)
					   : steal_fd(&fd);
}

static int open_parts(struct place *place, enum cache_part part, struct error *err)
{
	autoclose int cache = cache_open(true, err);
	autofree char *tmp = NULL;

	place->cache = cache < 0 ? NULL : cache_dir(err);
	place->dir = place->cache ? cache_subdir(part, err) : NULL;
	if (!place->dir)
		return -1;
	place->dir_fd = path_open_dir(place->dir, err);
	if (place->dir_fd < 0)
		return -1;
	place->lock = place_exclusive(place, place->what, err);
	if (place->lock < 0)
		return -1;
	tmp = path_join(place->cache, "tmp", err);
	if (!tmp)
		return -1;
	place->tmp_fd = path_open_dir(tmp, err);
	if (place->tmp_fd < 0)
		return -1;
	place->scratch = path_join(tmp, place->what, err);
	if (!place->scratch || path_remove_tree_at(place->tmp_fd, place->what, err) < 0)
		return -1;
	place->scratch_fd = path_open_dir_at(place->tmp_fd, place->what, true, 0700, err);
	return place->scratch_fd < 0 ? -1 : 0;
}

int place_open(enum cache_part part, const char *what, struct place *out, struct error *err)
{
	struct place place = {.lock = -1, .dir_fd = -1, .scratch_fd = -1, .tmp_fd = -1};

	place.what = strdup(what);
	if (!place.what)
		return error_errno(err, ENOMEM, "%s", what);
	if (open_parts(&place, part, err) < 0) {
		place_close(&place);
		return error_prefix(err, "cache");
	}
	*out = place;
	return 0;
}

void place_close(struct place *place)
{
	struct error ignored;

	if (!place->what)
		return;
	if (place->scratch_fd >= 0)
		(void)path_remove_tree_at(place->tmp_fd, place->what, &ignored);
	cleanup_close(&place->scratch_fd);
	cleanup_close(&place->tmp_fd);
	cleanup_close(&place->dir_fd);
	cleanup_close(&place->lock);
	free(place->cache);
	free(place->dir);
	free(place->scratch);
	free(place->what);
	memset(place, 0, sizeof(*place));
}

char *place_scratch(const struct place *place, const char *file, struct error *err)
{
	return path_join(place->scratch, file, err);
}

int place_subdir(const struct place *place, const char *name, struct error *err)
{
	return path_open_dir_at(place->scratch_fd, name, true, 0700, err);
}

int place_require_space(const struct place *place, uint64_t bytes, struct error *err)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (fstatvfs(place->scratch_fd, &fs) < 0)
		return error_errno(err, errno, "free space of %s", place->cache);
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes >= bytes)
		return 0;
	return error_set(
		err, ERR_IO,
		"the command needs %llu MiB in %s, but only %llu MiB are free there: make room, or name another directory in MICROAGENT_CACHE_DIR",
		(unsigned long long)(bytes >> 20), place->cache,
		(unsigned long long)(free_bytes >> 20));
}

static struct cache_writing writing(const struct place *place)
{
	return (struct cache_writing){place->dir, place->scratch, place->dir_fd, place->scratch_fd};
}

int place_withdraw(const struct place *place, const char *name, struct error *err)
{
	const struct cache_writing w = writing(place);

	return cache_withdraw(&w, name, err);
}

int place_publish(const struct place *place, const char *file, const char *name, const char *suffix,
		  struct error *err)
{
	const struct cache_writing w = writing(place);

	return cache_publish(&w, file, name, suffix, err);
}

int place_record(const struct place *place, const char *name, const json_t *record,
		 struct error *err)
{
	const struct cache_writing w = writing(place);

	return cache_record(&w, name, record, err);
}

json_t *place_read_record(const struct place *place, const char *name, struct error *err)
{
	autobuf struct buf file = BUF_INIT(0), text = BUF_INIT(RECORD_BYTES);

	if (buf_printf(&file, err, "%s.json", name) < 0 ||
	    path_read_file_at(place->dir_fd, buf_string(&file), &text, err) < 0)
		return NULL;
	return json_load_strict(buf_bytes(&text), text.len, err);
}
