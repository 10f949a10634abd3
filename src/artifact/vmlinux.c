/* SPDX-License-Identifier: MIT */
/* Unpacks a kernel. The field payload_offset of the kernel's header says where the packed kernel
 * begins: https://docs.kernel.org/arch/x86/boot.html. */
#include "artifact/vmlinux.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/packed.h"
#include "artifact/reader.h"
#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

#define SETUP_BYTES 0x270
/* The first version of the kernel's header that has the fields about the payload. */
#define VERSION_MIN 0x208
#define SECTOR 512u
#define KERNEL_MAX (512ll << 20)

/* The compressions that a kernel can have (KERNEL_GZIP and the other choices in init/Kconfig of
 * Linux). lzo is missing, because libarchive cannot unpack lzo by itself. */
#define PACKINGS \
	(PACKING_GZIP | PACKING_BZIP2 | PACKING_XZ | PACKING_LZMA | PACKING_LZ4 | PACKING_ZSTD)

struct payload {
	off_t at;
	uint64_t size;
};

static uint32_t field32(const uint8_t *setup, size_t at)
{
	uint32_t value;

	memcpy(&value, setup + at, sizeof(value));
	return le32toh(value);
}

static int find_payload(int fd, struct payload *out)
{
	uint8_t setup[SETUP_BYTES];
	uint16_t version;

	if (pread(fd, setup, sizeof(setup), 0) != (ssize_t)sizeof(setup) ||
	    !architecture_is_bzimage(setup, sizeof(setup)))
		return -1;
	memcpy(&version, setup + 0x206, sizeof(version));
	if (le16toh(version) < VERSION_MIN || field32(setup, 0x24c) <= 4)
		return -1;
	uint64_t sectors = setup[0x1f1] ? setup[0x1f1] : 4;
	out->at = (off_t)((sectors + 1) * SECTOR + field32(setup, 0x248));
	/* The payload ends with a length of 4 bytes. These 4 bytes are left out, because some
	 * decompressors would read them as data. */
	out->size = field32(setup, 0x24c) - 4;
	return 0;
}

bool vmlinux_is_packed(const char *kernel)
{
	autoclose int fd = path_open_file(kernel, NULL);
	struct payload payload;

	return fd >= 0 && find_payload(fd, &payload) == 0;
}

static int tell_packing(struct archive *archive, struct error *err)
{
	const char *why = archive_error_string(archive);

	return error_set(err, ERR_UNSUPPORTED,
			 "the kernel in the bzImage cannot be unpacked: %.160s",
			 why ? why : "its compression is unknown");
}

static int write_kernel(struct archive *archive, int out, struct error *err)
{
	const void *block;
	int64_t total = 0;
	la_int64_t at;
	size_t len;
	int got;

	while ((got = archive_read_data_block(archive, &block, &len, &at)) == ARCHIVE_OK) {
		if (total == 0 && (len < SELFMAG || memcmp(block, ELFMAG, SELFMAG) != 0))
			return error_set(
				err, ERR_UNSUPPORTED,
				"the kernel in the bzImage is not an ELF file: the bzImage is damaged, so fetch or build it again");
		if ((int64_t)len > KERNEL_MAX - total)
			return error_set(
				err, ERR_INVALID,
				"the kernel in the bzImage is too long: the bzImage is damaged, so fetch or build it again");
		if (artifact_check_signal(err) < 0 || packed_put(out, block, len, total, err) < 0)
			return -1;
		total += (int64_t)len;
	}
	if (got != ARCHIVE_EOF)
		return tell_packing(archive, err);
	return total ? 0
		     : error_set(
			       err, ERR_INVALID,
			       "the bzImage has no kernel in it: it is damaged, so fetch or build it again");
}

/* --- unpacking in a reader ------------------------------------------------------------------- */

struct unpacking_kernel {
	int kernel;
	const char *name;
};

static int unpack_kernel_file(void *data, struct buf *out, struct error *err)
{
	const struct unpacking_kernel *u = data;
	autoclose int to =
		open(u->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	auto_archive struct archive *archive = NULL;
	struct packed packed = {0};
	struct payload payload;
	int result = -1;

	(void)out;
	if (to < 0)
		return error_errno(err, errno, "%s", u->name);
	if (find_payload(u->kernel, &payload) < 0)
		return error_set(err, ERR_INVALID,
				 "the file is not a bzImage, the packed kernel of a PC: give one");
	if (lseek(u->kernel, payload.at, SEEK_SET) < 0)
		return error_errno(err, errno, "read");
	if (packed_begin(&packed, u->kernel, payload.size, err) == 0) {
		int got = packed_unpack(&packed, PACKINGS, &archive, err);

		if (got == ARCHIVE_OK)
			result = write_kernel(archive, to, err);
		else if (archive)
			tell_packing(archive, err);
	}
	packed_end(&packed);
	return result;
}

int vmlinux_unpack(const char *kernel, int dir, const char *name, struct error *err)
{
	autoclose int fd = path_open_file(kernel, err);
	struct unpacking_kernel unpacking = {fd, name};
	const struct reader_work work = {
		.read = unpack_kernel_file, .data = &unpacking, .from = fd, .dir = dir};

	if (fd < 0)
		return -1;
	return reader_run(&work, NULL, err) < 0 ? error_prefix(err, "%s", kernel) : 0;
}
