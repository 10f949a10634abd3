/* SPDX-License-Identifier: MIT */
/*
 * Makes the memory of a guest that is saved or restored, as a file in memory. A VMM opens this file
 * by a path in /proc, and for writing, even if it only reads. The machines that are restored from
 * one template share the file. So only a seal keeps a VMM that its guest controls from writing into
 * the memory of the other machines (fcntl(2), F_ADD_SEALS).
 */
#include "supervisor/templates/template_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Linux has this seal since 6.3. Headers of older versions do not define it. */
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x20
#endif

int template_memory_new(uint64_t bytes, struct error *err)
{
	autoclose int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return error_errno(err, errno, "the guest's memory");
	return steal_fd(&fd);
}

/* Copies the bytes from the offset `at` to the offset `end`. In `from` there is data at these
 * offsets, and in `to` there is a hole. */
static int copy_extent(int from, int to, off_t at, off_t end, struct error *err)
{
	size_t len = (size_t)(end - at);
	off_t page = at - at % sysconf(_SC_PAGESIZE);
	uint8_t *bytes =
		mmap(NULL, (size_t)(end - page), PROT_READ, MAP_SHARED | MAP_POPULATE, from, page);
	int status = 0;

	if (bytes == MAP_FAILED)
		return error_errno(err, errno, "the guest's memory");
	if (lseek(to, at, SEEK_SET) < 0)
		status = error_errno(err, errno, "the guest's memory");
	else
		status = fd_write_all(to, bytes + (at - page), len, err);
	munmap(bytes, (size_t)(end - page));
	return status;
}

static int copy_extents(int from, int to, uint64_t *copied, struct error *err)
{
	off_t end = 0;

	for (;;) {
		off_t at = lseek(from, end, SEEK_DATA);

		if (at < 0 && errno == ENXIO)
			return 0;
		end = at < 0 ? -1 : lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return error_errno(err, errno, "the guest's memory");
		if (copy_extent(from, to, at, end, err) < 0)
			return -1;
		*copied += (uint64_t)(end - at);
	}
}

/* Seals the memory. F_SEAL_EXEC makes the execute bits of its mode unchangeable. The only modes
 * that a live supervisor may set (live_confine.c) have no execute bits, so it can no longer change
 * the mode at all. Without this seal a live supervisor could take away the access rights to the
 * memory after a command has checked them and before a VMM opens the memory. Kernels before 6.3
 * reject F_SEAL_EXEC, and then only the other seals are set. */
static int seal(int fd, struct error *err)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_EXEC) == 0 || fcntl(fd, F_ADD_SEALS, seals) == 0)
		return 0;
	return error_errno(err, errno, "the guest's memory");
}

int template_memory_load(int file, bool sealed, struct error *err)
{
	autoclose int fd = -1;
	uint64_t copied = 0;
	struct stat st;

	if (fstat(file, &st) < 0)
		return error_errno(err, errno, "the guest's memory");
	fd = template_memory_new((uint64_t)st.st_size, err);
	if (fd < 0 || copy_extents(file, fd, &copied, err) < 0)
		return -1;
	if (sealed && seal(fd, err) < 0)
		return -1;
	return steal_fd(&fd);
}

int template_memory_store(int memory, int file, uint64_t *resident, struct error *err)
{
	uint64_t copied = 0;
	struct stat st;

	if (fstat(memory, &st) < 0 || ftruncate(file, st.st_size) < 0)
		return error_errno(err, errno, "the guest's memory");
	if (copy_extents(memory, file, &copied, err) < 0)
		return -1;
	*resident = copied;
	return 0;
}
