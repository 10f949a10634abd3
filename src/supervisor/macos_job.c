/* SPDX-License-Identifier: MIT */
/*
 * A job is one line of JSON on stdin:
 *
 *   {"job":"install","restoreImage":P,"directory":P,"diskBytes":N,"memoryMiB":N?,"cpuCount":N?}
 *   {"job":"identify","directory":P}
 *   {"job":"latest"}
 *
 * The answer is lines of JSON on stdout. The last line has the form of every answer of a supervisor
 * ({"ok":...}). Before the last line, the job "install" prints one line about the restore image,
 * {"event":"image",...}, and a line {"event":"progress","percent":N} each time that N has changed.
 * The job "latest" prints {"event":"latest","url":U}.
 *
 * The program exits when its caller closes the pipe that is its stdin. Otherwise the machine of an
 * installation, which takes many minutes, would go on after its caller has exited.
 */
#include "supervisor/macos_job.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "contract/macos.h"
#include "contract/response.h"

#define JOB_BYTES (64u << 10)

static int print_job_line(json_t *document)
{
	json_auto_t *owned = document;
	autofree char *line = owned ? json_line(owned, NULL) : NULL;

	if (!line || fd_write_all(STDOUT_FILENO, line, strlen(line), NULL) < 0)
		return -1;
	return fd_write_all(STDOUT_FILENO, "\n", 1, NULL);
}

static int read_job(struct buf *line, struct error *err)
{
	uint8_t byte = 0;

	while (byte != '\n') {
		ssize_t n = read(STDIN_FILENO, &byte, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "the job");
		if (n == 0)
			return error_set(
				err, ERR_INVALID,
				"stdin ended before the end of the job: give the job as one whole line of JSON");
		if (buf_append(line, &byte, 1, err) < 0)
			return error_prefix(err, "the job");
	}
	return 0;
}

/* Waits for the end of stdin and then exits. The exit also ends the machine of an installation,
 * which runs in this process or in one that exits with this process. */
static void *end_with_caller(void *nothing)
{
	uint8_t byte;
	ssize_t n;

	(void)nothing;
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	_exit(1);
}

static int watch_caller(struct error *err)
{
	pthread_t thread;
	int failed = pthread_create(&thread, NULL, end_with_caller, NULL);

	return failed ? error_errno(err, failed, "thread") : pthread_detach(thread);
}

/* --- progress --------------------------------------------------------------------------------- */

static void on_macos_told(void *data, const struct macos_image *image, int percent)
{
	int *last = data;

	if (image) {
		(void)print_job_line(json_pack(
			"{s:s,s:o,s:o,s:I,s:I}", "event", "image", "version",
			json_string_lossy(image->version, strlen(image->version)), "build",
			json_string_lossy(image->build, strlen(image->build)), "memoryMiB",
			(json_int_t)image->memory_mib, "cpuCount", (json_int_t)image->cpus));
		return;
	}
	if (percent == *last)
		return;
	*last = percent;
	(void)print_job_line(json_pack("{s:s,s:i}", "event", "progress", "percent", percent));
}

/* --- the jobs --------------------------------------------------------------------------------- */

static int get_path(const json_t *job, const char *key, const char **out, struct error *err)
{
	if (json_get_string(job, "job", key, JSON_REQUIRED, out, err) < 0)
		return -1;
	return **out == '/' ? 0
			    : error_set(err, ERR_INVALID, "job.%s must be an absolute path", key);
}

static int do_install(const struct backend *backend, const json_t *job, struct error *err)
{
	static const char *const keys[] = {"job",	"restoreImage", "directory", "diskBytes",
					   "memoryMiB", "cpuCount",	NULL};
	struct macos_install install = {0};
	int64_t bytes = 0;
	int last = -1;

	if (json_only_keys(job, "job", keys, err) < 0 ||
	    get_path(job, "restoreImage", &install.restore_image, err) < 0 ||
	    get_path(job, "directory", &install.directory, err) < 0 ||
	    json_get_int(job, "job", "diskBytes", JSON_REQUIRED, 1 << 20, INT64_MAX, &bytes, err) <
		    0 ||
	    json_get_int(job, "job", "memoryMiB", JSON_OPTIONAL, 1, INT32_MAX, &install.memory_mib,
			 err) < 0 ||
	    json_get_int(job, "job", "cpuCount", JSON_OPTIONAL, 1, INT32_MAX, &install.cpus, err) <
		    0)
		return -1;
	install.disk_bytes = (uint64_t)bytes;
	if (watch_caller(err) < 0)
		return -1;
	return backend->macos->install(&install, on_macos_told, &last, err);
}

static int do_identify(const struct backend *backend, const json_t *job, struct error *err)
{
	static const char *const keys[] = {"job", "directory", NULL};
	const char *directory = NULL;

	if (json_only_keys(job, "job", keys, err) < 0 ||
	    get_path(job, "directory", &directory, err) < 0 || watch_caller(err) < 0)
		return -1;
	return backend->macos->identify(directory, err);
}

static int do_latest(const struct backend *backend, const json_t *job, struct error *err)
{
	static const char *const keys[] = {"job", NULL};
	char url[MACOS_URL_SIZE];

	if (json_only_keys(job, "job", keys, err) < 0 || watch_caller(err) < 0 ||
	    backend->macos->latest(url, err) < 0)
		return -1;
	return print_job_line(json_pack("{s:s,s:o}", "event", "latest", "url",
					json_string_lossy(url, strlen(url))));
}

static int do_job(const struct backend *backend, struct error *err)
{
	autobuf struct buf line = BUF_INIT(JOB_BYTES);
	json_auto_t *job = NULL;
	const char *what = NULL;

	if (!backend->macos)
		return error_set(
			err, ERR_UNSUPPORTED,
			"backend %s has no macOS guests: only Apple's Virtualization.framework has them",
			backend->name);
	if (read_job(&line, err) < 0)
		return -1;
	job = json_load_strict(buf_bytes(&line), line.len, err);
	if (!job || json_get_string(job, "job", "job", JSON_REQUIRED, &what, err) < 0)
		return error_prefix(err, "the job");
	if (!strcmp(what, MACOS_JOB_INSTALL))
		return do_install(backend, job, err);
	if (!strcmp(what, MACOS_JOB_IDENTIFY))
		return do_identify(backend, job, err);
	if (!strcmp(what, MACOS_JOB_LATEST))
		return do_latest(backend, job, err);
	return error_set(
		err, ERR_INVALID,
		"the supervisor does not know the job \"%.64s\": this is a bug, or the program that asked is of another version of microagent",
		what);
}

int macos_job_main(const struct backend *backend)
{
	struct error err = {0};

	if (do_job(backend, &err) == 0)
		return print_job_line(json_pack("{s:b,s:s}", "ok", 1, "backend", backend->name)) <
		       0;
	fprintf(stderr, "microagent-%s-supervisor: %s\n", backend->name, err.msg);
	(void)print_job_line(response_failure(backend->name, NULL, &err));
	return response_exit_code(&err);
}
