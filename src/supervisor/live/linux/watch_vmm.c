/* SPDX-License-Identifier: MIT */
#include "supervisor/live/watch_vmm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/linux/process_directory.h"

#define CHILDREN_TEXT 4096

static bool knows_socket(const struct watch_vmm *watch, unsigned long long inode)
{
	for (size_t i = 0; i < watch->socket_count; i++)
		if (watch->sockets[i] == inode)
			return true;
	return false;
}

/* Notes a socket as known. Returns false if the socket was already known, or if there is no room
 * for more sockets. */
static bool note_socket(struct watch_vmm *watch, unsigned long long inode)
{
	if (knows_socket(watch, inode) || watch->socket_count == WATCH_VMM_SOCKETS)
		return false;
	watch->sockets[watch->socket_count++] = inode;
	return true;
}

static bool note_vmm_child(struct watch_vmm *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->child_count; i++)
		if (watch->children[i] == pid)
			return false;
	if (watch->child_count == WATCH_VMM_CHILDREN)
		return false;
	watch->children[watch->child_count++] = pid;
	return true;
}

static unsigned long long inode_of_fd(int dir, const char *name)
{
	static const char prefix[] = "socket:[";
	char target[64];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	if (n < 0)
		return 0;
	target[n] = '\0';
	return strncmp(target, prefix, sizeof(prefix) - 1) == 0
		       ? strtoull(target + sizeof(prefix) - 1, NULL, 10)
		       : 0;
}

/* Looks at the sockets of the VMM. Appends the sockets that are new and not expected to `found`. If
 * `found` is NULL, notes all sockets as known. */
static int look_at_sockets(struct watch_vmm *watch, int process, json_t *found, struct error *err)
{
	const struct dirent *entry;
	autodir DIR *dir = process_list(process, "fd");

	if (!dir)
		return error_errno(err, errno, "/proc/%d/fd", (int)watch->vmm.pid);
	while ((entry = readdir(dir))) {
		unsigned long long inode = inode_of_fd(dirfd(dir), entry->d_name);

		if (!inode || !note_socket(watch, inode) || !found)
			continue;
		if (watch->allowed > 0)
			watch->allowed--;
		else
			json_array_append_new(found, json_pack("{s:s, s:I}", "what", "socket",
							       "inode", (json_int_t)inode));
	}
	return 0;
}

static json_t *child_json(pid_t pid)
{
	char path[32], exe[PATH_MAX];
	json_t *child = json_pack("{s:s, s:I}", "what", "child", "pid", (json_int_t)pid);
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe));
	if (n > 0)
		json_object_set_new(child, "exe", json_string_lossy(exe, (size_t)n));
	return child;
}

/* Looks at the children of one thread of the VMM. Treats a thread that has exited like one without
 * children. */
static int look_at_thread(struct watch_vmm *watch, int tasks, const char *thread, json_t *found,
			  struct error *err)
{
	char path[64], text[CHILDREN_TEXT], *end;
	autoclose int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%.20s/children", thread);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : error_errno(err, errno, "%s", path);
	text[n] = '\0';
	for (char *at = text;; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			return 0;
		if (note_vmm_child(watch, (pid_t)pid) && found)
			json_array_append_new(found, child_json((pid_t)pid));
	}
}

static int look_at_children(struct watch_vmm *watch, int process, json_t *found, struct error *err)
{
	const struct dirent *entry;
	autodir DIR *dir = process_list(process, "task");

	if (!dir)
		return error_errno(err, errno, "/proc/%d/task", (int)watch->vmm.pid);
	while ((entry = readdir(dir)))
		if (*entry->d_name != '.' &&
		    look_at_thread(watch, dirfd(dir), entry->d_name, found, err) < 0)
			return -1;
	return 0;
}

/* --- by the broker --------------------------------------------------------------------------- */

struct vmm_question {
	bool expect; /* true: the request is for watch_vmm_expect(); false: for watch_vmm_look() */
	unsigned allowed;
};

/* Writes the answer: the number of sockets that are still expected, and the array `found` as JSON.
 * If the message has no room for all entries, drops the last entries: the remaining ones are enough
 * for an alarm. */
static void put_found(unsigned allowed, json_t *found, struct broker_message *out)
{
	const size_t room = BROKER_BYTES - sizeof(allowed);
	char *text = out->bytes + sizeof(allowed);
	size_t len = json_dumpb(found, text, room, JSON_COMPACT);

	while (len > room) {
		json_array_remove(found, json_array_size(found) - 1);
		len = json_dumpb(found, text, room, JSON_COMPACT);
	}
	memcpy(out->bytes, &allowed, sizeof(allowed));
	out->len = sizeof(allowed) + len;
}

static int serve_vmm(void *data, const struct broker_message *in, struct broker_message *out,
		     struct error *err)
{
	struct watch_vmm *watch = data;
	struct vmm_question question;
	json_auto_t *found = NULL;

	if (in->len != sizeof(question))
		return error_set(
			err, ERR_INVALID,
			"the broker refuses a question about the virtual machine monitor, because the question is malformed: this is a bug, or the live supervisor was taken over");
	memcpy(&question, in->bytes, sizeof(question));
	if (question.expect)
		return watch_vmm_expect(watch, &watch->vmm, err);
	watch->allowed = question.allowed;
	found = watch_vmm_look(watch, err);
	if (found)
		put_found(watch->allowed, found, out);
	return found ? 0 : -1;
}

const struct broker_duty watch_vmm_duty = {serve_vmm};

static int ask_vmm(bool expect, unsigned allowed, struct broker_message *out, struct error *err)
{
	struct broker_message in = {.len = sizeof(struct vmm_question)};
	const struct vmm_question question = {expect, allowed};

	memcpy(in.bytes, &question, sizeof(question));
	return broker_ask(&watch_vmm_duty, &in, out, err);
}

static json_t *ask_what_is_new(struct watch_vmm *watch, struct error *err)
{
	struct broker_message out;
	const size_t front = sizeof(watch->allowed);

	if (ask_vmm(false, watch->allowed, &out, err) < 0)
		return NULL;
	if (out.len < front) {
		error_set(
			err, ERR_INTERNAL,
			"the broker's answer about the virtual machine monitor is too short: this is a bug of microagent");
		return NULL;
	}
	memcpy(&watch->allowed, out.bytes, front);
	return json_load_strict(out.bytes + front, out.len - front, err);
}

/* --- in the process that may read the VMM's entries in /proc ---------------------------------- */

int watch_vmm_expect(struct watch_vmm *watch, const struct proc *vmm, struct error *err)
{
	struct watch_vmm now = {.vmm = *vmm, .own_sockets = watch->own_sockets};

	if (broker_is_asked()) {
		if (ask_vmm(true, 0, NULL, err) < 0)
			return -1;
		*watch = now;
		return 0;
	}
	autoclose int process = process_directory(vmm->pid, vmm->pidfd, err);
	if (process < 0 || look_at_sockets(&now, process, NULL, err) < 0 ||
	    look_at_children(&now, process, NULL, err) < 0)
		return -1;
	*watch = now;
	return 0;
}

json_t *watch_vmm_look(struct watch_vmm *watch, struct error *err)
{
	json_auto_t *found = NULL;

	if (broker_is_asked())
		return ask_what_is_new(watch, err);
	autoclose int process = process_directory(watch->vmm.pid, watch->vmm.pidfd, err);
	if (process < 0)
		return NULL;
	found = json_array();
	if ((!watch->own_sockets && look_at_sockets(watch, process, found, err) < 0) ||
	    look_at_children(watch, process, found, err) < 0)
		return NULL;
	return steal_ptr(&found);
}
