/* SPDX-License-Identifier: MIT */
/* Handles the events that the VM reports to the live supervisor: output of its serial console, the
 * end of a companion, and its own end. live_pause.c handles a disk without room. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

static void on_vm_serial(void *data, const uint8_t *bytes, size_t len)
{
	struct live *live = data;

	live_kernel_began(live, "it writes on the serial console");
	serial_log_write(&live->serial, bytes, len);
	last_words_add(&live->words, bytes, len);
	console_output(live->console, bytes, len);
}

static void on_console_room(void *data)
{
	struct live *live = data;

	console_room(live->console);
}

static size_t console_input(void *data, const uint8_t *bytes, size_t len)
{
	struct live *live = data;

	return live->vm && live->backend->console ? live->backend->console(live->vm, bytes, len)
						  : len;
}

int live_console_begin(struct live *live, const struct config *config, struct error *err)
{
	const char *mode = config->console_shell ? "interactive" : "raw";
	bool has_console = live->backend->console != NULL;
	int fd;

	if (json_put_string(live->runtime, "consoleMode", has_console ? mode : "none", err) < 0)
		return -1;
	if (!has_console)
		return 0;
	fd = sock_listen_at(live->ws.fd, CONSOLE_SOCK_NAME, err);
	if (fd < 0)
		return -1;
	live->console = console_new(live->loop, fd, console_input, live, &live->log, err);
	return live->console ? 0 : -1;
}

static void on_companion_lost(void *data, const char *name, int code, const char *said, bool fatal)
{
	struct live *live = data;
	struct error cause = {0};
	char how[32], text[320];

	snprintf(how, sizeof(how), code > 128 ? "died by signal %d" : "ended with code %d",
		 code > 128 ? code - 128 : code);
	snprintf(text, sizeof(text), "%.64s %s%s%.180s", name, how, *said ? ": " : "", said);
	if (!fatal)
		live_remark(live, text);
	else
		log_line(&live->log, "%s", text);
	if (live->over)
		return;
	live_observe_companion(live, text);
	if (!fatal)
		return;
	/* live_fail() is not used here, since it would append the last lines of the guest's serial
	 * console. The last line of the companion is more useful, since the guest does not know the
	 * companion. */
	if (*said == '\0') {
		live_fail(live, ERR_IO, text);
		return;
	}
	error_set(&cause, code == EX_TEMPFAIL ? ERR_UNAVAILABLE : ERR_IO, "%s", text);
	live_end(live, INTENT_FAILED, &cause);
}

/* Writes a connection of the guest to the log, so that a person can find it later. */
static void on_vm_connection(void *data, const char *line)
{
	struct live *live = data;

	log_line(&live->log, "network: %s", line);
	live_observe_connection(live, line);
}

static void on_vm_kernel_began(void *data)
{
	live_kernel_began(data, "it drives the vsock device");
}

static void on_vm_streams(void *data, bool any)
{
	live_term_streams(data, any);
}

/* Returns true if the guest has ended in order. In quarantine the guest's agent has no connection
 * by which it could report its end. So the last lines of the serial console are read. */
static bool has_ended_in_order(const struct live *live)
{
	return live->guest_ending ||
	       (live->outcome.quarantined && last_words_tell_order(&live->words));
}

static void on_vm_ended(void *data, enum vm_end end, const char *detail)
{
	const struct live *live = data;

	if (end == VM_END_RESET && live->backend->powers_off_by_reset && has_ended_in_order(live)) {
		end = VM_END_POWERED_OFF;
		detail = "";
	}
	live_over(data, end, detail);
}

const struct vm_events live_vm_events = {
	.serial = on_vm_serial,
	.disk_full = live_disk_full,
	.ended = on_vm_ended,
	.companion_lost = on_companion_lost,
	.connection = on_vm_connection,
	.kernel_began = on_vm_kernel_began,
	.streams = on_vm_streams,
	.severed = live_severed,
	.cut_off = live_prove_quarantine,
	.console_room = on_console_room,
};
