/* SPDX-License-Identifier: MIT */
/* The command prepare: writes the config and the digests to workspace.json, and makes a VHD (a
 * virtual hard disk) of the root file system in the same directory. */
#include "hyperv/commands/prepare.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "hyperv/commands/answer.h"
#include "hyperv/commands/commands.h"
#include "hyperv/inputs/vhd_file.h"

int manifest_load(const struct record *record, struct manifest *out, struct error *err)
{
	json_auto_t *document = store_read(&record->store, "workspace.json", err);
	struct manifest manifest = {.artifacts = json_object_get(document, "artifacts")};

	if (!document ||
	    config_from_record(json_object_get(document, "config"), &manifest.config, err) < 0)
		return -1;
	manifest.document = steal_ptr(&document);
	*out = manifest;
	return 0;
}

void manifest_drop(struct manifest *manifest)
{
	config_free(&manifest->config);
	json_decref(manifest->document);
	*manifest = (struct manifest){0};
}

/* Returns true if workspace.json or runtime.json shows that the VHD was booted. The live supervisor
 * writes vmId to runtime.json right before the machine starts. The next start writes a new
 * runtime.json with the member `booted`. The next prepare removes runtime.json, and writes the
 * member `booted` to workspace.json. */
bool disk_was_booted(const struct record *record, const json_t *document)
{
	struct error ignored;
	json_auto_t *runtime = store_read(&record->store, "runtime.json", &ignored);

	return json_is_true(json_object_get(document, "booted")) ||
	       json_is_true(json_object_get(runtime, "booted")) || json_object_get(runtime, "vmId");
}

bool disk_is_new(const struct record *record, const struct manifest *manifest)
{
	return !state_is_live(record->state) && !disk_was_booted(record, manifest->document);
}

static int put_manifest(const struct record *record, const struct request *request,
			const struct inputs *inputs, const json_t *before, bool booted,
			struct error *err)
{
	json_auto_t *document = json_object();
	char now[CLOCK_TEXT];

	clock_rfc3339(clock_real_ns(), now);
	if (json_put(document, "format", json_integer(1), err) < 0 ||
	    json_put(document, "identity", json_deep_copy(request->identity.json), err) < 0 ||
	    json_put(document, "config", json_deep_copy(request->config.normalised), err) < 0 ||
	    json_put(document, "artifacts", inputs_record(inputs, err), err) < 0 ||
	    json_put(document, "booted", json_boolean(booted), err) < 0 ||
	    json_put_string(document, "createdAt", json_text(before, "createdAt", now), err) < 0 ||
	    json_put_string(document, "preparedAt", now, err) < 0)
		return -1;
	return store_write(&record->store, "workspace.json", document, err);
}

/* Returns true if the existing VHD may be kept. A VHD that was booted contains the guest's writes,
 * and is kept. A VHD that was never booted must be equal to the image. Such a VHD may differ, since
 * an earlier prepare may have been killed before it recorded the source of the VHD. */
static bool may_keep_vhd(const char *vhd, const struct inputs *inputs, bool booted)
{
	char sha256[FILE_DIGEST_TEXT] = "";
	struct error ignored;

	if (vhd_file_check(vhd, booted ? NULL : sha256, &ignored) < 0)
		return false;
	return booted || strcmp(sha256, inputs->rootfs_sha256) == 0;
}

/* Makes the VHD, or keeps an existing VHD that was made from the same image. Sets *booted to true
 * if the kept VHD was booted. */
static int make_vhd(const struct record *record, const json_t *before, struct inputs *inputs,
		    bool *booted, struct error *err)
{
	const json_t *artifacts = json_object_get(before, "artifacts");
	const char *then = json_text(json_object_get(artifacts, "rootfs"), "sha256", "");
	autofree char *vhd = store_path(&record->store, ROOT_VHD, err);
	bool was_booted = disk_was_booted(record, before);

	if (!vhd)
		return -1;
	if (*then && inputs_hash_raw(inputs, err) < 0)
		return -1;
	if (*then && strcmp(then, inputs->rootfs_sha256) == 0 &&
	    may_keep_vhd(vhd, inputs, was_booted)) {
		*booted = was_booted;
		return 0;
	}
	*booted = false;
	return vhd_file_make(inputs->rootfs, vhd, inputs->rootfs_sha256, err);
}

/* Removes the files of earlier boots, so that no command reports an old result, and serial.log
 * begins empty. */
static int remove_old(const struct record *record, struct error *err)
{
	static const char *const files[] = {"result.json", "runtime.json", "serial.log",
					    "serial.log.1"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (store_remove_file(&record->store, files[i], err) < 0)
			return -1;
	return 0;
}

int prepare_workspace(struct record *record, const struct request *request, struct inputs *inputs,
		      struct error *err)
{
	bool made = !store_exists(&record->store), booted = false;
	struct error ignored;
	json_auto_t *before = store_read(&record->store, "workspace.json", &ignored);

	if (store_create(&record->store, err) == 0 &&
	    make_vhd(record, before, inputs, &booted, err) == 0 &&
	    put_manifest(record, request, inputs, before, booted, err) == 0 &&
	    remove_old(record, err) == 0 && record_note(record, STATE_PREPARED, NULL, err) == 0)
		return 0;
	if (made)
		(void)store_remove(&record->store, &ignored);
	return -1;
}

static int prepare_locked(struct record *record, const struct request *request,
			  struct inputs *inputs, struct response *response, struct error *err)
{
	json_auto_t *recorded = NULL;
	const struct host_bounds bounds = host_bounds();

	if (record_allows(record, COMMAND_PREPARE, err) < 0 ||
	    config_settle_cpus(&request->config, ACCELERATOR_KVM, &bounds, err) < 0 ||
	    prepare_workspace(record, request, inputs, err) < 0)
		return -1;
	recorded = inputs_record(inputs, err);
	response->verification = inputs_verify(inputs, request->config.image, recorded, err);
	response->event = record_event(record, err);
	answer_declared(&request->config, response);
	return recorded && response->verification && response->event ? 0 : -1;
}

int hyperv_prepare(const struct request *request, struct response *response, struct error *err)
{
	__attribute__((cleanup(inputs_close))) struct inputs inputs = {0};
	struct record record;
	int status;

	if (refuse_config(&request->config, err) < 0 ||
	    inputs_open(&request->config, &inputs, err) < 0 ||
	    record_begin(&record, request, true, err) < 0)
		return -1;
	status = prepare_locked(&record, request, &inputs, response, err);
	record_end(&record);
	return status;
}
