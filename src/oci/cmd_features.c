/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/fields.h"
#include "oci/flags.h"
#include "oci/oci.h"

#define TABLE_MAX 65536u

/* Returns the document that features.md of the runtime specification describes. The caller releases
 * the document. */
static json_t *features(void)
{
	json_t *options = json_array(), *capabilities = json_array();

	for (size_t i = 0; oci_mount_option(i); i++)
		json_array_append_new(options, json_string(oci_mount_option(i)));
	for (unsigned i = 0; oci_capability_name(i); i++)
		json_array_append_new(capabilities, json_string(oci_capability_name(i)));
	return json_pack(
		"{s:s, s:s, s:[s,s,s,s], s:o, s:{s:[s,s,s,s,s,s], s:o, s:{s:b,s:b,s:b,s:b,s:b}, s:{s:b}, s:{s:b}, s:{s:b}, s:{s:{s:b}}}, s:{s:s}, s:[s]}",
		"ociVersionMin", "1.0.0", "ociVersionMax", OCI_SPEC, "hooks", "prestart",
		"createRuntime", "poststart", "poststop", "mountOptions", options, "linux",
		"namespaces", "cgroup", "ipc", "mount", "network", "pid", "uts", "capabilities",
		capabilities, "cgroup", "v1", 1, "v2", 1, "systemd", 0, "systemdUser", 0, "rdma", 0,
		"seccomp", "enabled", 1, "apparmor", "enabled", 0, "selinux", "enabled", 0,
		"mountExtensions", "idmap", "enabled", 0, "annotations", "io.microagent.version",
		MICROAGENT_VERSION, "potentiallyUnsafeConfigAnnotations", "io.microagent.");
}

int cmd_features(const struct oci *oci, char **words, struct error *err)
{
	bool table = false;
	const struct flag flags[] = {{"table", NULL, FLAG_GIVEN, &table}};

	if (flags_parse_command(oci, flags, ARRAY_SIZE(flags), words, err) < 0)
		return -1;
	if (table) {
		autobuf struct buf text = BUF_INIT(TABLE_MAX);

		if (oci_fields_print(&text, err) < 0)
			return -1;
		fwrite(buf_bytes(&text), 1, text.len, stdout);
		return 0;
	}
	json_auto_t *document = features();
	autofree char *text = document ? json_pretty(document, err) : NULL;
	if (!text)
		return document ? -1 : error_set(err, ERR_IO, "out of memory");
	puts(text);
	return 0;
}
