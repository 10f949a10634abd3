/* SPDX-License-Identifier: MIT */
/*
 * The control stream (docs/agent-protocol.md), with the messages hello, config, ready, power and
 * ending. The agent mounts the shared directories of the config. The agent does not set the clock
 * or configure the network, since macOS does both. The agent refuses a config with a workload, a
 * disk or a published port: instead of sending ready, the agent prints the reason on stderr and
 * closes the stream.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "guest-macos/mac_agent.h"
#include "guest-macos/mac_system.h"

struct mac_control {
	int fd;
	struct buf in, out;
	bool configured;
};

static void control_say(struct mac_control *c, json_t *message)
{
	json_auto_t *owned = message;
	autofree char *text = owned ? json_line(owned, NULL) : NULL;

	if (!text || frame_append(&c->out, text, strlen(text), NULL) < 0)
		fprintf(stderr, "microagent-macos-agent: no memory for the control stream\n");
}

static void end_control(struct mac_control *c)
{
	close(c->fd);
	c->fd = -1;
}

struct mac_control *mac_control_new(int fd, const char *boot_id)
{
	struct mac_control *c = calloc(1, sizeof(*c));

	if (!c) {
		close(fd);
		return NULL;
	}
	c->fd = fd;
	control_say(c, json_pack("{s:s, s:i, s:{s:i, s:i}, s:s, s:s, s:i}", "type", "hello",
				 "format", 1, "protocol", "min", 1, "max", 1, "version",
				 MICROAGENT_VERSION, "bootId", boot_id, "generation", 0));
	return c;
}

void mac_control_free(struct mac_control *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		end_control(c);
	buf_free(&c->in);
	buf_free(&c->out);
	free(c);
}

int mac_control_fd(const struct mac_control *c)
{
	return c->fd;
}

short mac_control_events(const struct mac_control *c)
{
	return (short)(POLLIN | (c->out.len ? POLLOUT : 0));
}

/* --- what it is told ------------------------------------------------------------------------- */

static void run_words(const char *const *words)
{
	execvp(words[0], (char *const *)(uintptr_t)words);
	_exit(127);
}

/* Runs a program. Returns the program's exit code, or -1 if the program could not be run. */
static int run_program(const char *const *words)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		run_words(words);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int mount_directory(json_t *share, struct error *err)
{
	const char *tag = NULL, *where = NULL, *mode = "rw", *words[8];

	if (json_get_string(share, "share", "tag", JSON_REQUIRED, &tag, err) < 0 ||
	    json_get_string(share, "share", "mountpoint", JSON_REQUIRED, &where, err) < 0 ||
	    json_get_string(share, "share", "mode", JSON_OPTIONAL, &mode, err) < 0)
		return -1;
	if (mkdir(where, 0755) < 0 && errno != EEXIST)
		return error_errno(err, errno, "%s", where);
	mac_system_mount_words(tag, where, strcmp(mode, "ro") == 0, words);
	if (run_program(words) != 0)
		return error_set(
			err, ERR_IO,
			"the guest's program %s cannot mount the share \"%.64s\" on %s",
			words[0], tag, where);
	return 0;
}

static int mac_apply_config(json_t *doc, struct error *err)
{
	json_t *shares = NULL, *disks = NULL, *publishes = NULL, *share;
	int64_t format = 0;
	size_t i;

	if (json_get_int(doc, "", "format", JSON_REQUIRED, 1, 1, &format, err) < 0 ||
	    json_get_array(doc, "", "shares", JSON_OPTIONAL, &shares, err) < 0 ||
	    json_get_array(doc, "", "disks", JSON_OPTIONAL, &disks, err) < 0 ||
	    json_get_array(doc, "", "publishes", JSON_OPTIONAL, &publishes, err) < 0)
		return -1;
	if (json_array_size(disks) > 0 || json_array_size(publishes) > 0 ||
	    json_object_get(doc, "command"))
		return error_set(
			err, ERR_UNSUPPORTED,
			"a macOS guest can have no disks, no published ports and no command in its config: leave them out");
	json_array_foreach(shares, i, share)
	{
		if (mount_directory(share, err) < 0)
			return -1;
	}
	return 0;
}

static void on_config(struct mac_control *c, json_t *doc)
{
	struct error err = {0};

	if (c->configured)
		return;
	c->configured = true;
	if (mac_apply_config(doc, &err) < 0) {
		fprintf(stderr, "microagent-macos-agent: config: %s\n", err.msg);
		end_control(c);
		return;
	}
	control_say(c, json_pack("{s:s, s:i}", "type", "ready", "format", 1));
}

/* Runs the command that switches the machine off. The command exits at once, and the machine ends
 * shortly after that. */
static void on_power(struct mac_control *c)
{
	pid_t pid;

	control_say(c, json_pack("{s:s, s:i}", "type", "ending", "format", 1));
	pid = fork();
	if (pid == 0)
		run_words(mac_system_power_off);
	if (pid < 0)
		fprintf(stderr, "microagent-macos-agent: fork: %s\n", strerror(errno));
}

/* Handles one message. Returns 0 if the stream continues, -1 if the stream must end. */
static int mac_take_message(struct mac_control *c, const uint8_t *payload, size_t len,
			    struct error *err)
{
	json_auto_t *doc = json_load_strict(payload, len, err);
	const char *type = NULL;

	if (!doc || json_get_string(doc, "", "type", JSON_REQUIRED, &type, err) < 0)
		return -1;
	if (strcmp(type, "config") == 0)
		on_config(c, doc);
	else if (strcmp(type, "power") == 0)
		on_power(c);
	return 0;
}

static int take_messages(struct mac_control *c, struct error *err)
{
	const uint8_t *payload;
	size_t len;
	int found = 0;

	while (c->fd >= 0 && (found = frame_peek(&c->in, FRAME_MAX, &payload, &len, err)) > 0) {
		if (mac_take_message(c, payload, len, err) < 0)
			return -1;
		buf_consume(&c->in, FRAME_HEADER + len);
	}
	return found < 0 ? -1 : 0;
}

static int move_bytes(struct mac_control *c, short events, struct error *err)
{
	uint8_t *room;
	ssize_t n;

	if (events & (POLLIN | POLLHUP | POLLERR)) {
		room = buf_reserve(&c->in, 4096, err);
		n = room ? recv(c->fd, room, 4096, 0) : -1;
		if (!room || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return error_set(err, ERR_IO, "it has ended");
		if (n > 0)
			buf_commit(&c->in, (size_t)n);
	}
	return 0;
}

/* Reads from the stream and writes to it, as far as `events` allow. If the stream ends, the agent
 * still runs, since only the host decides when the machine ends. */
void mac_control_turn(struct mac_control *c, short events)
{
	struct error err = {0};

	if (c->fd < 0)
		return;
	if (move_bytes(c, events, &err) < 0 || take_messages(c, &err) < 0) {
		fprintf(stderr, "microagent-macos-agent: control stream: %s\n", err.msg);
		end_control(c);
	}
	while (c->fd >= 0 && c->out.len > 0) {
		ssize_t n = send(c->fd, buf_bytes(&c->out), c->out.len, 0);

		if (n <= 0)
			break;
		buf_consume(&c->out, (size_t)n);
	}
}
