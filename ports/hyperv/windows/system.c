/* SPDX-License-Identifier: MIT */
/* What the contract and base ask of the system, as Windows has it: base's own files for that are
 * not of this program. */
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

#define TICKS_PER_S INT64_C(10000000)	       /* of a FILETIME */
#define EPOCH_1970 INT64_C(116444736000000000) /* in them, since 1601 */

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

/* A program of Windows has the rights of who starts it. */
const char *system_getenv(const char *name)
{
	return getenv(name);
}

/* The text is in memory of the calling thread: Windows' strerror() has a buffer for each. */
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

/* ".." as a component, which would be taken out before anybody sees it. */
static bool climbs_by_any_slash(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if (strchr("/\\:", p[-1]) && strchr("/\\", p[2]))
			return true;
	return false;
}

/* On a drive: what is on another computer is not locked as a disk of this one is. */
bool path_is_absolute(const char *path)
{
	char drive = path[0] | 0x20;

	return drive >= 'a' && drive <= 'z' && path[1] == ':' &&
	       (path[2] == '\\' || path[2] == '/') && !climbs_by_any_slash(path);
}

/* What is in a directory is named by one more backslash, of which the system takes but one: only
 * that of a drive, "C:\\", stays. */
static char *without_last_slash(char *path)
{
	size_t len = path ? strlen(path) : 0;

	while (len > 3 && path[len - 1] == '\\')
		path[--len] = '\0';
	return path;
}

/* GetFullPathNameW() takes "/", "." and ".." out. */
char *path_absolute(const char *path, struct error *err)
{
	autofree wchar_t *wide = text_wide(path, err);
	DWORD n = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
	autofree wchar_t *full = n ? malloc((n + 1) * sizeof(*full)) : NULL;

	if (full && GetFullPathNameW(wide, n + 1, full, NULL) > 0)
		return without_last_slash(text_narrow(full, err));
	if (wide)
		error_set(err, ERR_INVALID, "no path of Windows: \"%.200s\"", path);
	return NULL;
}
