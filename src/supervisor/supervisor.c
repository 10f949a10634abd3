/* SPDX-License-Identifier: MIT */
#include "supervisor/supervisor.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/program.h"
#include "channel/hasher.h"
#include "channel/supervisor.h"
#include "contract/kind.h"
#include "supervisor/capabilities.h"
#include "supervisor/commands/record.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/live/live.h"
#include "supervisor/macos_job.h"

static command_fn *const command_functions[COMMAND_COUNT] = {
	[COMMAND_HOST] = cmd_host,
	[COMMAND_CHECK] = cmd_check,
	[COMMAND_PREPARE] = cmd_prepare,
	[COMMAND_RUN] = cmd_start,
	[COMMAND_START] = cmd_start,
	[COMMAND_CONSOLE] = cmd_console,
	[COMMAND_INSPECT] = cmd_inspect,
	[COMMAND_HALT] = cmd_stop,
	[COMMAND_QUARANTINE] = cmd_quarantine,
	[COMMAND_STOP] = cmd_stop,
	[COMMAND_KILL] = cmd_stop,
	[COMMAND_DELETE] = cmd_delete,
};
static_assert(ARRAY_SIZE(command_functions) == COMMAND_COUNT, "a place for every command");

static int refuse_options(const struct options *options, enum command command, struct error *err)
{
	if (options->full && command != COMMAND_INSPECT)
		return error_set(err, ERR_INVALID, "--full works only with the command inspect");
	if (options->lifeline_fd >= 0 && command != COMMAND_RUN && command != COMMAND_START)
		return error_set(
			err, ERR_INVALID,
			"--lifeline-fd works only with the commands run and start, and the command is %s",
			command_table[command].name);
	if (options->recorded && command != COMMAND_PREPARE && command != COMMAND_START &&
	    command != COMMAND_CONSOLE)
		return error_set(
			err, ERR_INVALID,
			"--recorded works only with the commands prepare, start and console, and the command is %s",
			command_table[command].name);
	if (options->keep_quarantined && command != COMMAND_HALT && command != COMMAND_STOP &&
	    command != COMMAND_KILL && command != COMMAND_DELETE)
		return error_set(
			err, ERR_INVALID,
			"--keep-quarantined works only with the commands halt, stop, kill and delete, and the command is %s",
			command_table[command].name);
	if (options->keep_reviews && command != COMMAND_PREPARE)
		return error_set(
			err, ERR_INVALID,
			"--keep-reviews works only with the command prepare, and the command is %s",
			command_table[command].name);
	if (command == COMMAND_RUN)
		return 0;
	const struct {
		const char *name;
		bool given;
	} of_run[] = {
		{"--attach", options->attach},
		{"--remove", options->remove},
		{"--reader", options->reader},
		{"--writer", options->writer},
		{"--events-fd", options->events_fd >= 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_run); i++)
		if (of_run[i].given)
			return error_set(
				err, ERR_INVALID,
				"%s works only with the command run, and the command is %s",
				of_run[i].name, command_table[command].name);
	return 0;
}

/* Puts the recorded config into the request. The config is decoded as a record and not as a
 * request, so that a record of an older version still starts. */
static int take_recorded(const struct call *call, const struct host_bounds *bounds,
			 struct request *request, struct error *err)
{
	__attribute__((cleanup(manifest_free))) struct manifest manifest = {0};
	struct record record = RECORD_NONE;
	int status = record_open(&record, call, false, err);

	if (status == 0 && record.ws.fd < 0) {
		status = error_set(err, ERR_NOT_FOUND,
				   "the workspace does not exist: prepare it first");
		error_reason(err, REASON_NO_WORKSPACE, "");
	}
	if (status == 0)
		status = manifest_read_accepted(&record.ws, &manifest, err);
	record_close(&record);
	return status < 0 ? -1 : request_take_recorded(request, &manifest.config, bounds, err);
}

static const char *program_of(const struct backend *backend)
{
	static char program[SUPERVISOR_PROGRAM];

	supervisor_program(backend->name, program);
	return program;
}

static int print_document(const json_t *document, struct error *err)
{
	autofree char *line = json_line(document, err);

	if (!line || fd_write_all(STDOUT_FILENO, line, strlen(line), err) < 0)
		return -1;
	return fd_write_all(STDOUT_FILENO, "\n", 1, err);
}

/* Writes the answer to stdout. If the command has failed, also writes the error's message to
 * stderr. Returns the exit code. */
static int answer_caller(const struct backend *backend, enum command command,
			 const struct response *response, int status, const struct error *failure)
{
	json_auto_t *document = NULL;
	struct error err = {0};

	document = status == 0 ? response_build(command, response)
			       : response_failure(backend->name, response->event, failure);
	if (!document) {
		error_set(
			&err, ERR_INTERNAL,
			"the supervisor could not make its answer: this is a bug of microagent, or memory is short");
		document = response_failure(backend->name, NULL, &err);
	}
	if (!document || print_document(document, &err) < 0) {
		fprintf(stderr, "%s: %s\n", program_of(backend), err.msg);
		return 1;
	}
	if (status != 0)
		fprintf(stderr, "%s: %s\n", program_of(backend), failure->msg);
	if (err.code)
		return 1;
	return status == 0 ? 0 : response_exit_code(failure);
}

/* Returns the recorded event of the workspace, to be added to an answer with an error. Does not
 * repair a stale record. Returns NULL if no event is recorded. */
static json_t *recorded_event(const struct call *call)
{
	struct record record = RECORD_NONE;
	struct error ignored;
	json_t *event = NULL;

	if (record_open(&record, call, false, &ignored) == 0 && record_load(&record, &ignored) == 0)
		event = json_incref(record.event);
	record_close(&record);
	return event;
}

/* Sets the subject of an error that has none. Functions that are called deeper do not know the
 * workspace's name, so an error without a subject is about the workspace. Leaves out the suffix of
 * a session's directory. */
static void name_subject(struct error *err, const char *id)
{
	char name[sizeof(err->subject)];

	if (err->reason == REASON_NONE || *err->subject || !id)
		return;
	snprintf(name, sizeof(name), "%.*s",
		 (int)(kind_is_session(id) ? kind_name_length(id) : strlen(id)), id);
	error_reason(err, err->reason, name);
}

static int serve_request(const struct backend *backend, const struct options *options)
{
	const struct host_bounds bounds = host_bounds();
	struct request request = {0};
	struct response response = {.backend = backend->name};
	struct call call = {backend, options, &request, clock_mono_ns()};
	struct error err = {0};
	struct buf document = BUF_INIT(limit_get(LIMIT_REQUEST_BYTES));
	int status, code;

	/* The end of the lifeline cancels the hashing, which takes most of the time until there is
	 * a machine. */
	digest_cancel_by(options->lifeline_fd);
	/* fd_read_to_end() refuses a document that is longer than the limit, without reading the
	 * whole document. */
	if (fd_read_to_end(STDIN_FILENO, &document, &err) < 0)
		status = error_prefix(&err, "request");
	else if (document.len == 0)
		status = error_set(&err, ERR_INVALID,
				   "the request is empty: write one JSON object to stdin");
	else
		status = request_decode(buf_bytes(&document), document.len, backend->name,
					options->recorded, &bounds, &request, &err);
	buf_free(&document);
	if (status == 0)
		status = architecture_check_host(&err);
	if (status == 0)
		status = refuse_options(options, request.command, &err);
	if (status == 0 && options->recorded)
		status = take_recorded(&call, &bounds, &request, &err);
	if (status == 0)
		status = command_functions[request.command](&call, &response, &err);
	if (status < 0)
		name_subject(&err, request.identity.runtime_id);
	if (status < 0 && !response.event && request.identity.runtime_id)
		response.event = recorded_event(&call);
	code = answer_caller(backend, request.command, &response, status, &err);
	response_free(&response);
	request_free(&request);
	return code;
}

static int show_capabilities(const struct backend *backend)
{
	bool built[COMMAND_COUNT];
	struct error err = {0};

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		built[i] = command_functions[i] != NULL;

	json_auto_t *document = capabilities_json(backend, built, &err);

	if (document && print_document(document, &err) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", program_of(backend), err.msg);
	return 1;
}

int supervisor_main(const struct backend *backend, int argc, char **argv)
{
	struct options options;
	struct error err = {0};
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	bool mute = flags < 0 || (flags & O_ACCMODE) == O_RDONLY;

	/* Sets two rules for the whole process. All files that it creates are accessible only to
	 * this user. A write to a pipe or socket without a reader fails with an error and does not
	 * kill the process. */
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	/* Makes a write beyond the limit of `ulimit -f` fail with EFBIG. Otherwise the write would
	 * kill the process. */
	signal(SIGXFSZ, SIG_IGN);
	if (fd_fill_standard(&err) < 0 || program_clean_path(&err) < 0 ||
	    options_parse(argc, argv, &options, &err) < 0) {
		struct response none = {.backend = backend->name};

		return answer_caller(backend, COMMAND_HOST, &none, -1, &err);
	}
	if (options.live)
		return live_main(backend, argv[0], options.live);
	/* If stdout cannot be written, the caller would not learn that the command was done, and
	 * would repeat it. So nothing is done. The live supervisor, which writes no answer, was
	 * started above. */
	if (mute) {
		fprintf(stderr,
			"%s: stdout is closed or not writable, but the answer must go there; nothing was done\n",
			program_of(backend));
		return 1;
	}
	if (options.capabilities)
		return show_capabilities(backend);
	if (options.macos)
		return macos_job_main(backend);
	if (options.help) {
		options_help(program_of(backend));
		return fflush(stdout) == 0 ? 0 : 1;
	}
	if (options.version)
		return puts("microagent " MICROAGENT_VERSION) >= 0 && fflush(stdout) == 0 ? 0 : 1;
	return serve_request(backend, &options);
}
