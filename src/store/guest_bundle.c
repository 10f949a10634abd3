/* SPDX-License-Identifier: MIT */
#include "store/guest_bundle_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

#define HASH_CHUNK ((size_t)1 << 20)

const char *const bundle_parts[] = {[CACHE_KERNELS] = "kernels", [CACHE_IMAGES] = "images"};

/* The files of an entry in a guest bundle. A bundle has no separate file with a kernel's modules.
 * The initrd contains the modules, and the importing host does not make a new initrd from them. */
const struct bundle_file bundle_files[BUNDLE_FILES] = {
	{"", "sha256", CACHE_KERNELS, true},
	{".initrd", "initrdSha256", CACHE_KERNELS, true},
	{".vmlinux", "vmlinuxSha256", CACHE_KERNELS, false},
	{".ext4", "sha256", CACHE_IMAGES, true},
};

int bundle_look(const struct guest_bundle_watch *watch, const char *file, struct error *err)
{
	struct pollfd cancel = {.fd = watch->cancel, .events = POLLIN};

	watch->at(watch->data, file);
	return poll(&cancel, 1, 0) > 0 ? error_set(err, ERR_UNAVAILABLE, "cancelled") : 0;
}

int bundle_hash(int fd, const struct guest_bundle_watch *watch, const char *file,
		char out[SHA256_TEXT], struct error *err)
{
	autofree uint8_t *chunk = malloc(HASH_CHUNK);
	uint8_t digest[SHA256_BYTES];
	struct sha256 sha;
	off_t at = 0;
	ssize_t n;

	if (!chunk)
		return error_errno(err, ENOMEM, "hash");
	sha256_init(&sha);
	while ((n = pread(fd, chunk, HASH_CHUNK, at)) > 0) {
		if (bundle_look(watch, file, err) < 0)
			return -1;
		sha256_update(&sha, chunk, (size_t)n);
		at += n;
	}
	if (n < 0)
		return error_errno(err, errno, "read");
	sha256_final(&sha, digest);
	sha256_hex(digest, out);
	return 0;
}

json_t *bundle_record(int dir, const char *path, struct error *err)
{
	autobuf struct buf file = BUF_INIT(0), text = BUF_INIT(BUNDLE_MANIFEST_BYTES);
	json_t *record = NULL;

	if (buf_printf(&file, err, "%s.json", path) == 0 &&
	    path_read_file_at(dir, buf_string(&file), &text, err) == 0)
		record = json_load_strict(buf_bytes(&text), text.len, err);
	if (!record)
		error_prefix(err, "%s", buf_string(&file));
	return record;
}

json_t *bundle_tell(enum cache_part part, const char *name, const json_t *record, struct error *err)
{
	json_auto_t *entry = json_object();

	if (json_put_string(entry, "part", bundle_parts[part], err) < 0 ||
	    json_put_string(entry, "name", name, err) < 0 ||
	    json_put_string(entry, "architecture", json_text(record, "architecture", "amd64"),
			    err) < 0 ||
	    json_put_string(entry, "sha256", json_text(record, "sha256", ""), err) < 0)
		return NULL;
	return json_incref(entry);
}

json_t *bundle_answer(const char *path, const char sha256[SHA256_TEXT], json_t *entries,
		      struct error *err)
{
	json_auto_t *answer = json_object();

	if (json_put_string(answer, "path", path, err) < 0 ||
	    json_put_string(answer, "sha256", sha256, err) < 0 ||
	    json_put(answer, "entries", json_incref(entries), err) < 0)
		return NULL;
	return json_incref(answer);
}
