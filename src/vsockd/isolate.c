/* SPDX-License-Identifier: MIT */
/*
 * Theory of isolation. When isolation begins, everything is open: the listeners, the front-end's
 * connection, epoll. From then on the daemon only moves bytes between descriptors that it has or is
 * given, and connects to the sockets of the listed ports. The stages take everything else away:
 *
 *   core dumps   RLIMIT_CORE 0: guest memory is mapped here.
 *   identity     --uid and --gid, if root was asked to change.
 *   namespaces   user (unless the rights are there without), mount, net, ipc, uts. No pid
 *                namespace: it would need a second process, and the system calls that reach a
 *                process by its number are gone after the last stage.
 *   root         an empty read-only tmpfs, in which only the sockets of the listed ports are bound,
 *                each named by its port number. Only connect("1024") is left of the file system.
 *   capabilities all sets empty, also the bounding set; no_new_privs.
 *   TCP          Landlock, if the kernel has it for ports: no socket that comes from elsewhere
 *                is connected again.
 *   system calls seccomp.c.
 *
 * A container or a distribution may refuse namespaces. Then the daemon ends. With --unconfined it
 * goes on: descriptors that were opened before reach the sockets, and the other stages hold alone,
 * as main() says.
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

#define PORT_NAME 11 /* a decimal port and NUL */

/* --- root ------------------------------------------------------------------------------------- */

/* Makes a mount of the socket at path that is attached nowhere yet. Returns its descriptor; -1 with
 * ERR_NOT_FOUND if there is no socket. */
static int detach_socket(const char *path, struct error *err)
{
	autoclose int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a socket", path);
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

/* --- all of it -------------------------------------------------------------------------------- */

/* Isolates the daemon with its own rights. held has a descriptor of each socket, which is used if
 * there are no namespaces. */
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
		held[i] = -1; /* the descriptor stays open */
	}
	return 0;
}

static int isolate_files(const struct isolate_config *c, struct error *no_namespaces,
			 struct error *err)
{
	autofree int *held = NULL;
	int rc;

	/* For root the namespaces come before the rights are given up: only the owner may enter the
	 * sockets' directory. */
	if (geteuid() == 0 && isolate_namespaces(false, NULL) == 0 && enter_root(c, NULL) == 0)
		return isolate_become(&c->identity, err);
	held = calloc(c->nports + 1, sizeof(*held));
	if (!held)
		return error_errno(err, errno, "memory");
	/* Opened before the change of identity: the new user may reach the socket, but not its
	 * name. A descriptor also has no limit of length. -1: there is no socket. */
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
