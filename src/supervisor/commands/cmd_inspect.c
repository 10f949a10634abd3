/* SPDX-License-Identifier: MIT */
/* inspect: reports the recorded state, and what can be observed at present. Takes the command lock
 * only if the record is stale and must be corrected. */
#include "base/cleanup.h"
#include "supervisor/commands/answer.h"
#include "supervisor/commands/settle.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/inputs/rootfs_digest.h"

static int inspect_rootfs(const struct record *record, const struct manifest *manifest,
			  struct boot_files *files, struct error *err)
{
	if (rootfs_is_enforced(&record->ws, record->state))
		boot_files_hash_rootfs(files);
	else if (record->call->options->full)
		return rootfs_digest_renew(&record->ws, record->state, files, err);
	else
		return rootfs_digest_recall(&record->ws, manifest, record->state, files, err);
	return 0;
}

static int describe_recorded(const struct record *record, const struct manifest *manifest,
			     struct response *response, struct error *err)
{
	struct bundle_list bundles = BUNDLE_LIST_INIT;
	struct boot_files files;
	int status;

	if (boot_files_open(&manifest->config, record->call->backend, ROOTFS_LOOK, INITRD_FIND,
			    &files, err) < 0)
		return -1;
	if (inspect_rootfs(record, manifest, &files, err) == 0)
		response->verification =
			boot_files_verify(&files, manifest->config.image, manifest->artifacts, err);
	boot_files_close(&files);
	if (!response->verification ||
	    bundles_open(&manifest->config, &record->ws, &bundles, err) < 0)
		return -1;
	status = bundles_verify(&manifest->config, &bundles, &record->ws, manifest->artifacts,
				response->verification, err);
	bundles_close(&bundles);
	if (status < 0 || answer_declared(&manifest->config, response, err) < 0)
		return -1;
	return answer_live(record, &manifest->config, response, err);
}

static int inspect(struct record *record, struct response *response, struct error *err)
{
	struct manifest manifest = {0};
	int status = -1;

	if (settle_if_stale(record, err) < 0)
		return -1;
	response->event = record_event(record, err);
	if (!response->event)
		return -1;
	if (record->state == STATE_UNKNOWN)
		return 0;
	if (manifest_read(&record->ws, &manifest, err) == 0)
		status = describe_recorded(record, &manifest, response, err);
	manifest_free(&manifest);
	return status;
}

int cmd_inspect(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	status = record_open(&record, call, false, err);
	if (status == 0)
		status = inspect(&record, response, err);
	record_close(&record);
	return status;
}
