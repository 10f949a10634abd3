/* SPDX-License-Identifier: MIT */
#include "hyperv/keeper/serial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "hyperv/windows/file.h"
#include "hyperv/windows/rights.h"

#define SERIAL_BUFFER 4096

struct serial {
	HANDLE pipe, thread;
	char *path;
	uint64_t size; /* the present size of serial.log in bytes */
	CRITICAL_SECTION lock;
	/* `line` is the present line, which is not complete yet. `last` is the last line that was
	 * not blank. */
	char line[512], last[512];
	size_t len;
};

static void finish_line(struct serial *serial)
{
	serial->line[serial->len] = '\0';
	if (strspn(serial->line, " ") < serial->len)
		memcpy(serial->last, serial->line, serial->len + 1);
	serial->len = 0;
}

static void take_line_bytes(struct serial *serial, const char *bytes, size_t len)
{
	EnterCriticalSection(&serial->lock);
	for (size_t i = 0; i < len; i++) {
		bool plain = bytes[i] >= 0x20 && bytes[i] < 0x7f;

		if (bytes[i] == '\n')
			finish_line(serial);
		else if (bytes[i] != '\r' && serial->len < sizeof(serial->line) - 1)
			serial->line[serial->len++] = plain ? bytes[i] : '?';
	}
	LeaveCriticalSection(&serial->lock);
}

void serial_tail(struct serial *serial, char *out, size_t size)
{
	EnterCriticalSection(&serial->lock);
	if (serial->len > 0)
		finish_line(serial);
	snprintf(out, size, "%s", serial->last);
	LeaveCriticalSection(&serial->lock);
}

static bool set_aside(const struct serial *serial)
{
	autofree wchar_t *from = text_wide_path(serial->path, NULL);
	autofree wchar_t *to = from ? malloc((wcslen(from) + 3) * sizeof(*to)) : NULL;

	if (!to)
		return false;
	wcscpy(to, from);
	wcscat(to, L".1");
	return MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING);
}

/* Writes bytes to the log. If the disk is full, the bytes are lost, and the machine still runs. If
 * a program that reads the log prevents that the log is renamed, the bytes are lost too. Otherwise
 * the log would grow until the disk is full. */
static void write_serial(struct serial *serial, const char *bytes, size_t len)
{
	struct error ignored;

	if (serial->size > 0 && serial->size + len > limit_get(LIMIT_SERIAL_LOG_BYTES) / 2) {
		if (!set_aside(serial))
			return;
		serial->size = 0;
	}
	if (file_append(serial->path, bytes, len, &ignored) == 0)
		serial->size += len;
}

static DWORD WINAPI read_serial(void *context)
{
	struct serial *serial = context;
	char bytes[SERIAL_BUFFER];
	DWORD n;

	if (!ConnectNamedPipe(serial->pipe, NULL) && GetLastError() != ERROR_PIPE_CONNECTED &&
	    GetLastError() != ERROR_NO_DATA)
		return 0;
	while (ReadFile(serial->pipe, bytes, sizeof(bytes), &n, NULL)) {
		take_line_bytes(serial, bytes, n);
		write_serial(serial, bytes, n);
	}
	return 0;
}

static int open_serial(struct serial *serial, const char *name, struct error *err)
{
	autofree wchar_t *wide = text_wide(name, err);

	if (!wide)
		return -1;
	serial->pipe =
		rights_pipe(wide, true, 1, SERIAL_BUFFER, "the pipe of the serial console", err);
	if (serial->pipe == INVALID_HANDLE_VALUE)
		return -1;
	serial->thread = CreateThread(NULL, 0, read_serial, serial, 0, NULL);
	return serial->thread ? 0 : windows_error(err, GetLastError(), "thread");
}

struct serial *serial_begin(const char *name, const char *path, struct error *err)
{
	struct serial *serial = calloc(1, sizeof(*serial));
	struct error ignored;
	HANDLE log;

	if (serial)
		serial->path = strdup(path);
	if (!serial || !serial->path) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	log = file_open(path, &ignored);
	if (log != INVALID_HANDLE_VALUE) {
		(void)file_size(log, &serial->size, &ignored);
		CloseHandle(log);
	}
	InitializeCriticalSection(&serial->lock);
	return open_serial(serial, name, err) < 0 ? NULL : serial;
}

void serial_drain(struct serial *serial, unsigned ms)
{
	WaitForSingleObject(serial->thread, ms);
}
