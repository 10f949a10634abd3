/* SPDX-License-Identifier: MIT */
/*
 * microagent-hyperv-supervisor: Linux machines on Windows, by the Host Compute System (HCS).
 *
 * This is a separate program, and does not use the struct of backend.h. That struct is for
 * supervisors whose process model Windows does not have: file descriptors that are passed on, a
 * lease that is a FIFO, Unix sockets, a cell, an epoll loop. This program shares other code with
 * those supervisors: src/contract, the code of src/base without system calls, the lists of refused
 * requests, the messages of the control stream, and the code that decides what a result and an end
 * mean. docs/hyperv.md lists each function and field of HCS that this program uses.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>

#include <windows.h>

#include <shellapi.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "hyperv/commands/commands.h"
#include "hyperv/commands/spawn.h"
#include "hyperv/keeper/keeper.h"
#include "hyperv/machine/refused.h"
#include "hyperv/store/record.h"
#include "supervisor/refusals.h"

#define PROGRAM "microagent-hyperv-supervisor"

static hyperv_command_fn *const hyperv_commands[COMMAND_COUNT] = {
	[COMMAND_HOST] = hyperv_host,	    [COMMAND_CHECK] = hyperv_check,
	[COMMAND_PREPARE] = hyperv_prepare, [COMMAND_RUN] = hyperv_start,
	[COMMAND_START] = hyperv_start,	    [COMMAND_INSPECT] = hyperv_inspect,
	[COMMAND_HALT] = hyperv_stop,	    [COMMAND_STOP] = hyperv_stop,
	[COMMAND_KILL] = hyperv_stop,	    [COMMAND_DELETE] = hyperv_delete,
};

static int read_whole_stdin(struct buf *out, struct error *err)
{
	for (;;) {
		uint8_t *room = buf_reserve(out, 65536, err);
		size_t n = room ? fread(room, 1, 65536, stdin) : 0;

		if (!room)
			return error_prefix(err, "request");
		if (n == 0)
			return ferror(stdin) ? error_set(err, ERR_IO, "request: stdin") : 0;
		buf_commit(out, n);
	}
}

static int read_hyperv_request(struct request *out, struct error *err)
{
	struct host_bounds bounds = host_bounds();
	autobuf struct buf document = BUF_INIT(limit_get(LIMIT_REQUEST_BYTES) + 65536);

	bounds.isolated_only = true;
	if (read_whole_stdin(&document, err) < 0)
		return -1;
	return request_decode(buf_bytes(&document), document.len, HYPERV_BACKEND, false, &bounds,
			      out, err);
}

static int run_hyperv_command(const struct request *request, struct response *response,
			      struct error *err)
{
	const char *refused = hyperv_refuses_command(request->command);

	if (refused)
		return error_set(err, ERR_UNSUPPORTED, "%s: %s",
				 command_table[request->command].name, refused);
	return hyperv_commands[request->command](request, response, err);
}

/* Returns the recorded event of the workspace, for the answer of a command that has failed. The
 * caller releases the result. */
static json_t *event_of(const struct request *request)
{
	struct record record;
	struct error ignored;
	json_t *event;

	if (!request->identity.runtime_id || record_begin(&record, request, false, &ignored) < 0)
		return NULL;
	event = json_incref(record.event);
	record_end(&record);
	return event;
}

static int print_answer(const json_t *document)
{
	autofree char *line = json_line(document, NULL);

	return line && puts(line) >= 0 && fflush(stdout) == 0 ? 0 : -1;
}

static int answer(const struct request *request, struct response *response, int status,
		  const struct error *failure)
{
	json_auto_t *document =
		status == 0 ? response_build(request->command, response)
			    : response_failure(HYPERV_BACKEND, response->event, failure);

	if (status != 0)
		fprintf(stderr, PROGRAM ": %s\n", failure->msg);
	if (!document || print_answer(document) < 0) {
		fprintf(stderr, PROGRAM ": the answer could not be written\n");
		return 1;
	}
	return status == 0 ? 0 : response_exit_code(failure);
}

static int serve_hyperv_request(void)
{
	struct request request = {0};
	struct response response = {.backend = HYPERV_BACKEND};
	struct error err = {0};
	int status = read_hyperv_request(&request, &err);

	if (status == 0)
		status = run_hyperv_command(&request, &response, &err);
	if (status < 0 && err.reason != REASON_NONE && !*err.subject && request.identity.runtime_id)
		error_reason(&err, err.reason, request.identity.runtime_id);
	if (status < 0 && !response.event)
		response.event = event_of(&request);
	status = answer(&request, &response, status, &err);
	response_free(&response);
	request_free(&request);
	return status;
}

static int show_hyperv_capabilities(void)
{
	bool built[COMMAND_COUNT];
	struct error err = {0};

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		built[i] = hyperv_commands[i] != NULL;
	json_auto_t *document = refusals_capabilities(HYPERV_BACKEND, hyperv_refusals, built, &err);
	return document && print_answer(document) == 0 ? 0 : 1;
}

static int show_usage(void)
{
	puts("usage: " PROGRAM " [OPTION] < REQUEST\n\n"
	     "Reads one JSON request from stdin, acts on it, and writes one JSON answer to\n"
	     "stdout. Diagnostics go to stderr. Exit code 0: the answer says ok; 75: trying\n"
	     "again may help; 1: otherwise.\n\n"
	     "  --print-capabilities  print what this backend does, and read no request\n"
	     "  --help                show this text\n"
	     "  --version             show the version");
	return fflush(stdout) == 0 ? 0 : 1;
}

static int refuse_option(const char *option)
{
	struct response response = {.backend = HYPERV_BACKEND};
	const struct request request = {.command = COMMAND_HOST};
	struct error err = {0};

	error_set(&err, ERR_INVALID, "unknown option \"%.100s\"", option);
	return answer(&request, &response, -1, &err);
}

static int act_by_options(int argc, char **argv)
{
	size_t keeper = strlen(KEEPER_OPTION);

	if (argc == 4 && strncmp(argv[1], KEEPER_OPTION, keeper) == 0)
		return keeper_main(argv[1] + keeper, argv[2], argv[3]);
	if (argc == 1)
		return serve_hyperv_request();
	if (argc == 2 && strcmp(argv[1], "--print-capabilities") == 0)
		return show_hyperv_capabilities();
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return show_usage();
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("microagent " MICROAGENT_VERSION) >= 0 && fflush(stdout) == 0 ? 0 : 1;
	return refuse_option(argv[1]);
}

/* Gets the command line from Windows as UTF-16, because the arguments of main() are in the code
 * page of the console, which does not have all characters. */
int main(void)
{
	int argc = 0;
	wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &argc);
	char *argv[5] = {NULL};
	struct error err = {0};

	_setmode(_fileno(stdin), _O_BINARY);
	_setmode(_fileno(stdout), _O_BINARY);
	_setmode(_fileno(stderr), _O_BINARY);
	for (int i = 0; wide && i < argc && i < 4; i++) {
		argv[i] = text_narrow(wide[i], &err);
		if (!argv[i])
			return 1;
	}
	return act_by_options(wide ? argc : 1, argv);
}
