/* SPDX-License-Identifier: MIT */
/*
 * The isolation of the daemon. When the isolation begins, all descriptors are open: the listeners,
 * the front-end's connection, epoll. From then on the daemon only moves bytes between descriptors
 * that it has or is given, and connects to the sockets of the listed ports. The stages take away
 * the rights to do anything else:
 *
 *   core dumps   RLIMIT_CORE is 0, since guest memory is mapped in this process.
 *   identity     The daemon becomes the user and group of --uid and --gid, if they are given.
 *   namespaces   The daemon gets new namespaces: user (not for root, who has the rights without
 *                it), mount, net, ipc, uts. A pid namespace is not needed: it would need a second
 *                process, and after the last stage no system call is allowed that reaches a process
 *                by its number.
 *   root         The root directory is an empty read-only tmpfs, in which only the sockets of the
 *                listed ports are bound. Each socket has its port number as its name. In the file
 *                system the daemon can then only connect to these sockets, for example by
 *                connect("1024").
 *   capabilities All sets are empty, also the bounding set; no_new_privs is set.
 *   TCP          Landlock forbids the daemon to connect a TCP socket, even a socket that another
 *                process has passed to the daemon, if the kernel's Landlock has rules for ports.
 *   system calls Only the system calls in seccomp.c are allowed.
 *
 * A container or a distribution may refuse namespaces. Then the daemon ends, unless --unconfined is
 * given. With --unconfined it reaches the sockets through descriptors that were opened before, and
 * has only the other stages. The daemon prints a line that says this.
 */
#include "vsockd/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate.h"
#include "base/platform/linux/userns.h"

#define PORT_NAME 11 /* the most bytes of a decimal port number with its NUL */

/* --- root ------------------------------------------------------------------------------------- */

/* Makes a mount of the socket at `path`. The mount is not attached to any directory yet. Returns
 * the descriptor of the mount, or -1 with an error. ERR_NOT_FOUND: `path` does not exist.
 * ERR_INVALID: the file at `path` is not a socket. */
static int detach_socket(const char *path, struct error *err)
{
	autoclose int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a socket, so no connection of the guest can be led there: name a socket on which a program listens",
			path);
	return steal_fd(&fd);
}

struct root {
	const struct isolate_config *config;
	const int *trees;
};

static int fill_root(void *data, struct error *err)
{
	const struct root *root = data;
	const struct isolate_config *c = root->config;

	for (unsigned i = 0; i < c->nports; i++) {
		char name[PORT_NAME];
		int fd;

		if (root->trees[i] < 0)
			continue;
		snprintf(name, sizeof(name), "%u", c->ports[i].port);
		fd = open(name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0400);
		if (fd < 0)
			return error_errno(err, errno, "place for the socket of port %s", name);
		close(fd);
		if (move_mount(root->trees[i], "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			return error_errno(err, errno, "mount the socket of port %s", name);
		memcpy(c->ports[i].path, name, sizeof(name));
	}
	return 0;
}

static int enter_root(const struct isolate_config *c, struct error *err)
{
	autofree int *trees = calloc(c->nports + 1, sizeof(*trees));
	struct root root = {.config = c, .trees = trees};
	int rc;

	if (!trees)
		return error_errno(err, errno, "memory");
	for (unsigned i = 0; i < c->nports; i++)
		trees[i] = detach_socket(c->targets[i], NULL);
	rc = isolate_root("microagent-vsockd", fill_root, &root, err);
	for (unsigned i = 0; i < c->nports; i++)
		if (trees[i] >= 0)
			close(trees[i]);
	for (unsigned i = 0; i < c->nports && rc < 0; i++)
		*c->ports[i].path = '\0';
	return rc;
}

/* --- all stages ------------------------------------------------------------------------------- */

/* Isolates the daemon after its change of identity, with the rights that it still has. held[i] is a
 * descriptor of the socket of port i; -1: there is no such socket. If no namespaces can be made,
 * the daemon keeps these descriptors, reaches the sockets through them, and sets held[i] to -1. */
static int isolate_as_user(const struct isolate_config *c, int *held, struct error *no_namespaces,
			   struct error *err)
{
	struct error why = {0};

	if (isolate_become(&c->identity, err) < 0)
		return -1;
	if (isolate_namespaces(true, &why) == 0 && enter_root(c, &why) == 0)
		return 0;
	userns_missing(&why, no_namespaces);
	if (!c->unconfined)
		return error_copy(err, no_namespaces);
	for (unsigned i = 0; i < c->nports; i++) {
		if (held[i] < 0)
			continue;
		snprintf(c->ports[i].path, sizeof(c->ports[i].path), "/proc/self/fd/%d", held[i]);
		held[i] = -1; /* -1, so that the caller does not close the descriptor */
	}
	return 0;
}

static int isolate_files(const struct isolate_config *c, struct error *no_namespaces,
			 struct error *err)
{
	autofree int *held = NULL;
	int rc;

	/* Root makes the namespaces before it changes its identity: the new user may not be allowed
	 * to enter the directory of the sockets. */
	if (geteuid() == 0 && isolate_namespaces(false, NULL) == 0 && enter_root(c, NULL) == 0)
		return isolate_become(&c->identity, err);
	held = calloc(c->nports + 1, sizeof(*held));
	if (!held)
		return error_errno(err, errno, "memory");
	/* The sockets are opened before the change of identity, since the new user may be allowed
	 * to connect to a socket but not to enter its directory. The path of a descriptor is also
	 * always short enough for connect(). held[i] is -1 if the socket does not exist. */
	for (unsigned i = 0; i < c->nports; i++)
		held[i] = open(c->targets[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
	rc = isolate_as_user(c, held, no_namespaces, err);
	for (unsigned i = 0; i < c->nports; i++)
		if (held[i] >= 0)
			close(held[i]);
	return rc;
}

int isolate(const struct isolate_config *config, struct error *no_namespaces, struct error *err)
{
	struct isolate_parent parent;

	isolate_keep_parent(&parent);
	*no_namespaces = (struct error){.code = ERR_NONE};
	if (isolate_core_dumps(err) < 0 || isolate_files(config, no_namespaces, err) < 0 ||
	    isolate_capabilities(err) < 0 || isolate_tcp(err) < 0)
		return -1;
	return isolate_restore_parent(&parent, err);
}
