/* SPDX-License-Identifier: MIT */
#include "guest/job/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/job/session.h"

#define TREE_NAME "microagent"
/* How many cgroups of earlier commands the agent tries to remove, at most, each time that a command
 * ends. */
#define SWEEP 8

struct name {
	char text[24];
};

static struct name cgroup_name(uint64_t number)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "%" PRIu64, number);
	return name;
}

static int write_digit(int dirfd, const char *file, const char *digit)
{
	autoclose int fd = openat(dirfd, file, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, digit, 1) == 1 ? 0 : -1;
}

/* Removes the empty cgroups of an earlier agent. Also chooses the next number so that no new cgroup
 * gets the number of an old one. */
static void end_leftovers(struct cgroup_tree *tree)
{
	autodir DIR *dir = NULL;
	int fd = openat(tree->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		uint64_t number = strtoull(entry->d_name, NULL, 10);

		if (number == 0)
			continue;
		if (number >= tree->next)
			tree->next = number + 1;
		unlinkat(tree->dirfd, entry->d_name, AT_REMOVEDIR);
	}
}

static void close_cgroup_fds(struct cgroup *cgroup)
{
	cleanup_close(&cgroup->fd);
	cleanup_close(&cgroup->events_fd);
	*cgroup = (struct cgroup)CGROUP_NONE;
}

static bool make_cgroup(struct cgroup_tree *tree, struct cgroup *out)
{
	struct cgroup cgroup = {.name = tree->next++, .fd = -1, .events_fd = -1};
	struct name name = cgroup_name(cgroup.name);

	if (mkdirat(tree->dirfd, name.text, 0755) < 0)
		return false;
	cgroup.fd = openat(tree->dirfd, name.text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (cgroup.fd >= 0)
		cgroup.events_fd = openat(cgroup.fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (cgroup.events_fd < 0) {
		close_cgroup_fds(&cgroup);
		unlinkat(tree->dirfd, name.text, AT_REMOVEDIR);
		return false;
	}
	*out = cgroup;
	return true;
}

void cgroup_tree_open(struct cgroup_tree *tree, const char *mount)
{
	struct statfs fs;

	*tree = (struct cgroup_tree){.dirfd = -1, .next = 1};
	autoclose int top = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || fstatfs(top, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return;
	if (mkdirat(top, TREE_NAME, 0755) < 0 && errno != EEXIST)
		return;
	tree->dirfd = openat(top, TREE_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree->dirfd < 0)
		return;
	if (faccessat(tree->dirfd, "cgroup.kill", W_OK, 0) < 0) {
		/* The kernel cannot kill a cgroup before Linux 5.14. Then session_kill() is
		 * used. */
		close(steal_fd(&tree->dirfd));
		return;
	}
	/* If an earlier agent has exited during a save, the tree is still frozen. */
	write_digit(tree->dirfd, "cgroup.freeze", "0");
	cgroup_kill_all(tree);
	end_leftovers(tree);
	if (make_cgroup(tree, &tree->spares[0]))
		tree->nspares = 1;
}

void cgroup_tree_in(struct cgroup_tree *tree, int dirfd)
{
	*tree = (struct cgroup_tree){.dirfd = dirfd, .next = 1, .lent = true};
}

static void drop_spares(struct cgroup_tree *tree)
{
	while (tree->nspares > 0) {
		struct cgroup *spare = &tree->spares[--tree->nspares];

		unlinkat(tree->dirfd, cgroup_name(spare->name).text, AT_REMOVEDIR);
		close_cgroup_fds(spare);
	}
}

void cgroup_tree_close(struct cgroup_tree *tree)
{
	drop_spares(tree);
	if (tree->dirfd >= 0) {
		if (!tree->lent)
			unlinkat(tree->dirfd, "../" TREE_NAME,
				 AT_REMOVEDIR); /* unlinkat() fails if the cgroup is not empty */
		close(tree->dirfd);
	}
	free(tree->left);
	*tree = (struct cgroup_tree)CGROUP_TREE_NONE;
}

void cgroup_take(struct cgroup_tree *tree, struct cgroup *out)
{
	*out = (struct cgroup)CGROUP_NONE;
	if (tree->nspares > 0)
		*out = tree->spares[--tree->nspares];
	else if (tree->dirfd >= 0)
		make_cgroup(tree, out);
}

void cgroup_kill(struct cgroup *cgroup, pid_t session)
{
	cgroup->killed = true;
	if (cgroup->name && write_digit(cgroup->fd, "cgroup.kill", "1") == 0)
		return;
	session_kill(session);
}

void cgroup_kill_all(struct cgroup_tree *tree)
{
	if (tree->dirfd >= 0)
		write_digit(tree->dirfd, "cgroup.kill", "1");
	drop_spares(tree);
}

static void keep_for_later(struct cgroup_tree *tree, uint64_t number)
{
	if (tree->nleft == tree->left_room) {
		size_t room = tree->left_room ? tree->left_room * 2 : 16;
		uint64_t *grown = realloc(tree->left, room * sizeof(*grown));

		if (!grown)
			return; /* without memory, an empty cgroup stays, which does no harm */
		tree->left = grown;
		tree->left_room = room;
	}
	tree->left[tree->nleft++] = number;
}

/* Returns true if the file cgroup.events contains `line`. */
static bool has_event(int events_fd, const char *line)
{
	char text[128];
	ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, line) != NULL;
}

void cgroup_freeze(struct cgroup_tree *tree)
{
	uint64_t deadline = limit_deadline(LIMIT_STAND_STILL_MS);
	autoclose int events = -1;

	if (tree->dirfd < 0 || write_digit(tree->dirfd, "cgroup.freeze", "1") < 0)
		return;
	tree->frozen = true;
	events = openat(tree->dirfd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	while (events >= 0 && !has_event(events, "frozen 1")) {
		struct pollfd changed = {.fd = events, .events = POLLPRI};
		uint64_t now = clock_mono_ns();

		if (now >= deadline ||
		    poll(&changed, 1, (int)((deadline - now) / NS_PER_MS) + 1) == 0)
			return;
	}
}

void cgroup_thaw(struct cgroup_tree *tree)
{
	if (tree->frozen)
		write_digit(tree->dirfd, "cgroup.freeze", "0");
	tree->frozen = false;
}

void cgroup_release(struct cgroup_tree *tree, struct cgroup *cgroup)
{
	if (!cgroup->name)
		return;
	for (size_t i = 0; i < SWEEP && i < tree->nleft; i++) {
		size_t at = tree->left_turn++ % tree->nleft;

		if (unlinkat(tree->dirfd, cgroup_name(tree->left[at]).text, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			tree->left[at] = tree->left[--tree->nleft];
	}
	if (!cgroup->killed && tree->nspares < CGROUP_SPARES &&
	    has_event(cgroup->events_fd, "populated 0")) {
		tree->spares[tree->nspares++] = *cgroup;
		*cgroup = (struct cgroup)CGROUP_NONE;
		return;
	}
	if (unlinkat(tree->dirfd, cgroup_name(cgroup->name).text, AT_REMOVEDIR) < 0)
		keep_for_later(tree, cgroup->name);
	close_cgroup_fds(cgroup);
}
