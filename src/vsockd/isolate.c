/* SPDX-License-Identifier: MIT */
/*
 * Theory of isolation. By the time it begins everything is open: the listeners, the front-end's
 * connection, epoll. What the daemon does from then on is move bytes between descriptors that it
 * has or is given, and connect to the sockets of the listed ports. The stages take the rest away:
 *
 *   core dumps   RLIMIT_CORE 0: guest memory is mapped here.
 *   identity     --uid and --gid, where root was asked to change.
 *   namespaces   user (unless the rights are there without), mount, net, ipc, uts. No pid namespace:
 *                it would take a second process, and the system calls that reach a process by its
 *                number are gone after the last stage.
 *   root         an empty read-only tmpfs, in which only the sockets of the listed ports are bound,
 *                each named by its port number. connect("1024") is what is left of the file system.
 *   capabilities all sets empty, also the bounding set; no_new_privs.
 *   system calls seccomp.c.
 *
 * A container or a distribution may refuse namespaces. Then the sockets are reached by descriptors
 * taken beforehand and the other stages hold alone; main() says so.
 */
#include "vsockd/isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
#define PORT_NAME 11 /* a decimal port and NUL */

static int forbid_core_dumps(struct error *err)
{
	static const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return error_errno(err, errno, "forbid core dumps");
	return 0;
}

static int change_identity(const struct isolate_config *c, struct error *err)
{
	gid_t gid = c->set_gid ? c->gid : getgid();
	uid_t uid = c->set_uid ? c->uid : getuid();

	if (!c->set_uid && !c->set_gid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return error_errno(err, errno, "become user %u, group %u", (unsigned)uid,
				   (unsigned)gid);
	return 0;
}

/* --- namespaces ------------------------------------------------------------------------------- */

static int write_proc(const char *path, const char *text, struct error *err)
{
	autoclose int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return error_errno(err, errno, "%s", path);
	return 0;
}

/* Inside the new user namespace we are who we were, and nobody else exists. */
static int map_ids(uid_t uid, gid_t gid, struct error *err)
{
	char map[64];

	if (write_proc("/proc/self/setgroups", "deny", err) < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (write_proc("/proc/self/uid_map", map, err) < 0)
		return -1;
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return write_proc("/proc/self/gid_map", map, err);
}

static int enter_user_namespace(struct error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | NAMESPACES) < 0)
		return error_errno(err, errno, "unshare");
	return map_ids(uid, gid, err);
}

/* --- root ------------------------------------------------------------------------------------- */

/* A mount of its own of the socket at path, attached nowhere yet. -1 with ERR_NOT_FOUND when there
 * is no socket. */
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

/* Mounts that tmpfs over some directory which every system has, and goes there. What was below is
 * still there for others: the mount namespace is ours alone. */
static int enter_empty_directory(struct error *err)
{
	static const char *const places[] = {"/tmp", "/run", "/mnt", "/var"};
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return error_errno(err, errno, "separate the mounts");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (mount("microagent-vsockd", places[i], "tmpfs", flags, "mode=0755,size=64k") ==
		    0)
			return chdir(places[i]) < 0 ? error_errno(err, errno, "%s", places[i]) : 0;
	return error_errno(err, errno, "mount an empty root");
}

static int attach_socket(int tree, struct host_port *port, struct error *err)
{
	char name[PORT_NAME];
	int fd;

	snprintf(name, sizeof(name), "%u", port->port);
	fd = open(name, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0400);
	if (fd < 0)
		return error_errno(err, errno, "place for the socket of port %s", name);
	close(fd);
	if (move_mount(tree, "", AT_FDCWD, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return error_errno(err, errno, "mount the socket of port %s", name);
	memcpy(port->path, name, sizeof(name));
	return 0;
}

static int make_it_root(struct error *err)
{
	const unsigned long flags =
		MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	/* Both at ".": the old root is then on top of the new one, and is taken off. */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return error_errno(err, errno, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return error_errno(err, errno, "leave the old root");
	if (mount(NULL, "/", NULL, flags, NULL) < 0)
		return error_errno(err, errno, "make the root read-only");
	return 0;
}

static void forget_paths(const struct isolate_config *c)
{
	for (unsigned i = 0; i < c->nports; i++)
		*c->ports[i].path = '\0';
}

static int fill_root(const struct isolate_config *c, const int *trees, struct error *err)
{
	for (unsigned i = 0; i < c->nports; i++)
		if (trees[i] >= 0 && attach_socket(trees[i], &c->ports[i], err) < 0)
			return -1;
	return make_it_root(err);
}

static int build_root(const struct isolate_config *c, int *trees, struct error *err)
{
	for (unsigned i = 0; i < c->nports; i++)
		trees[i] = detach_socket(c->targets[i], NULL);
	if (enter_empty_directory(err) < 0)
		return -1;
	if (fill_root(c, trees, err) == 0)
		return 0;
	/* Going on without: what the tmpfs hides is needed again. */
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -1;
	return -1;
}

static int enter_root(const struct isolate_config *c, struct error *err)
{
	autofree int *trees = calloc(c->nports + 1, sizeof(*trees));
	int rc;

	if (!trees)
		return error_errno(err, errno, "memory");
	for (unsigned i = 0; i < c->nports; i++)
		trees[i] = -1;
	rc = build_root(c, trees, err);
	for (unsigned i = 0; i < c->nports; i++)
		if (trees[i] >= 0)
			close(trees[i]);
	if (rc < 0)
		forget_paths(c);
	return rc;
}

/* --- without namespaces ----------------------------------------------------------------------- */

/*
 * A descriptor of each socket, taken before the change of identity: the directory is its owner's
 * alone, and the user that we become may reach the socket but not its name. It also knows no limit
 * of length. -1: there is no socket.
 */
static void hold_sockets(const struct isolate_config *c, int *held)
{
	for (unsigned i = 0; i < c->nports; i++)
		held[i] = open(c->targets[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static void name_sockets(const struct isolate_config *c, int *held)
{
	for (unsigned i = 0; i < c->nports; i++) {
		if (held[i] < 0)
			continue;
		snprintf(c->ports[i].path, sizeof(c->ports[i].path), "/proc/self/fd/%d", held[i]);
		held[i] = -1; /* stays open */
	}
}

static void release_sockets(const struct isolate_config *c, const int *held)
{
	for (unsigned i = 0; i < c->nports; i++)
		if (held[i] >= 0)
			close(held[i]);
}

/* --- capabilities ----------------------------------------------------------------------------- */

static int drop_capabilities(struct error *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	/* Until the kernel knows no higher one. Without the right to do so there is no set to fear:
	 * no_new_privs keeps it from ever being used. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (syscall(SYS_capset, &header, none) < 0)
		return error_errno(err, errno, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, errno, "no_new_privs");
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* As root the namespaces need no user namespace, and come before the rights go. */
static int isolate_as_root(const struct isolate_config *c, struct error *err)
{
	if (geteuid() != 0)
		return error_set(err, ERR_DENIED, "not root");
	if (unshare(NAMESPACES) < 0)
		return error_errno(err, errno, "unshare");
	return enter_root(c, err);
}

static int isolate_as_user(const struct isolate_config *c, int *held, struct error *no_namespaces,
			   struct error *err)
{
	struct error why = {0};

	if (change_identity(c, err) < 0)
		return -1;
	if (enter_user_namespace(&why) == 0 && enter_root(c, &why) == 0)
		return 0;
	*no_namespaces = why;
	name_sockets(c, held);
	return 0;
}

static int isolate_files(const struct isolate_config *c, struct error *no_namespaces,
			 struct error *err)
{
	autofree int *held = NULL;
	int rc;

	if (isolate_as_root(c, NULL) == 0)
		return change_identity(c, err);
	held = calloc(c->nports + 1, sizeof(*held));
	if (!held)
		return error_errno(err, errno, "memory");
	hold_sockets(c, held);
	rc = isolate_as_user(c, held, no_namespaces, err);
	release_sockets(c, held);
	return rc;
}

/* Changes of identity and namespace may have cleared the signal that ends us with our parent. */
static int restore_parent_signal(int signal, pid_t parent, struct error *err)
{
	if (!signal)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0)
		return error_errno(err, errno, "end with the parent");
	if (getppid() != parent)
		return error_set(err, ERR_CONFLICT, "the parent has ended");
	return 0;
}

int isolate(const struct isolate_config *config, struct error *no_namespaces, struct error *err)
{
	pid_t parent = getppid();
	int signal = 0;

	if (prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0) < 0)
		signal = 0;
	*no_namespaces = (struct error){.code = ERR_NONE};
	if (forbid_core_dumps(err) < 0 || isolate_files(config, no_namespaces, err) < 0 ||
	    drop_capabilities(err) < 0)
		return -1;
	return restore_parent_signal(signal, parent, err);
}
