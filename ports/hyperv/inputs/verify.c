/* SPDX-License-Identifier: MIT */
/* Compares the present input files of a machine with those that prepare has recorded. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "hyperv/inputs/inputs.h"

struct verified {
	const char *name, *path, *sha256; /* sha256 is "" if the file was not hashed */
};

#define VERIFIED 4
static void list_inputs(const struct inputs *inputs, struct verified out[VERIFIED])
{
	out[0] = (struct verified){"kernel", inputs->kernel, inputs->kernel_sha256};
	out[1] = (struct verified){"initrd", inputs->initrd, inputs->initrd_sha256};
	out[2] = (struct verified){"init", inputs->initrd, inputs->init_sha256};
	out[3] = (struct verified){"rootfs", inputs->rootfs, inputs->rootfs_sha256};
}

json_t *inputs_record(const struct inputs *inputs, struct error *err)
{
	struct verified list[VERIFIED];
	json_auto_t *record = json_object();

	list_inputs(inputs, list);
	for (int i = 0; i < VERIFIED; i++)
		if (*list[i].sha256 && json_put(record, list[i].name,
						json_pack("{s:s, s:s}", "path", list[i].path,
							  "sha256", list[i].sha256),
						err) < 0)
			return NULL;
	return steal_ptr(&record);
}

static int verify_input(const struct verified *input, const json_t *recorded, json_t *block,
			json_t *divergence, struct error *err)
{
	const char *then = json_text(json_object_get(recorded, input->name), "sha256", NULL);
	json_auto_t *artifact = json_object();

	if (!then && !*input->sha256 && strcmp(input->name, "init") == 0)
		return 0;
	if (json_put_string(artifact, "path", input->path, err) < 0 ||
	    (*input->sha256 && json_put_string(artifact, "sha256", input->sha256, err) < 0) ||
	    json_put_optional(artifact, "recordedSHA256", then, err) < 0 ||
	    json_put(block, input->name, json_incref(artifact), err) < 0)
		return -1;
	if (!then || !*input->sha256 || strcmp(then, input->sha256) == 0)
		return 0;
	return json_array_append_new(divergence,
				     json_pack("{s:s, s:s, s:s, s:s}", "artifact", input->name,
					       "field", "sha256", "expected", then, "actual",
					       input->sha256)) < 0
		       ? error_errno(err, ENOMEM, "memory")
		       : 0;
}

json_t *inputs_verify(const struct inputs *inputs, const json_t *image, const json_t *recorded,
		      struct error *err)
{
	struct verified list[VERIFIED];
	json_auto_t *block = json_object();
	json_auto_t *divergence = json_array();

	list_inputs(inputs, list);
	if (json_put(block, "ok", json_true(), err) < 0 ||
	    (image && json_object_update(block, (json_t *)(uintptr_t)image) < 0))
		return NULL;
	for (int i = 0; i < VERIFIED; i++)
		if (verify_input(&list[i], recorded, block, divergence, err) < 0)
			return NULL;
	if (json_put(block, "ok", json_boolean(json_array_size(divergence) == 0), err) < 0 ||
	    json_put(block, "divergence", json_incref(divergence), err) < 0)
		return NULL;
	return steal_ptr(&block);
}

int inputs_require(const json_t *verification, struct error *err)
{
	const json_t *first = json_array_get(json_object_get(verification, "divergence"), 0);
	const char *name = json_text(first, "artifact", "");

	if (!first)
		return 0;
	error_set(
		err, ERR_CONFLICT,
		"the %s %s has changed since the workspace was prepared (its digest is %.12s now, and was %.12s): prepare the workspace again if the change is intended",
		strcmp(name, "rootfs") ? name : "workspace's rootfs.vhd, a copy of",
		json_text(json_object_get(verification, name), "path", ""),
		json_text(first, "actual", ""), json_text(first, "expected", ""));
	return error_reason(err, REASON_NOT_AS_PREPARED, "");
}
