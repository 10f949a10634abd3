/* SPDX-License-Identifier: MIT */
/*
 * The program hcs-worker PORT TOKEN PIPE, which emulates one COM port of a machine. Opens the named
 * pipe PIPE if it exists, and creates it otherwise. Sends the result to the broker at the TCP port
 * PORT, and copies bytes between the pipe and the broker until the broker's connection ends. While
 * no process reads the pipe, output is lost, as on a serial port without a cable.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>

#include <windows.h>

enum { CHUNK = 4096 };

static HANDLE pipe_end;
static bool is_server;
static volatile bool is_plugged;
static SOCKET broker;

static DWORD finish(BOOL begun, OVERLAPPED *io)
{
	DWORD bytes = 0;

	if (!begun && GetLastError() != ERROR_IO_PENDING)
		return 0;
	return GetOverlappedResult(pipe_end, io, &bytes, TRUE) ? bytes : 0;
}

static void open_pipe(const char *name)
{
	pipe_end = CreateFileA(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
			       FILE_FLAG_OVERLAPPED, NULL);
	/* If the process that has created the pipe only reads from it, this program may open the
	 * pipe only for writing. A pipe that is opened only for writing is enough for the output of
	 * a console. */
	if (pipe_end == INVALID_HANDLE_VALUE && GetLastError() == ERROR_ACCESS_DENIED)
		pipe_end = CreateFileA(name, GENERIC_WRITE, 0, NULL, OPEN_EXISTING,
				       FILE_FLAG_OVERLAPPED, NULL);
	is_plugged = pipe_end != INVALID_HANDLE_VALUE;
	if (is_plugged || GetLastError() != ERROR_FILE_NOT_FOUND)
		return;
	pipe_end = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
				    PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT, 1, CHUNK,
				    CHUNK, 0, NULL);
	is_server = pipe_end != INVALID_HANDLE_VALUE;
}

static void await_plug(OVERLAPPED *io)
{
	DWORD bytes;

	if (!ConnectNamedPipe(pipe_end, io) && GetLastError() == ERROR_IO_PENDING)
		GetOverlappedResult(pipe_end, io, &bytes, TRUE);
	is_plugged = true;
}

static DWORD WINAPI carry_input(void *unused)
{
	OVERLAPPED io = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
	char bytes[CHUNK];

	(void)unused;
	do {
		DWORD got;

		if (is_server)
			await_plug(&io);
		while ((got = finish(ReadFile(pipe_end, bytes, CHUNK, NULL, &io), &io)))
			if (send(broker, bytes, (int)got, 0) <= 0)
				break;
		is_plugged = !is_server && GetLastError() == ERROR_ACCESS_DENIED;
		if (is_server)
			DisconnectNamedPipe(pipe_end);
	} while (is_server);
	return 0;
}

static void carry_output(void)
{
	OVERLAPPED io = {.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL)};
	char bytes[CHUNK];
	int got;

	while ((got = recv(broker, bytes, CHUNK, 0)) > 0)
		if (is_plugged)
			finish(WriteFile(pipe_end, bytes, (DWORD)got, NULL, &io), &io);
}

static bool dial(const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	WSADATA data;

	if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
		return false;
	to.sin_port = htons((u_short)atoi(port));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	broker = socket(AF_INET, SOCK_STREAM, 0);
	return connect(broker, (struct sockaddr *)&to, sizeof(to)) == 0;
}

int main(int argc, char **argv)
{
	char line[128];
	DWORD error = 0;

	if (argc != 4 || !dial(argv[1]))
		return 2;
	open_pipe(argv[3]);
	if (pipe_end == INVALID_HANDLE_VALUE)
		error = GetLastError();
	snprintf(line, sizeof(line), "console %s %lu\n", argv[2], error);
	if (send(broker, line, (int)strlen(line), 0) <= 0 || error)
		return 1;
	if (!CreateThread(NULL, 0, carry_input, NULL, 0, NULL))
		return 2;
	carry_output();
	ExitProcess(0);
}
