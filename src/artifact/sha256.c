/* SPDX-License-Identifier: MIT */
/* The commands sha256 and init-sha256. sha256 prints lines "<digest> <name>" like sha256sum. With
 * --fd N, sha256 prints only the digest. init-sha256 prints the digest of the microagent-init in an
 * uncompressed initrd. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/cpio_find.h"
#include "artifact/digest.h"
#include "base/cleanup.h"
#include "base/json.h"

static int answer_digests(const struct artifact_options *opts, json_t *list, const char *digest,
			  const char *name, struct error *err)
{
	json_t *entry;

	if (!opts->json)
		return printf(name ? "%s  %s\n" : "%s\n", digest, name) < 0
			       ? error_errno(err, errno, "standard output")
			       : 0;
	entry = json_object();
	if (!entry || json_array_append_new(list, entry) < 0)
		return error_errno(err, ENOMEM, "answer");
	if (name && json_put(entry, "path", json_string_lossy(name, strlen(name)), err) < 0)
		return -1;
	return json_put_string(entry, "sha256", digest, err);
}

/* Writes the digest of the init in an initrd to `out`. Writes "-" if no init is found, because the
 * initrd is compressed or was not made by this program. Writes "!" if the end of the initrd is
 * missing. */
static int hash_init(int fd, char out[DIGEST_TEXT], struct error *err)
{
	struct error why = {0};
	uint64_t at = 0, size = 0;

	if (cpio_find(fd, "init", &at, &size, &why) == 0)
		return digest_range(fd, at, size, out, err);
	if (why.code != ERR_NOT_FOUND && why.code != ERR_INVALID) {
		*err = why;
		return -1;
	}
	memcpy(out, why.code == ERR_INVALID ? "!" : "-", 2);
	return 0;
}

int artifact_init_sha256(const struct artifact_options *opts, struct error *err)
{
	const char *name = opts->word_count == 1 ? opts->words[0] : NULL;
	json_auto_t *list = json_array();
	char digest[DIGEST_TEXT];
	autoclose int file = -1;

	if (!opts->fd == !name)
		return error_set(err, ERR_INVALID, "init-sha256 needs one FILE or --fd N");
	file = name ? open(name, O_RDONLY | O_CLOEXEC) : artifact_fd(opts, err);
	if (file < 0)
		return name ? error_errno(err, errno, "%s", name) : -1;
	if (hash_init(file, digest, err) < 0)
		return name ? error_prefix(err, "%s", name) : -1;
	if (answer_digests(opts, list, digest, name, err) < 0)
		return -1;
	return opts->json ? artifact_answer(opts, list, err, " ") : 0;
}

int artifact_sha256(const struct artifact_options *opts, struct error *err)
{
	json_auto_t *list = json_array();
	char digest[DIGEST_TEXT];

	if (!opts->fd && opts->word_count == 0)
		return error_set(err, ERR_INVALID, "sha256 needs a FILE or --fd N");
	if (opts->fd) {
		int fd = artifact_fd(opts, err);

		if (fd < 0 || digest_fd(fd, digest, err) < 0 ||
		    answer_digests(opts, list, digest, NULL, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < opts->word_count; i++)
		if (digest_file(opts->words[i], digest, err) < 0 ||
		    answer_digests(opts, list, digest, opts->words[i], err) < 0)
			return -1;
	return opts->json ? artifact_answer(opts, list, err, " ") : 0;
}
