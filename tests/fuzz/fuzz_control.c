/* SPDX-License-Identifier: MIT */
/*
 * What a hostile guest may send on the control stream. The bytes go through a real socket pair into
 * the stream's own loop. A result goes on into the document of result.json.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "supervisor/live/control_stream.h"
#include "supervisor/live/result.h"
#include "supervisor/live/telemetry_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
	int readies, results, losses;
	bool asked; /* asks the guest to get ready to be saved */
	bool settles;
	struct control_stream *stream;
};

static void on_hello(void *data, const struct control_hello *hello)
{
	(void)data;
	if (!hello->version || !hello->boot_id || hello->generation < 0)
		abort();
}

static void on_ready(void *data)
{
	struct told *told = data;

	told->readies++;
	told->asked = control_stream_quiesce(told->stream, false, NULL) == 0;
	told->settles = control_stream_settle(told->stream, NULL) == 0;
}

static int on_result(void *data, const json_t *message, struct error *err)
{
	struct told *told = data;
	json_auto_t *identity = json_object();
	int code = -1;
	json_auto_t *result = result_from_message(message, identity, "qemu", "/r", &code, err);

	if (!told->readies || told->results++)
		abort(); /* it came out of turn, or twice */
	if (result && (code < 0 || code > 255))
		abort();
	return result ? 0 : -1;
}

static int on_said(void *data, enum control_type type, const json_t *message, struct error *err)
{
	json_auto_t *facts = NULL;
	bool whole;

	if (!((struct told *)data)->readies)
		abort();
	if (type == CONTROL_TELEMETRY)
		return telemetry_check(message, err);
	if (type == CONTROL_TELEMETRY_STATUS)
		facts = telemetry_read_status(message, &whole, err);
	else if (type == CONTROL_EXEC_LOST)
		facts = control_read_lost(message, err);
	else
		facts = control_read_exec(message, type, err);
	return facts ? 0 : -1;
}

static void on_mounted(void *data, const char *why)
{
	(void)data;
	(void)why;
	abort(); /* nobody has asked for it */
}

static void on_listening(void *data, const struct control_listening *listening)
{
	(void)data;
	if (port_set_has(&listening->ports, 0) ||
	    (!listening->told && port_set_count(&listening->ports) > 0))
		abort();
}

/* The answer comes once for each time that it was asked for. */
static void on_quiesced(void *data, const char *why)
{
	struct told *told = data;

	(void)why;
	if (!told->asked)
		abort();
	told->asked = false;
}

static void on_settled(void *data, const char *why)
{
	struct told *told = data;

	(void)why;
	if (!told->settles)
		abort();
	told->settles = false;
}

static void on_lost(void *data, bool broken, const char *why)
{
	(void)broken;
	if (!why || ((struct told *)data)->losses++)
		abort();
}

/* The directory of the listening socket, made once and removed at the end. */
static char base[] = "/tmp/microagent-fuzz-XXXXXX";

static void remove_directory(void)
{
	(void)path_remove_tree_at(AT_FDCWD, base, NULL);
}

static int directory(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	if (!mkdtemp(base) || atexit(remove_directory) != 0)
		abort();
	fd = path_open_dir(base, NULL);
	return fd;
}

static void settle_down(struct loop *loop)
{
	struct error err;

	while (loop_once(loop, 0, &err) > 0)
		;
}

static void feed(struct loop *loop, int guest, const uint8_t *data, size_t size)
{
	size_t piece = (size_t)data[0] * 16 + 1;

	data++;
	size--;
	while (size > 0) {
		size_t n = piece < size ? piece : size;

		if (send(guest, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		settle_down(loop);
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct told told = {0};
	const struct control_stream_events events = {.hello = on_hello,
						     .ready = on_ready,
						     .result = on_result,
						     .listening = on_listening,
						     .said = on_said,
						     .mounted = on_mounted,
						     .quiesced = on_quiesced,
						     .settled = on_settled,
						     .lost = on_lost,
						     .data = &told};
	json_auto_t *config = json_pack("{s:s}", "type", "config");
	struct error err;
	struct log log;
	struct loop *loop;
	struct control_stream *stream;
	int guest;

	if (size < 1)
		return 0;
	log_init(&log, -1, 0);
	unlinkat(directory(), "s", 0);
	loop = loop_new(&err);
	stream = control_stream_new(loop, sock_listen_at(directory(), "s", &err), config, true,
				    &events, &log, &err);
	told.stream = stream;
	guest = sock_connect_at(directory(), "s", &err);
	if (!stream || guest < 0)
		abort();
	settle_down(loop);
	feed(loop, guest, data, size);
	control_stream_push_time(stream);
	control_stream_power_off(stream);
	shutdown(guest, SHUT_WR);
	settle_down(loop);
	close(guest);
	settle_down(loop);
	if (told.losses != 1)
		abort();
	control_stream_free(stream);
	loop_free(loop);
	return 0;
}
