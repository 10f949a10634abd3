/* SPDX-License-Identifier: MIT */
/* The command inspect: reports the record of the workspace and its present state. */
#include "base/cleanup.h"
#include "base/json.h"
#include "hyperv/commands/answer.h"
#include "hyperv/commands/commands.h"
#include "hyperv/commands/prepare.h"

/* Compares the recorded inputs with the present files. If a file does not exist any more, this is
 * reported, but the command does not fail. */
static json_t *verify_recorded(const struct record *record, const struct manifest *manifest,
			       struct error *err)
{
	__attribute__((cleanup(inputs_close))) struct inputs inputs = {0};
	const char *artifact = "rootfs";
	struct error why = {0};

	if (inputs_find(&manifest->config, &inputs, &artifact, &why) < 0 ||
	    (disk_is_new(record, manifest) &&
	     inputs_check_vhd(&inputs, &record->store, true, &why) < 0))
		return json_pack(
			"{s:b, s:[{s:s, s:s, s:s*, s:n, s:s}]}", "ok", 0, "divergence", "artifact",
			artifact, "field", "sha256", "expected",
			json_text(json_object_get(manifest->artifacts, artifact), "sha256", NULL),
			"actual", "error", why.msg);
	return inputs_verify(&inputs, manifest->config.image, manifest->artifacts, err);
}

static int inspect_record(struct record *record, struct response *response, struct error *err)
{
	__attribute__((cleanup(manifest_drop))) struct manifest manifest = {0};
	__attribute__((cleanup(told_free))) struct told told = {0};
	struct error why = {0};

	response->event = record_event(record, err);
	if (!response->event)
		return -1;
	if (record->state == STATE_UNKNOWN)
		return 0;
	if (manifest_load(record, &manifest, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
	told = answer_read(record);
	store_unlock(&record->store);
	response->verification = verify_recorded(record, &manifest, err);
	if (!response->verification)
		return -1;
	return answer_live(record, &manifest.config, &told, response, err);
}

int hyperv_inspect(const struct request *request, struct response *response, struct error *err)
{
	struct record record;
	int status;

	if (record_begin(&record, request, false, err) < 0)
		return -1;
	status = inspect_record(&record, response, err);
	record_end(&record);
	return status;
}
