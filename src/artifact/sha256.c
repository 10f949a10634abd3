/* SPDX-License-Identifier: MIT */
/* The command sha256: "<digest>  <name>" a line, as sha256sum prints; --fd N has no name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "artifact/artifact.h"
#include "artifact/digest.h"
#include "base/cleanup.h"
#include "base/json.h"

static int answer(const struct artifact_options *opts, json_t *list, const char *digest,
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

static int hash_fd(const struct artifact_options *opts, json_t *list, struct error *err)
{
	char digest[DIGEST_TEXT], *end;
	long fd = strtol(opts->fd, &end, 10);

	if (*end || end == opts->fd || fd < 0 || fd > 65535)
		return error_set(err, ERR_INVALID, "--fd %s is no descriptor", opts->fd);
	if (digest_fd((int)fd, digest, err) < 0)
		return -1;
	return answer(opts, list, digest, NULL, err);
}

int artifact_sha256(const struct artifact_options *opts, struct error *err)
{
	json_auto_t *list = json_array();
	char digest[DIGEST_TEXT];

	if (!opts->fd && opts->word_count == 0)
		return error_set(err, ERR_INVALID, "sha256 needs a FILE or --fd N");
	if (opts->fd && hash_fd(opts, list, err) < 0)
		return -1;
	for (size_t i = 0; i < opts->word_count; i++)
		if (digest_file(opts->words[i], digest, err) < 0 ||
		    answer(opts, list, digest, opts->words[i], err) < 0)
			return -1;
	return opts->json ? artifact_answer(opts, list, err, " ") : 0;
}
