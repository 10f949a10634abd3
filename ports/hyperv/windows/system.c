/* SPDX-License-Identifier: MIT */
/* The functions of the operating system that src/contract and src/base need, for Windows. This file
 * replaces files of src/base that have these functions for other systems. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/platform/system.h"
#include "contract/request.h"
#include "hyperv/windows/text.h"

#define TICKS_PER_S INT64_C(10000000) /* one second in units of a FILETIME */
/* 1970-01-01 as a FILETIME, whose units count from the year 1601. */
#define EPOCH_1970 INT64_C(116444736000000000)

int64_t clock_real_ns(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	int64_t ticks = (int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime);
	return (ticks - EPOCH_1970) * ((int64_t)NS_PER_S / TICKS_PER_S);
}

uint64_t clock_mono_ns(void)
{
	LARGE_INTEGER count, per_second;

	QueryPerformanceCounter(&count);
	QueryPerformanceFrequency(&per_second);
	uint64_t whole = (uint64_t)(count.QuadPart / per_second.QuadPart);
	uint64_t rest = (uint64_t)(count.QuadPart % per_second.QuadPart);
	return whole * NS_PER_S + rest * NS_PER_S / (uint64_t)per_second.QuadPart;
}

/* Returns the value of an environment variable. On Windows a program always has the rights of the
 * user who starts it, so the environment can be trusted. */
const char *system_getenv(const char *name)
{
	return getenv(name);
}

/* Returns the text of an error number, or NULL for an unknown number. On Windows strerror() has a
 * separate buffer for each thread, so another thread cannot change the text. */
const char *system_error_text(int errnum)
{
	return errnum > 0 && errnum < _sys_nerr ? strerror(errnum) : NULL;
}

enum architecture architecture_of_host(void)
{
	SYSTEM_INFO info;

	GetNativeSystemInfo(&info);
	switch (info.wProcessorArchitecture) {
	case PROCESSOR_ARCHITECTURE_AMD64:
		return ARCHITECTURE_AMD64;
	case PROCESSOR_ARCHITECTURE_ARM64:
		return ARCHITECTURE_ARM64;
	default:
		return ARCHITECTURE_COUNT;
	}
}

struct host_bounds host_bounds(void)
{
	MEMORYSTATUSEX memory = {.dwLength = sizeof(memory)};
	SYSTEM_INFO info;

	GetSystemInfo(&info);
	return (struct host_bounds){
		.memory_mib =
			GlobalMemoryStatusEx(&memory) ? (int64_t)(memory.ullTotalPhys >> 20) : 1024,
		.cpus = (int64_t)info.dwNumberOfProcessors,
	};
}

const char path_drive[] = "C:";

/* Returns true if the path has ".." as a component. Windows resolves ".." in a path before it looks
 * for the file, so a later check would not see it. */
static bool climbs_by_any_slash(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if (strchr("/\\:", p[-1]) && strchr("/\\", p[2]))
			return true;
	return false;
}

/* Returns true if the path is absolute and on a drive of this computer. A path on another computer
 * is not accepted, since locks work differently on its files. */
bool path_is_absolute(const char *path)
{
	char drive = path[0] | 0x20;

	return drive >= 'a' && drive <= 'z' && path[1] == ':' &&
	       (path[2] == '\\' || path[2] == '/') && !climbs_by_any_slash(path);
}

/* Removes backslashes at the end of the path, but keeps the backslash of a drive ("C:\\"). Code
 * that adds a name also adds a backslash, and Windows does not accept two backslashes. */
static char *without_last_slash(char *path)
{
	size_t len = path ? strlen(path) : 0;

	while (len > 3 && path[len - 1] == '\\')
		path[--len] = '\0';
	return path;
}

/* Returns an absolute form of the path. GetFullPathNameW() resolves "/", "." and "..". The caller
 * frees the result. */
char *path_absolute(const char *path, struct error *err)
{
	autofree wchar_t *wide = text_wide(path, err);
	DWORD n = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
	autofree wchar_t *full = n ? malloc((n + 1) * sizeof(*full)) : NULL;

	if (full && GetFullPathNameW(wide, n + 1, full, NULL) > 0)
		return without_last_slash(text_narrow(full, err));
	if (wide)
		error_set(err, ERR_INVALID, "this is not a path of Windows: \"%.200s\"; correct it",
			  path);
	return NULL;
}
