/* SPDX-License-Identifier: MIT */
/*
 * Watches directories by a kqueue with EVFILT_VNODE, and an open descriptor of each directory. With
 * O_EVTONLY such a descriptor does not prevent the disk from being unmounted. The event of a
 * directory says that its entries have changed, but not how. A write to a file causes no event of
 * its directory. So for DIR_WATCH_WRITTEN each file has a descriptor too. A new file gets its
 * descriptor when the directory has changed. A kqueue cannot list the descriptors that it watches,
 * so this file keeps a list of them. This file was compiled and linked for macOS, but never run
 * there.
 */
#include "base/platform/dir_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ENTRIES (DIR_WATCH_MADE | DIR_WATCH_MOVED_IN | DIR_WATCH_REMOVED | DIR_WATCH_WRITTEN)

struct place {
	struct place *next;
	int watch;
	int fd;
	int number; /* the descriptor of the directory, which identifies the directory to the
		     * caller */
	bool scans; /* true: a directory is watched, and each of its files too */
	ino_t ino;  /* the inode of the watched file; 0: a directory is watched */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;

int dir_watch_open(void)
{
	autoclose int queue = kqueue();

	return queue < 0 || fcntl(queue, F_SETFD, FD_CLOEXEC) < 0 ? -1 : steal_fd(&queue);
}

/* Adds a place, which is a directory or one of its files, to the watch. Closes place->fd on
 * failure, and otherwise when the watch is closed. */
static int add_place(const struct place *place, uint32_t fflags)
{
	autoclose int fd = place->fd;
	struct place *kept = malloc(sizeof(*kept));
	struct kevent change;

	EV_SET(&change, fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, fflags, 0,
	       (void *)(intptr_t)place->number);
	if (!kept || kevent(place->watch, &change, 1, NULL, 0, NULL) < 0) {
		free(kept);
		return -1;
	}
	*kept = *place;
	kept->next = places;
	places = kept;
	return steal_fd(&fd);
}

static struct place **find_place(int watch, int fd)
{
	struct place **link = &places;

	while (*link && ((*link)->watch != watch || (fd >= 0 && (*link)->fd != fd)))
		link = &(*link)->next;
	return link;
}

static void drop_place(struct place **link)
{
	struct place *place = *link;

	*link = place->next;
	close(place->fd);
	free(place);
}

static bool is_watched_file(int watch, ino_t ino)
{
	const struct place *place = places;

	while (place && (place->watch != watch || place->ino != ino))
		place = place->next;
	return place != NULL;
}

/* Watches a file. A file that cannot be watched is skipped, and its directory is still watched. */
static void watch_file(int watch, int number, const char *name)
{
	struct place place = {.watch = watch, .number = number};
	struct stat st;

	place.fd = openat(number, name, O_EVTONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (place.fd < 0)
		return;
	if (fstat(place.fd, &st) < 0 || !S_ISREG(st.st_mode) || is_watched_file(watch, st.st_ino)) {
		close(place.fd);
		return;
	}
	place.ino = st.st_ino;
	(void)add_place(&place, NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE);
}

static void scan_files(int watch, int number)
{
	int fd = openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_REG)
			watch_file(watch, number, entry->d_name);
}

int dir_watch_add(int watch, int dirfd, const char *name, unsigned events)
{
	struct place place = {.watch = watch, .scans = events & DIR_WATCH_WRITTEN};
	uint32_t fflags = (events & ENTRIES ? NOTE_WRITE : 0) |
			  (events & DIR_WATCH_ATTRIBUTES ? NOTE_ATTRIB : 0) |
			  (events & DIR_WATCH_GONE ? NOTE_DELETE | NOTE_RENAME | NOTE_REVOKE : 0);
	int number;

	place.fd = openat(dirfd, name, O_EVTONLY | O_DIRECTORY | O_CLOEXEC);
	if (place.fd < 0)
		return -1;
	place.number = place.fd;
	pthread_mutex_lock(&lock);
	number = add_place(&place, fflags);
	if (number >= 0 && place.scans)
		scan_files(watch, number);
	pthread_mutex_unlock(&lock);
	return number;
}

static void follow_changes(int watch, const struct kevent *event)
{
	struct place **link = find_place(watch, (int)event->ident);

	if (!*link)
		return;
	if ((*link)->ino && event->fflags & NOTE_DELETE)
		drop_place(link);
	else if ((*link)->scans && event->fflags & NOTE_WRITE)
		scan_files(watch, (*link)->number);
}

bool dir_watch_take(int watch, dir_watch_fn *fn, void *data)
{
	const struct timespec now = {0};
	struct kevent events[16];
	bool any = false;
	int n;

	while ((n = kevent(watch, NULL, 0, events, ARRAY_SIZE(events), &now)) > 0) {
		any = true;
		for (int i = 0; i < n; i++) {
			pthread_mutex_lock(&lock);
			follow_changes(watch, &events[i]);
			pthread_mutex_unlock(&lock);
			if (fn)
				fn((int)(intptr_t)events[i].udata, data);
		}
	}
	return any;
}

void dir_watch_close(int watch)
{
	struct place **link;

	if (watch < 0)
		return;
	pthread_mutex_lock(&lock);
	while (*(link = find_place(watch, -1)))
		drop_place(link);
	pthread_mutex_unlock(&lock);
	close(watch);
}
