/* SPDX-License-Identifier: MIT */
/*
 * Keeps the earliest time at which any session may end by its lifetime or idle time. The
 * modification time of the file .locks/.ends is this time. Before this time, a sweep need not open
 * any session. A process that gives a session a lifetime or an idle time first records it in the
 * session, and then sets an earlier time of the file if necessary. A process that checks all
 * sessions sets a later time, and holds the file's lock meanwhile. If the file is missing, or its
 * time is more than ENDS_MOST_NS away, all sessions are checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "session/sessions/session.h"

#define ENDS ".locks/.ends"
#define ENDS_MOST_NS (INT64_C(86400) * (int64_t)NS_PER_S)

static int64_t next_of(const struct stat *st)
{
	struct timespec at = file_modified(st);

	return at.tv_sec * (int64_t)NS_PER_S + at.tv_nsec;
}

static int put_next(int fd, int64_t ns)
{
	const struct timespec times[] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = ns / (int64_t)NS_PER_S, .tv_nsec = ns % (int64_t)NS_PER_S}};

	return futimens(fd, times);
}

/* Returns the earliest time at which a session with this term can end, if the lifetime and the idle
 * time begin now. */
static int64_t first_end(const struct term *term)
{
	int64_t seconds = term->lifetime_s;

	if (term->idle_s && (!seconds || term->idle_s < seconds))
		seconds = term->idle_s;
	return clock_real_ns() + seconds * (int64_t)NS_PER_S;
}

int session_ends_note(const struct state_dir *dir, const struct term *term, struct error *err)
{
	int64_t by = first_end(term);
	autoclose int fd = -1;
	struct stat st;

	if (!term_is_given(term))
		return 0;
	fd = openat(dir->fd, ENDS, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	/* If the file is missing, the next sweep checks all sessions and makes the file. */
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0 ||
	    (by < next_of(&st) && put_next(fd, by) < 0))
		return error_errno(err, errno, "%s/" ENDS, dir->path);
	return 0;
}

bool session_ends_later(const struct state_dir *dir)
{
	int64_t now = clock_real_ns(), next;
	struct stat st;

	if (fstatat(dir->fd, ENDS, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	next = next_of(&st);
	return next > now && next <= now + ENDS_MOST_NS;
}

int session_ends_begin(const struct state_dir *dir)
{
	autoclose int fd = openat(dir->fd, ENDS, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 && flock(fd, LOCK_EX) == 0 ? steal_fd(&fd) : -1;
}

void session_ends_done(int fd, int64_t next)
{
	int64_t most = clock_real_ns() + ENDS_MOST_NS;

	if (fd < 0)
		return;
	/* If the time cannot be set, the next sweep checks all sessions. */
	(void)put_next(fd, next < most ? next : most);
	close(fd);
}
