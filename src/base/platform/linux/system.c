/* SPDX-License-Identifier: MIT */
#include "base/platform/system.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/path.h"

const char *const system_name = "Linux";

int random_bytes(void *out, size_t len, struct error *err)
{
	/* A request of at most 256 bytes is answered completely (getrandom(2)). */
	if (getrandom(out, len, 0) != (ssize_t)len)
		return error_errno(err, errno, "random number");
	return 0;
}

void memory_give_back(void)
{
	malloc_trim(0);
}

static int read_meminfo(const char *text, const char *key, uint64_t *out, struct error *err)
{
	const char *found = strstr(text, key);

	if (!found)
		return error_set(
			err, ERR_IO,
			"/proc/meminfo has no line %s: this kernel does not show how much memory the host has",
			key);
	*out = strtoull(found + strlen(key), NULL, 10) * 1024;
	return 0;
}

int memory_of_host(uint64_t *total, uint64_t *available, struct error *err)
{
	autobuf struct buf text = BUF_INIT(65536);
	uint64_t all, room;

	if (path_read_file_at(AT_FDCWD, "/proc/meminfo", &text, err) < 0 ||
	    read_meminfo(buf_string(&text), "MemTotal:", &all, err) < 0 ||
	    read_meminfo(buf_string(&text), "MemAvailable:", &room, err) < 0)
		return -1;
	*total = all;
	*available = room;
	return 0;
}

const char *system_error_text(int errnum)
{
	return strerrordesc_np(errnum);
}

const char *system_getenv(const char *name)
{
	return secure_getenv(name);
}

static uint64_t read_system_clock(clockid_t which)
{
	struct timespec t = {0};

	clock_gettime(which, &t); /* cannot fail for these two clocks */
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t system_awake_ns(void)
{
	return read_system_clock(CLOCK_MONOTONIC);
}

uint64_t system_boot_ns(void)
{
	return read_system_clock(CLOCK_BOOTTIME);
}

/* Uses machine-id(5); without that file it uses the host's name. */
void system_host_id(char out[SYSTEM_HOST_ID])
{
	autobuf struct buf text = BUF_INIT(4096);

	*out = '\0';
	if (path_read_file("/etc/machine-id", &text, NULL) == 0)
		snprintf(out, SYSTEM_HOST_ID, "%.*s", (int)strcspn(buf_string(&text), "\n"),
			 buf_string(&text));
	if (!*out && gethostname(out, SYSTEM_HOST_ID) < 0)
		*out = '\0';
	out[SYSTEM_HOST_ID - 1] = '\0';
}
