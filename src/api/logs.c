/* SPDX-License-Identifier: MIT */
/*
 * Reads the serial log, and waits until it grows. A watch on the workspace's directory reports
 * three changes: serial.log has grown; event.json was replaced; or the last process has closed the
 * lease, so the machine has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/platform/dir_watch.h"

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
	autowatch int watch = dir_watch_open();
	struct open_workspace existing = {0};
	int added;

	if (watch < 0)
		return error_errno(err, errno, "watch");
	if (open_workspace_named(agent, name, &existing, err) < 0)
		return -1;
	added = dir_watch_add(watch, existing.ws.fd, ".",
			      DIR_WATCH_WRITTEN | DIR_WATCH_MADE | DIR_WATCH_MOVED_IN |
				      DIR_WATCH_GONE);
	if (added < 0)
		error_errno(err, errno, "watch of %s/%s", agent->state_path, name);
	open_workspace_close(&existing);
	return added < 0 ? -1 : steal_fd(&watch);
}

void microagent_log_unwatch(int watch)
{
	dir_watch_close(watch);
}

int microagent_log_wait(struct microagent *agent, const char *name, int watch, int out, int cancel,
			bool *running, struct error *err)
{
	/* `out` is in the list only to notice when nobody reads it any more (POLLERR, POLLHUP).
	 * Linux always reports POLLHUP, but other systems report POLLHUP only if it is in
	 * `events`. */
	struct pollfd slots[] = {{.fd = watch, .events = POLLIN},
				 {.fd = cancel, .events = POLLIN},
				 {.fd = out, .events = POLLHUP}};
	struct open_workspace existing = {0};
	struct error why = {0};

	while (poll(slots, ARRAY_SIZE(slots), -1) < 0) {
		if (errno != EINTR)
			return error_errno(err, errno, "poll");
	}
	if (slots[2].revents)
		return 1;
	/* The kind of change does not matter, because the calling function checks everything
	 * again. */
	(void)dir_watch_take(watch, NULL, NULL);
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
