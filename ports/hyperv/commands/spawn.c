/* SPDX-License-Identifier: MIT */
#include "hyperv/commands/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

struct spawn {
	HANDLE report_read, report_write, nothing, log;
};

static void close_spawn(struct spawn *spawn)
{
	handle_close(&spawn->report_read);
	handle_close(&spawn->report_write);
	handle_close(&spawn->nothing);
	handle_close(&spawn->log);
}

static int open_spawn(struct spawn *spawn, const struct store *store, struct error *err)
{
	SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
	autofree char *path = store_path(store, "supervisor.log", err);
	autofree wchar_t *wide = path ? text_wide_path(path, err) : NULL;

	if (!wide)
		return -1;
	if (!CreatePipe(&spawn->report_read, &spawn->report_write, &inherited, 0) ||
	    !SetHandleInformation(spawn->report_read, HANDLE_FLAG_INHERIT, 0))
		return windows_error(err, GetLastError(), "pipe");
	spawn->nothing =
		CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE,
			    FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);
	spawn->log = CreateFileW(wide, FILE_APPEND_DATA,
				 FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited,
				 OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
	if (spawn->nothing == INVALID_HANDLE_VALUE || spawn->log == INVALID_HANDLE_VALUE)
		return windows_error(err, GetLastError(), "supervisor.log");
	return 0;
}

/* Adds an argument in quotes. A Windows path or a checked name contains no quote. A backslash at
 * the end is doubled, since it would escape the closing quote. */
static int put_argument(struct buf *line, const char *text, struct error *err)
{
	size_t len = strlen(text);

	return buf_printf(line, err, " \"%s%s\"", text,
			  len > 0 && text[len - 1] == '\\' ? "\\" : "");
}

static wchar_t *keeper_command_line(const struct spawn *spawn, const char *state_dir,
				    const char *id, struct error *err)
{
	autobuf struct buf line = BUF_INIT(0);
	autofree char *text = NULL;

	if (buf_printf(&line, err, "microagent-hyperv-supervisor " KEEPER_OPTION "%llu",
		       (unsigned long long)(uintptr_t)spawn->report_write) < 0 ||
	    put_argument(&line, state_dir, err) < 0 || put_argument(&line, id, err) < 0)
		return NULL;
	text = buf_steal_string(&line, err);
	return text ? text_wide(text, err) : NULL;
}

static wchar_t *own_path(struct error *err)
{
	const DWORD most = 32768; /* the largest length of a path on Windows, in characters */
	wchar_t *path = malloc(most * sizeof(*path));
	DWORD n = path ? GetModuleFileNameW(NULL, path, most) : 0;

	if (n > 0 && n < most)
		return path;
	free(path);
	windows_error(err, GetLastError(), "the path of this program");
	return NULL;
}

static BOOL create_process(const wchar_t *program, wchar_t *line, STARTUPINFOEXW *startup,
			   DWORD flags, PROCESS_INFORMATION *made)
{
	return CreateProcessW(program, line, NULL, NULL, TRUE, flags | EXTENDED_STARTUPINFO_PRESENT,
			      NULL, NULL, &startup->StartupInfo, made);
}

/* Starts the process outside of the job object of this process, if the job object allows that. In
 * the job object, the new process would be killed together with it. */
static int start_process(const struct spawn *spawn, wchar_t *line,
			 LPPROC_THREAD_ATTRIBUTE_LIST list, struct error *err)
{
	const DWORD apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
	STARTUPINFOEXW startup = {
		.StartupInfo = {.cb = sizeof(startup),
				.dwFlags = STARTF_USESTDHANDLES,
				.hStdInput = spawn->nothing,
				.hStdOutput = spawn->nothing,
				.hStdError = spawn->log},
		.lpAttributeList = list,
	};
	PROCESS_INFORMATION made;
	autofree wchar_t *program = own_path(err);

	if (!program)
		return -1;
	if (!create_process(program, line, &startup, apart | CREATE_BREAKAWAY_FROM_JOB, &made) &&
	    !create_process(program, line, &startup, apart, &made))
		return windows_error(err, GetLastError(), "start the live supervisor");
	CloseHandle(made.hThread);
	CloseHandle(made.hProcess);
	return 0;
}

static int start_inheriting(struct spawn *spawn, wchar_t *line, struct error *err)
{
	HANDLE inherited[] = {spawn->report_write, spawn->nothing, spawn->log};
	SIZE_T size = 0;
	LPPROC_THREAD_ATTRIBUTE_LIST list;
	int status = -1;

	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	list = malloc(size);
	if (!list)
		return error_errno(err, ENOMEM, "memory");
	if (!InitializeProcThreadAttributeList(list, 1, 0, &size)) {
		free(list);
		return windows_error(err, GetLastError(), "process attributes");
	}
	if (UpdateProcThreadAttribute(list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited,
				      sizeof(inherited), NULL, NULL))
		status = start_process(spawn, line, list, err);
	else
		windows_error(err, GetLastError(), "process attributes");
	DeleteProcThreadAttributeList(list);
	free(list);
	return status;
}

HANDLE spawn_keeper(const struct store *store, const char *state_dir, const char *id,
		    struct error *err)
{
	__attribute__((cleanup(close_spawn))) struct spawn spawn = {0};
	autofree wchar_t *line = NULL;
	HANDLE report;

	if (open_spawn(&spawn, store, err) < 0)
		return INVALID_HANDLE_VALUE;
	line = keeper_command_line(&spawn, state_dir, id, err);
	if (!line || start_inheriting(&spawn, line, err) < 0)
		return INVALID_HANDLE_VALUE;
	report = spawn.report_read;
	spawn.report_read = NULL;
	return report;
}
