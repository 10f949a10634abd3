/* SPDX-License-Identifier: MIT */
/* Where it lies: https://docs.kernel.org/arch/x86/boot.html, payload_offset. */
#include "artifact/vmlinux.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define SETUP_BYTES 0x270
#define VERSION_MIN 0x208 /* has the payload's fields */
#define SECTOR 512u
#define KERNEL_MAX (512ll << 20)

struct payload {
	int fd;
	uint64_t left;
	off_t at;
	uint8_t block[65536];
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
	out->fd = fd;
	out->at = (off_t)((sectors + 1) * SECTOR + field32(setup, 0x248));
	/* Behind it is its length, which some formats take for a part of their own. */
	out->left = field32(setup, 0x24c) - 4;
	return 0;
}

bool vmlinux_is_packed(const char *kernel)
{
	autoclose int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	struct payload payload;

	return fd >= 0 && find_payload(fd, &payload) == 0;
}

static ssize_t read_payload(struct archive *archive, void *data, const void **block)
{
	struct payload *p = data;
	size_t want = p->left < sizeof(p->block) ? (size_t)p->left : sizeof(p->block);
	ssize_t n = want ? pread(p->fd, p->block, want, p->at) : 0;

	if (n < 0) {
		archive_set_error(archive, errno, "read");
		return ARCHIVE_FATAL;
	}
	p->at += n;
	p->left -= (uint64_t)n;
	*block = p->block;
	return n;
}

static void archive_release(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}

static int tell_packing(struct archive *archive, struct error *err)
{
	const char *why = archive_error_string(archive);

	return error_set(err, ERR_UNSUPPORTED, "the kernel in it cannot be unpacked: %.160s",
			 why ? why : "an unknown packing");
}

static int write_kernel(struct archive *archive, int out_fd, struct error *err)
{
	uint8_t block[65536];
	int64_t total = 0;
	la_ssize_t n;

	while ((n = archive_read_data(archive, block, sizeof(block))) > 0) {
		if (total == 0 && (n < SELFMAG || memcmp(block, ELFMAG, SELFMAG) != 0))
			return error_set(err, ERR_UNSUPPORTED, "what is packed in it is no ELF");
		total += n;
		if (total > KERNEL_MAX)
			return error_set(err, ERR_INVALID, "what is packed in it is too long");
		if (fd_write_all(out_fd, block, (size_t)n, err) < 0)
			return -1;
	}
	if (n < 0)
		return tell_packing(archive, err);
	return total ? 0 : error_set(err, ERR_INVALID, "nothing is packed in it");
}

int vmlinux_unpack(const char *kernel, int out_fd, struct error *err)
{
	autoclose int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	__attribute__((cleanup(archive_release))) struct archive *archive = archive_read_new();
	static struct payload payload;
	struct archive_entry *entry;

	if (fd < 0)
		return error_errno(err, errno, "%s", kernel);
	if (!archive)
		return error_errno(err, ENOMEM, "%s", kernel);
	if (find_payload(fd, &payload) < 0)
		return error_set(err, ERR_INVALID, "%s is no bzImage", kernel);
	archive_read_support_filter_all(archive);
	archive_read_support_format_raw(archive);
	if (archive_read_open2(archive, &payload, NULL, read_payload, NULL, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		tell_packing(archive, err);
	else if (write_kernel(archive, out_fd, err) == 0)
		return 0;
	return error_prefix(err, "%s", kernel);
}
