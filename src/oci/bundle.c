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

static int open_standard_input(struct error *err)
{
	int file = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	return file >= 0 ? file : error_errno(err, errno, "standard input");
}

json_t *bundle_document(const char *path, struct error *err)
{
	autobuf struct buf text = BUF_INIT(CONFIG_MAX);
	autoclose int file =
		strcmp(path, "-") == 0 ? open_standard_input(err) : path_open_file(path, err);
	json_t *document;

	if (file < 0)
		return NULL;
	document = fd_read_to_end(file, &text, err) < 0 ? NULL
							: oci_load(buf_bytes(&text), text.len, err);
	if (!document)
		error_prefix(err, "%.300s", path);
	return document;
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
	json_auto_t *loaded = bundle_document(path, err);
	if (!loaded)
		return -1;
	if (oci_fields_check(loaded, &notes, err) < 0 ||
	    oci_config_decode(loaded, &notes, config, err) < 0)
		return error_prefix(err, "%.300s", path);
	*document = json_incref(loaded);
	return 0;
}
