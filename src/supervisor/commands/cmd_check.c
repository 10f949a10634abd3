/* SPDX-License-Identifier: MIT */
/* check: checks that the request fits this host, and that the files can be used. Writes nothing: no
 * record, no directory, and nothing into the cache. */
#include "base/cleanup.h"
#include "channel/publish.h"
#include "store/own_dirs.h"
#include "supervisor/capabilities.h"
#include "supervisor/commands/answer.h"
#include "supervisor/commands/record.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"
#include "supervisor/inputs/disks.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/inputs/rootfs_digest.h"
#include "supervisor/inputs/shares.h"

/* Checks the files. If the workspace is prepared, also compares the files with the recorded
 * digests. */
static int verify_for_check(const struct record *record, const struct config *config,
			    struct response *response, struct error *err)
{
	struct boot_files files;
	struct disk_list disks = DISK_LIST_INIT;
	struct bundle_list bundles = BUNDLE_LIST_INIT;
	struct manifest manifest = {0};
	struct error why = {0};
	int status = -1;

	if (boot_files_open(config, record->call->backend, ROOTFS_CHECK, INITRD_FIND, &files, err) <
	    0)
		return -1;
	if (rootfs_is_enforced(&record->ws, record->state))
		boot_files_hash_rootfs(&files);
	if (boot_files_require(&files, err) < 0 ||
	    shares_check(config, record->call->backend, err) < 0 || cgroup_check(config, err) < 0 ||
	    publish_check(config->port_forwards, err) < 0 ||
	    disks_open(config, files.file[BOOT_ROOTFS].fd, DISK_CHECK, &disks, err) < 0 ||
	    bundles_check(config, &record->ws, err) < 0)
		goto out;
	/* A manifest must exist only if the workspace has a state. */
	if (manifest_read(&record->ws, &manifest, &why) < 0 &&
	    (why.code != ERR_NOT_FOUND || record->state != STATE_UNKNOWN)) {
		*err = why;
		goto out;
	}
	if (manifest.document && !rootfs_is_enforced(&record->ws, record->state) &&
	    rootfs_digest_recall(&record->ws, &manifest, record->state, &files, err) < 0)
		goto out;
	response->verification = boot_files_verify(&files, config->image, manifest.artifacts, err);
	if (!response->verification)
		goto out;
	/* If the workspace is prepared, compares the disks that prepare has made of the bundles of
	 * this config. */
	if (!manifest.document) {
		status = 0;
	} else if (bundles_open(config, &record->ws, &bundles, err) == 0) {
		status = bundles_verify(config, &bundles, &record->ws, manifest.artifacts,
					response->verification, err);
		bundles_close(&bundles);
	}
out:
	disks_close(&disks);
	manifest_free(&manifest);
	boot_files_close(&files);
	return status;
}

static int check_request(const struct call *call, struct record *record, struct response *response,
			 struct error *err)
{
	const struct config *config = &call->request->config;

	if (state_dir_check_place(config->state_dir, err) < 0 ||
	    record_open(record, call, false, err) < 0 || record_load(record, err) < 0 ||
	    verify_for_check(record, config, response, err) < 0 ||
	    answer_declared(config, response, err) < 0)
		return -1;
	response->event = record_event(record, err);
	return response->event ? 0 : -1;
}

int cmd_check(const struct call *call, struct response *response, struct error *err)
{
	struct record record = RECORD_NONE;
	int status;

	own_dirs_look_only();
	if (capabilities_check(call->backend, &call->request->config, err) < 0)
		return -1;
	status = check_request(call, &record, response, err);
	await_look(&record);
	record_close(&record);
	return status;
}
