/* SPDX-License-Identifier: MIT */
/* Copies and lists files through a guest handle. These functions do what api/files.c does for a
 * running workspace, but have a time limit. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/explain.h"
#include "api/guest.h"
#include "api/transfer.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/waitable.h"

/* What can end a transfer: a cancel or a time limit. The descriptor `any` is readable when the
 * transfer must end. */
struct ending {
	int any, timer;
	uint32_t timeout_ms;
};

static int add_reason(struct ending *ending, int fd, struct error *err)
{
	if (fd >= 0 && any_fd_add(ending->any, fd) < 0)
		return error_errno(err, errno, "cancel");
	return 0;
}

static void ending_close(struct ending *ending)
{
	if (ending->timer >= 0)
		close(ending->timer);
	if (ending->any >= 0)
		close(ending->any);
}

static int set_timer(struct ending *ending, uint32_t timeout_ms, struct error *err)
{
	ending->timeout_ms = timeout_ms;
	if (timeout_ms == 0)
		return 0;
	ending->timer = timer_fd_open(timeout_ms);
	if (ending->timer < 0)
		return error_errno(err, errno, "timer");
	return add_reason(ending, ending->timer, err);
}

/* Opens an ending. `also` is one more descriptor, which ends the transfer when it is readable; 0:
 * there is none. */
static int ending_open(struct ending *ending, const struct microagent_run_limits *limits, int also,
		       struct error *err)
{
	*ending = (struct ending){.any = any_fd_open(), .timer = -1};
	if (ending->any < 0)
		return error_errno(err, errno, "cancel");
	if ((limits && (set_timer(ending, limits->timeout_ms, err) < 0 ||
			add_reason(ending, cancel_fd(limits->cancel), err) < 0)) ||
	    add_reason(ending, also > 0 ? also : -1, err) < 0) {
		ending_close(ending);
		return -1;
	}
	return 0;
}

/* Closes an ending, and returns `status`. If the time limit has ended the transfer, replaces the
 * error. */
static int guest_files_conclude(struct ending *ending, int status, struct error *err)
{
	bool late = status < 0 && ending->timer >= 0 && timer_fd_is_due(ending->timer);

	if (late)
		error_set(
			err, ERR_TIMEOUT,
			"the guest did not finish within %u ms: the guest does not answer, or needs a longer time limit",
			ending->timeout_ms);
	ending_close(ending);
	return status;
}

typedef int copy_fn(struct microagent *agent, const char *name, const char *from, const char *to,
		    const struct microagent_copy *options, struct error *err);

static int guest_files_copy(struct microagent_guest *guest, copy_fn *fn, const char *from,
			    const char *to, const struct microagent_copy *options,
			    const struct microagent_run_limits *limits, struct error *err)
{
	struct microagent agent = {.state_path = guest->existing.dir.path, .cancel = -1};
	struct microagent_copy mine = options ? *options : (struct microagent_copy){0};
	const struct workspace *ws = &guest->existing.ws;
	struct ending ending;

	if (explain_must_run(ws, err) < 0 || ending_open(&ending, limits, mine.cancel, err) < 0)
		return -1;
	mine.cancel = ending.any;
	return guest_files_conclude(&ending, fn(&agent, ws->id, from, to, &mine, err), err);
}

int microagent_guest_copy_out(struct microagent_guest *guest, const char *path,
			      const char *host_path, const struct microagent_copy *options,
			      const struct microagent_run_limits *limits, struct error *err)
{
	return guest_files_copy(guest, microagent_copy_out, path, host_path, options, limits, err);
}

int microagent_guest_copy_in(struct microagent_guest *guest, const char *host_path,
			     const char *path, const struct microagent_copy *options,
			     const struct microagent_run_limits *limits, struct error *err)
{
	return guest_files_copy(guest, microagent_copy_in, host_path, path, options, limits, err);
}

static json_t *guest_files_ask(struct microagent_guest *guest, const char *verb, const char *path,
			       const char *user, const struct microagent_run_limits *limits,
			       struct error *err)
{
	autofree char *clean = NULL;
	json_auto_t *entries = json_array();
	struct ending ending;
	int status;

	if (path[0] != '/') {
		error_set(err, ERR_INVALID,
			  "%.300s is not an absolute path: a path in a workspace begins with /",
			  path);
		return NULL;
	}
	clean = path_absolute(path, err);
	if (!clean || explain_must_run(&guest->existing.ws, err) < 0 ||
	    ending_open(&ending, limits, 0, err) < 0)
		return NULL;
	const struct microagent_copy options = {.cancel = ending.any};
	const struct transfer transfer = {&guest->existing.ws, user, "/", &options};

	status = transfer_listing(&transfer, verb, clean, entries, err);
	return guest_files_conclude(&ending, status, err) < 0 ? NULL : steal_ptr(&entries);
}

json_t *microagent_guest_list(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err)
{
	json_auto_t *entries = guest_files_ask(guest, "list", path, user, limits, err);

	return entries ? listing_sorted(entries, err) : NULL;
}

json_t *microagent_guest_stat(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err)
{
	json_auto_t *entries = guest_files_ask(guest, "stat", path, user, limits, err);

	return entries ? listing_only(entries, err) : NULL;
}
