/* SPDX-License-Identifier: MIT */
#include "oci/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "oci/config/fields.h"

#define CONFIG_MAX (16u << 20)

static json_t *read_document(int file, const char *path, struct error *err)
{
	autobuf struct buf text = BUF_INIT(CONFIG_MAX);
	json_t *document = fd_read_to_end(file, &text, err) < 0
				   ? NULL
				   : oci_load(buf_bytes(&text), text.len, err);

	if (!document)
		error_prefix(err, "%.300s", path);
	return document;
}

json_t *bundle_document(const char *path, struct error *err)
{
	autoclose int file = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						    : open(path, O_RDONLY | O_CLOEXEC);

	if (file < 0) {
		error_errno(err, errno, "%.300s", path);
		return NULL;
	}
	return read_document(file, path, err);
}

static void log_note(void *arg, bool warning, const char *text)
{
	oci_log(arg, warning ? "warning" : "debug", "%s", text);
}

struct oci_notes bundle_notes(const struct oci *oci)
{
	return (struct oci_notes){.tell = log_note, .arg = (void *)(uintptr_t)oci};
}

int bundle_read(const struct oci *oci, const char *bundle, json_t **document,
		struct oci_config *config, struct error *err)
{
	const struct oci_notes notes = bundle_notes(oci);
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/config.json", bundle) >= sizeof(path))
		return error_errno(err, ENAMETOOLONG, "%.300s", bundle);
	/* Refuses everything but a regular file. A bundle may come from a stranger, and a FIFO in
	 * place of config.json would block the command for ever. */
	autoclose int file = path_open_file(path, err);
	json_auto_t *loaded = file < 0 ? NULL : read_document(file, path, err);
	if (!loaded)
		return -1;
	if (oci_fields_check(loaded, &notes, err) < 0 ||
	    oci_config_decode(loaded, &notes, config, err) < 0)
		return error_prefix(err, "%.300s", path);
	if (oci_config_check(config, &notes, err) < 0) {
		oci_config_free(config);
		return error_prefix(err, "%.300s", path);
	}
	*document = json_incref(loaded);
	return 0;
}
