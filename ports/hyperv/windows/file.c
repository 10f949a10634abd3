/* SPDX-License-Identifier: MIT */
#include "hyperv/windows/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "hyperv/windows/rights.h"

#define LOCK_LOOK_MS 10
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

char *file_in(const char *dir, const char *name, struct error *err)
{
	size_t len = strlen(dir);
	/* The path of a drive such as "C:\\" already ends with a backslash, so no backslash is
	 * added. */
	const char *between = len > 0 && dir[len - 1] == '\\' ? "" : "\\";
	char *path = NULL;

	if (asprintf(&path, "%s%s%s", dir, between, name) >= 0)
		return path;
	error_errno(err, ENOMEM, "%s", name);
	return NULL;
}

bool file_exists(const char *path)
{
	autofree wchar_t *wide = text_wide_path(path, NULL);

	return wide && GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
}

static HANDLE open_file(const char *path, DWORD access, DWORD share, DWORD how, DWORD flags,
			struct error *err)
{
	autofree wchar_t *wide = text_wide_path(path, err);
	HANDLE file;

	if (!wide)
		return INVALID_HANDLE_VALUE;
	file = CreateFileW(wide, access, share, NULL, how, flags, NULL);
	if (file == INVALID_HANDLE_VALUE)
		windows_error(err, GetLastError(), "%s", path);
	return file;
}

HANDLE file_open(const char *path, struct error *err)
{
	return open_file(path, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_SEQUENTIAL_SCAN,
			 err);
}

int file_size(HANDLE file, uint64_t *out, struct error *err)
{
	LARGE_INTEGER size;

	if (!GetFileSizeEx(file, &size))
		return windows_error(err, GetLastError(), "size of a file");
	*out = (uint64_t)size.QuadPart;
	return 0;
}

int file_read_at(HANDLE file, uint64_t at, void *to, size_t len, struct error *err)
{
	OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
	DWORD n = 0;

	if (!ReadFile(file, to, (DWORD)len, &n, &place))
		return windows_error(err, GetLastError(), "read");
	return n == len
		       ? 0
		       : error_set(
				 err, ERR_IO,
				 "the file became shorter while it was read, because another program changes it: try again");
}

int file_read(const char *path, struct buf *out, struct error *err)
{
	autohandle HANDLE file = file_open(path, err);
	uint64_t size = 0;
	uint8_t *room;

	if (file == INVALID_HANDLE_VALUE || file_size(file, &size, err) < 0)
		return -1;
	if (size == 0)
		return 0;
	room = buf_reserve(out, size, err);
	if (!room || file_read_at(file, 0, room, size, err) < 0)
		return error_prefix(err, "%s", path);
	buf_commit(out, size);
	return 0;
}

static int write_to_handle(HANDLE file, const void *data, size_t len, struct error *err)
{
	DWORD n = 0;

	if (!WriteFile(file, data, (DWORD)len, &n, NULL) || n != len)
		return windows_error(err, GetLastError(), "write");
	return 0;
}

static int write_new(const char *path, const void *data, size_t len, bool sync, struct error *err)
{
	autohandle HANDLE file =
		open_file(path, GENERIC_WRITE, 0, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, err);

	if (file == INVALID_HANDLE_VALUE || write_to_handle(file, data, len, err) < 0)
		return -1;
	return sync && !FlushFileBuffers(file) ? windows_error(err, GetLastError(), "%s", path) : 0;
}

/* Renames a file over another file. Tries again after a failure. A program such as a virus scanner
 * or an editor may have the old file open in a way that forbids its removal, usually only for a
 * moment. */
static DWORD move_over(const wchar_t *from, const wchar_t *to)
{
	DWORD code = ERROR_SUCCESS;

	for (int tries = 0; tries < 50; tries++) {
		if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
			return ERROR_SUCCESS;
		code = GetLastError();
		if (code != ERROR_ACCESS_DENIED && code != ERROR_SHARING_VIOLATION)
			return code;
		Sleep(20);
	}
	return code;
}

int file_replace(const char *path, const void *data, size_t len, bool sync, struct error *err)
{
	autofree char *fresh = NULL;
	autofree wchar_t *from = NULL, *to = NULL;
	DWORD code;

	if (asprintf(&fresh, "%s.new", path) < 0) {
		fresh = NULL;
		return error_errno(err, ENOMEM, "%s", path);
	}
	from = text_wide_path(fresh, err);
	to = text_wide_path(path, err);
	if (!from || !to)
		return -1;
	if (write_new(fresh, data, len, sync, err) < 0) {
		DeleteFileW(from);
		return -1;
	}
	code = move_over(from, to);
	if (code == ERROR_SUCCESS)
		return 0;
	DeleteFileW(from);
	return windows_error(err, code, "%s", path);
}

int file_append(const char *path, const void *data, size_t len, struct error *err)
{
	autohandle HANDLE file = open_file(path, FILE_APPEND_DATA, SHARE_ALL, OPEN_ALWAYS,
					   FILE_ATTRIBUTE_NORMAL, err);

	return file == INVALID_HANDLE_VALUE ? -1 : write_to_handle(file, data, len, err);
}

int file_remove(const char *path, struct error *err)
{
	autofree wchar_t *wide = text_wide_path(path, err);

	if (!wide)
		return -1;
	if (DeleteFileW(wide) || GetLastError() == ERROR_FILE_NOT_FOUND ||
	    GetLastError() == ERROR_PATH_NOT_FOUND)
		return 0;
	return windows_error(err, GetLastError(), "%s", path);
}

/* --- directories --------------------------------------------------------------------------------
 */

static int make_private(const wchar_t *path, struct error *err)
{
	SECURITY_ATTRIBUTES rights;
	BOOL made;

	if (rights_private(&rights, err) < 0)
		return -1;
	made = CreateDirectoryW(path, &rights);
	DWORD code = made ? ERROR_SUCCESS : GetLastError();
	LocalFree(rights.lpSecurityDescriptor);
	return made ? 0 : windows_error(err, code, "make directory");
}

static bool is_directory(const wchar_t *path)
{
	DWORD attributes = GetFileAttributesW(path);

	return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

int file_make_dirs(const char *path, struct error *err)
{
	autofree wchar_t *wide = text_wide_path(path, err);

	if (!wide)
		return -1;
	/* Begins after the drive, such as \\?\C:\, since the drive itself cannot be created. */
	for (wchar_t *p = wide + 7; !is_directory(wide);) {
		p += wcscspn(p, L"\\");
		wchar_t next = *p;
		*p = L'\0';
		if (!is_directory(wide) && make_private(wide, err) < 0)
			return error_prefix(err, "%s", path);
		*p = next;
		if (!next)
			return 0;
		p++;
	}
	return 0;
}

bool file_is_empty_dir(const char *path)
{
	autofree char *all = file_in(path, "*", NULL);
	autofree wchar_t *pattern = all ? text_wide_path(all, NULL) : NULL;
	WIN32_FIND_DATAW entry;
	HANDLE find = pattern ? FindFirstFileW(pattern, &entry) : INVALID_HANDLE_VALUE;
	bool empty = true;

	if (find == INVALID_HANDLE_VALUE)
		return false;
	do {
		if (wcscmp(entry.cFileName, L".") != 0 && wcscmp(entry.cFileName, L"..") != 0)
			empty = false;
	} while (empty && FindNextFileW(find, &entry));
	FindClose(find);
	return empty;
}

static int remove_found(const char *path, const WIN32_FIND_DATAW *entry, struct error *err)
{
	autofree wchar_t *wide = text_wide_path(path, err);
	bool directory = entry->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;

	if (!wide)
		return -1;
	/* Removes a link to a directory as a link, so that nothing in the directory to which the
	 * link leads is removed. */
	if (directory && !(entry->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
		return file_remove_tree(path, err);
	if (directory ? RemoveDirectoryW(wide) : DeleteFileW(wide))
		return 0;
	return windows_error(err, GetLastError(), "%s", path);
}

static int remove_contents(const char *path, struct error *err)
{
	autofree char *all = file_in(path, "*", err);
	autofree wchar_t *pattern = all ? text_wide_path(all, err) : NULL;
	WIN32_FIND_DATAW entry;
	HANDLE find;
	int status = 0;

	if (!pattern)
		return -1;
	find = FindFirstFileW(pattern, &entry);
	if (find == INVALID_HANDLE_VALUE)
		return GetLastError() == ERROR_FILE_NOT_FOUND
			       ? 0
			       : windows_error(err, GetLastError(), "%s", path);
	do {
		autofree char *name = text_narrow(entry.cFileName, err);
		autofree char *inner = name ? file_in(path, name, err) : NULL;

		if (name && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
			continue;
		status = inner ? remove_found(inner, &entry, err) : -1;
	} while (status == 0 && FindNextFileW(find, &entry));
	FindClose(find);
	return status;
}

int file_remove_tree(const char *path, struct error *err)
{
	autofree wchar_t *wide = text_wide_path(path, err);

	if (!wide)
		return -1;
	if (GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES)
		return 0;
	if (remove_contents(path, err) < 0)
		return -1;
	return RemoveDirectoryW(wide) ? 0 : windows_error(err, GetLastError(), "%s", path);
}

/* Tries again and again to lock the file, until `deadline`. Windows could wait for the lock, but
 * with a synchronous handle that wait has no time limit, and with an asynchronous handle it does
 * not work in Wine. */
static DWORD lock_by(HANDLE file, uint64_t deadline)
{
	for (;;) {
		OVERLAPPED place = {0};

		if (LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
			       &place))
			return ERROR_SUCCESS;
		DWORD code = GetLastError();
		if (code != ERROR_LOCK_VIOLATION && code != ERROR_IO_PENDING)
			return code;
		if (clock_mono_ns() >= deadline)
			return WAIT_TIMEOUT;
		Sleep(LOCK_LOOK_MS);
	}
}

HANDLE file_lock(const char *path, uint64_t deadline, struct error *err)
{
	HANDLE file =
		open_file(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
			  OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, err);
	DWORD code = file == INVALID_HANDLE_VALUE ? ERROR_SUCCESS : lock_by(file, deadline);

	if (code == ERROR_SUCCESS)
		return file;
	CloseHandle(file);
	windows_error(err, code, "lock %s", path);
	return INVALID_HANDLE_VALUE;
}
