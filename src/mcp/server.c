/* SPDX-License-Identifier: MIT */
/* The thread that reads the client's messages, and the functions that end the server. */
#include "mcp/server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "api/egress.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "contract/request.h"
#include "mcp/line.h"
#include "mcp/tools.h"
#include "store/share/rules.h"

#define READ_BYTES 65536

/* Waits for input. Returns 1 if there is something to read, 0 if the server must end. */
static int wait_for_words(const struct mcp_server *server)
{
	struct pollfd slots[] = {{.fd = server->out.in, .events = POLLIN},
				 {.fd = server->out.ended, .events = POLLIN},
				 {.fd = server->out.fd}};

	while (poll(slots, ARRAY_SIZE(slots), -1) < 0)
		if (errno != EINTR)
			return 0;
	return !slots[1].revents && !(slots[2].revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* Handles the client's lines until the input ends, the client has hung up, or the server is told to
 * end. */
static void serve_lines(struct mcp_server *server)
{
	struct line_decoder lines = {.skipping = false};
	char bytes[READ_BYTES];
	struct error err = {0};
	enum line_got got;
	const char *line;
	size_t len;

	while (wait_for_words(server)) {
		ssize_t n = read(server->out.in, bytes, sizeof(bytes));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0 || line_feed(&lines, bytes, (size_t)n, &err) < 0)
			break;
		while ((got = line_next(&lines, &line, &len)) != LINE_NONE) {
			if (got == LINE_TOO_LONG)
				server_refuse_long(server);
			else if (strspn(line, " \t\r\n") < len) /* a blank line is not a message */
				server_take(server, line, len);
		}
	}
	line_decoder_free(&lines);
}

/* Checks the network options. A network that no machine could have, or a missing list file, is a
 * mistake of the person who started the server. So the person must learn of it before a model uses
 * the server. */
static int check_reach(const struct mcp_options *options, struct error *err)
{
	json_auto_t *network = json_pack("{s:s, s:[]}", "mode", "nat", "allow");
	json_auto_t *decoded = NULL;
	json_t *allow = json_object_get(network, "allow");

	if (!options->network || strcmp(options->network, "nat") != 0)
		return 0;
	for (const char *const *prefix = options->allow; prefix && *prefix; prefix++)
		if (json_array_append_new(allow, json_string(*prefix)) < 0)
			return error_errno(err, ENOMEM, "network");
	if (!network || egress_put(network, &options->egress, err) < 0)
		return -1;
	decoded = network_decode(network, err);
	return decoded ? 0 : -1;
}

static int open_server(struct mcp_server *server, struct error *err)
{
	/* The directory of --files must be opened without following a link. The client's settings
	 * have the path of this directory, and each new server opens the path again. Meanwhile a
	 * guest that may write to a parent directory could have put a link into the path. */
	const struct share_wish wish = {.path = server->options->files,
					.direct = true,
					.state_dir = server->options->state_dir,
					.anyway = server->options->files_anyway};

	if (check_reach(server->options, err) < 0)
		return -1;
	server->tools = tools_offered(server->options, err);
	if (!server->tools)
		goto failed;
	if (wish.path) {
		server->files = share_open_to_copy(&wish, err);
		if (server->files < 0) {
			error_prefix(err, "--files");
			goto failed;
		}
	}
	if (mcp_calls_init(&server->calls, err) < 0)
		goto failed;
	if (mcp_sessions_init(&server->sessions, server->options, err) < 0) {
		mcp_calls_free(&server->calls);
		goto failed;
	}
	mcp_kept_init(&server->kept);
	return 0;
failed:
	json_decref(server->tools);
	cleanup_close(&server->files);
	return -1;
}

int mcp_serve(const struct mcp_options *options, int in, int out, int ended, struct error *err)
{
	struct mcp_server *server = calloc(1, sizeof(*server));
	uint64_t deadline;
	bool calls_ended;

	if (!server)
		return error_errno(err, ENOMEM, "server");
	*server = (struct mcp_server){.options = options, .files = -1};
	out_init(&server->out, out, in, ended);
	if (open_server(server, err) < 0) {
		out_free(&server->out);
		free(server);
		return -1;
	}
	serve_lines(server);
	deadline = limit_deadline(LIMIT_MCP_END_MS);
	calls_ended = mcp_calls_end(&server->calls, limit_deadline(LIMIT_MCP_CALLS_END_MS));
	/* Threads that have not ended still use the server's memory, so nothing is freed. The
	 * process ends now, and all that it owns ends with it. */
	if (!mcp_sessions_end(&server->sessions, deadline) || !calls_ended)
		return 0;
	mcp_calls_free(&server->calls);
	mcp_kept_free(&server->kept);
	mcp_sessions_free(&server->sessions);
	json_decref(server->tools);
	cleanup_close(&server->files);
	out_free(&server->out);
	free(server);
	return 0;
}
