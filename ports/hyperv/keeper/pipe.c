/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/pipe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "hyperv/windows/rights.h"

/* How many commands one live supervisor serves at the same time. Further commands have to wait. */
#define PIPE_INSTANCES 8
#define PIPE_BUFFER 16

static wchar_t *pipe_name(const char *system_id, struct error *err)
{
	char name[96];

	snprintf(name, sizeof(name), "\\\\.\\pipe\\microagent-%s", system_id);
	return text_wide(name, err);
}

struct pipe_server {
	HANDLE pipe;
	pipe_said_fn *said;
	void *data;
};

/* Serves one client after another. Reads the bytes of a client until the client closes the pipe. */
static DWORD WINAPI serve_clients(void *context)
{
	struct pipe_server *server = context;

	for (;;) {
		char word;
		DWORD n;

		if (!ConnectNamedPipe(server->pipe, NULL) &&
		    GetLastError() != ERROR_PIPE_CONNECTED) {
			if (GetLastError() != ERROR_NO_DATA)
				return 0;
		}
		while (ReadFile(server->pipe, &word, 1, &n, NULL) && n == 1)
			if (word == PIPE_HALT || word == PIPE_STOP || word == PIPE_KILL)
				server->said(server->data, (enum pipe_word)word);
		DisconnectNamedPipe(server->pipe);
	}
}

static int serve_instance(const wchar_t *name, bool first, pipe_said_fn *said, void *data,
			  struct error *err)
{
	struct pipe_server *server = malloc(sizeof(*server));
	HANDLE thread;

	if (!server)
		return error_errno(err, ENOMEM, "memory");
	server->said = said;
	server->data = data;
	server->pipe = rights_pipe(name, first, PIPE_INSTANCES, PIPE_BUFFER,
				   "the pipe of the live supervisor", err);
	if (server->pipe == INVALID_HANDLE_VALUE) {
		free(server);
		return -1;
	}
	thread = CreateThread(NULL, 0, serve_clients, server, 0, NULL);
	if (!thread)
		return windows_error(err, GetLastError(), "thread");
	CloseHandle(thread);
	return 0;
}

int pipe_serve(const char *system_id, pipe_said_fn *said, void *data, struct error *err)
{
	autofree wchar_t *name = pipe_name(system_id, err);

	if (!name)
		return -1;
	for (int i = 0; i < PIPE_INSTANCES; i++)
		if (serve_instance(name, i == 0, said, data, err) < 0)
			return -1;
	return 0;
}

bool pipe_is_there(const char *system_id)
{
	autofree wchar_t *name = pipe_name(system_id, NULL);

	return name && (WaitNamedPipeW(name, 1) || GetLastError() != ERROR_FILE_NOT_FOUND);
}

/* Connects to the pipe of a live supervisor. After the live supervisor has died, another program
 * can create a pipe with the same name. Because of SECURITY_ANONYMOUS, that program cannot use the
 * rights of an administrator who connects to its pipe ("Impersonation Levels", learn.microsoft.com,
 * windows/win32/secauthz). */
HANDLE pipe_connect(const char *system_id, struct error *err)
{
	autofree wchar_t *name = pipe_name(system_id, err);
	HANDLE pipe = INVALID_HANDLE_VALUE;

	while (name) {
		pipe = CreateFileW(
			name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
			FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, NULL);
		if (pipe != INVALID_HANDLE_VALUE)
			return pipe;
		DWORD code = GetLastError();
		/* The pipe exists, but all its instances are in use, or an instance is not ready
		 * for the next client yet. */
		if (code == ERROR_PIPE_BUSY &&
		    WaitNamedPipeW(name, (DWORD)limit_get(LIMIT_CONTROL_REQUEST_MS)))
			continue;
		windows_error(err, code, "the pipe of the live supervisor");
		break;
	}
	return INVALID_HANDLE_VALUE;
}

int pipe_say(HANDLE pipe, enum pipe_word word, struct error *err)
{
	autohandle HANDLE done = CreateEventW(NULL, TRUE, FALSE, NULL);
	OVERLAPPED io = {.hEvent = done};
	const char byte = (char)word;
	DWORD n = 0;

	if (!WriteFile(pipe, &byte, 1, NULL, &io) && GetLastError() != ERROR_IO_PENDING)
		return windows_error(err, GetLastError(), "the pipe of the live supervisor");
	if (!GetOverlappedResult(pipe, &io, &n, TRUE))
		return windows_error(err, GetLastError(), "the pipe of the live supervisor");
	return 0;
}

/* Waits until the live supervisor has exited. Reads from the pipe for this purpose. The live
 * supervisor writes nothing, so the read returns only when the pipe breaks. */
int pipe_wait_end(HANDLE pipe, DWORD timeout_ms, struct error *err)
{
	autohandle HANDLE done = CreateEventW(NULL, TRUE, FALSE, NULL);
	OVERLAPPED io = {.hEvent = done};
	char byte;
	DWORD n;

	if (ReadFile(pipe, &byte, 1, NULL, &io) || GetLastError() != ERROR_IO_PENDING)
		return 0;
	if (WaitForSingleObject(done, timeout_ms) == WAIT_OBJECT_0)
		return 0;
	CancelIo(pipe);
	(void)GetOverlappedResult(pipe, &io, &n, TRUE);
	return error_set(err, ERR_TIMEOUT, "the live supervisor has not ended in time: try again");
}

int pipe_kill_keeper(HANDLE pipe, struct error *err)
{
	ULONG id = 0;
	autohandle HANDLE keeper = NULL;

	if (GetNamedPipeServerProcessId(pipe, &id))
		keeper = OpenProcess(PROCESS_TERMINATE, FALSE, id);
	if (!keeper || !TerminateProcess(keeper, 1))
		return windows_error(err, GetLastError(), "end the live supervisor");
	return 0;
}
