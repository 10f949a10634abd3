/* SPDX-License-Identifier: MIT */
/*
 * The serial log, and waiting for more of it. One inotify watch on the workspace's directory tells
 * of everything that matters: serial.log grows, event.json is replaced, and the lease is closed for
 * writing by its last holder, which is the end of the machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/cleanup.h"

#define LOG "serial.log"

int microagent_log_open(struct microagent *agent, const char *name, struct error *err)
{
	struct open_workspace existing = {0};
	int fd;

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	fd = openat(existing.ws.fd, LOG, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		error_errno(err, errno, "%s/%s/" LOG, agent->state_path, name);
	open_workspace_close(&existing);
	return fd;
}

int microagent_log_watch(struct microagent *agent, const char *name, struct error *err)
{
	autoclose int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct open_workspace existing = {0};
	char path[64];
	int added;

	if (watch < 0)
		return error_errno(err, errno, "inotify");
	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/.", existing.ws.fd);
	added = inotify_add_watch(watch, path,
				  IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE |
					  IN_DELETE_SELF | IN_ONLYDIR);
	if (added < 0)
		error_errno(err, errno, "inotify on %s/%s", agent->state_path, name);
	open_workspace_close(&existing);
	return added < 0 ? -1 : steal_fd(&watch);
}

/* What exactly happened does not matter: the caller looks again. */
static void logs_drain(int watch)
{
	char events[4096];

	while (read(watch, events, sizeof(events)) > 0)
		;
}

int microagent_log_wait(struct microagent *agent, const char *name, int watch, int out, int cancel,
			bool *running, struct error *err)
{
	/* Nothing is asked of `out`: POLLERR and POLLHUP come unasked, when its reader has gone. */
	struct pollfd slots[] = {{.fd = watch, .events = POLLIN},
				 {.fd = cancel, .events = POLLIN},
				 {.fd = out, .events = 0}};
	struct open_workspace existing = {0};
	struct error why = {0};

	while (poll(slots, ARRAY_SIZE(slots), -1) < 0) {
		if (errno != EINTR)
			return error_errno(err, errno, "poll");
	}
	if (slots[2].revents)
		return 1;
	logs_drain(watch);
	if (open_workspace_named(agent, name, &existing, &why) < 0) {
		if (why.code == ERR_NOT_FOUND) {
			*running = false;
			return 0;
		}
		return error_copy(err, &why);
	}
	*running = lease_is_held(&existing.ws);
	open_workspace_close(&existing);
	return 0;
}

int microagent_is_running(struct microagent *agent, const char *name, bool *running,
			  struct error *err)
{
	struct open_workspace existing = {0};

	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	*running = lease_is_held(&existing.ws);
	open_workspace_close(&existing);
	return 0;
}
