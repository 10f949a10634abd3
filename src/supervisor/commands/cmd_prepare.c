/* SPDX-License-Identifier: MIT */
/* prepare: writes the config and the digests into workspace.json. Boots no machine. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "channel/publish.h"
#include "store/taken.h"
#include "supervisor/capabilities.h"
#include "supervisor/commands/answer.h"
#include "supervisor/commands/old_files.h"
#include "supervisor/commands/prepare.h"
#include "supervisor/commands/settle.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/inputs/disks.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/inputs/shares.h"

/* If the request does not give the number of CPUs, chooses the number and records it. If the number
 * was not recorded, the next start of this workspace could get another number, after the host has
 * gained or lost KVM. */
static int settle_cpus(const struct call *call, struct error *err)
{
	const struct config *config = &call->request->config;
	const struct host_bounds bounds = host_bounds();
	enum accelerator accelerator = config->accelerator;
	struct error ignored;
	char reason[256];

	(void)call->backend->accelerator(config, &accelerator, reason, &ignored);
	return config_settle_cpus(config, accelerator, &bounds, err);
}

int prepare_workspace(struct record *record, const struct boot_files *files,
		      const struct bundle_list *bundles, struct error *err)
{
	const struct request *request = record->call->request;
	bool made = record->ws.fd < 0, kept = false;
	json_auto_t *artifacts = boot_files_record(files, err);
	struct error ignored;

	if (!artifacts || settle_cpus(record->call, err) < 0 ||
	    bundles_record(&request->config, bundles, artifacts, err) < 0 ||
	    old_files_check(&record->ws, err) < 0 || record_create(record, err) < 0)
		return -1;
	/* Writes the manifest and the event. If the disk has no room for both files, neither is
	 * replaced. */
	if (old_files_keep_manifest(&record->ws, &kept, err) < 0)
		goto undo;
	if (manifest_write(&record->ws, &request->identity, &request->config, artifacts, err) < 0 ||
	    record_note(record, STATE_PREPARED, NULL, err) < 0) {
		old_files_restore_manifest(&record->ws, kept);
		goto undo;
	}
	old_files_drop_manifest(&record->ws);
	/* If this call fails, the next start accepts the previous manifest as well as the new
	 * one. */
	(void)manifest_settle(&record->ws, NULL);
	if (bundles_place(&request->config, bundles, &record->ws, err) == 0)
		return old_files_remove(&record->ws, err);
undo:
	/* If this command has made the directory and could not fill it, for example because the
	 * disk is full, removes the directory again. */
	if (made)
		(void)workspace_remove(&record->ws, &ignored);
	return -1;
}

/* Requires that the workspace was not deleted since its disk was opened. Otherwise this command
 * would make the workspace's directory again, without a disk in it. Called under the command
 * lock. */
static int check_not_deleted(const struct boot_files *files, struct error *err)
{
	const char *path = files->file[BOOT_ROOTFS].path;
	int fd = files->file[BOOT_ROOTFS].fd;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_nlink > 0 || access(path, F_OK) == 0)
		return 0;
	return error_set(
		err, ERR_CONFLICT,
		"%s was deleted while the workspace was being prepared: put it back, or name another disk",
		path);
}

static int prepare_record(struct record *record, struct boot_files *files,
			  struct bundle_list *bundles, struct response *response, struct error *err)
{
	const struct config *config = &record->call->request->config;
	bool keep = record->call->options->keep_reviews;
	struct disk_list disks = DISK_LIST_INIT;
	json_auto_t *recorded = NULL;

	/* These steps may take long, so they are done before the lock is taken. */
	boot_files_hash_rootfs(files);
	if (boot_files_require(files, err) < 0 ||
	    shares_check(config, record->call->backend, err) < 0 || cgroup_check(config, err) < 0 ||
	    publish_check(config->port_forwards, err) < 0)
		return -1;
	/* Checks that a machine could use the disks. The disks are closed again, since only their
	 * paths are recorded. */
	if (disks_open(config, files->file[BOOT_ROOTFS].fd, DISK_CHECK, &disks, err) < 0)
		return -1;
	disks_close(&disks);
	/* The state directory is made only if the directories and archives can be read. Which of
	 * them are kept is known only when the workspace is open. */
	if ((!keep && bundles_check(config, NULL, err) < 0) ||
	    record_open(record, record->call, true, err) < 0 ||
	    (keep && bundles_check(config, &record->ws, err) < 0) ||
	    bundles_build(config, &record->dir, keep ? &record->ws : NULL, bundles, err) < 0)
		return -1;

	if (record_lock(record, err) < 0 || check_not_deleted(files, err) < 0 ||
	    settle(record, err) < 0 || record_allows(record, COMMAND_PREPARE, err) < 0)
		return -1;
	/* No process of this workspace is alive that could write to its root disk.
	 * boot_files_take() keeps all other processes from writing to the disk while its digest is
	 * computed. */
	if (boot_files_take(files, true, err) < 0)
		return -1;
	boot_files_hash_rootfs(files);
	if (boot_files_require(files, err) < 0 ||
	    prepare_workspace(record, files, bundles, err) < 0)
		return -1;
	file_give_back(files->file[BOOT_ROOTFS].fd);
	record_unlock(record);

	recorded = boot_files_record(files, err);
	if (!recorded || bundles_record(config, bundles, recorded, err) < 0)
		return -1;
	response->verification = boot_files_verify(files, config->image, recorded, err);
	if (!response->verification ||
	    bundles_verify(config, bundles, &record->ws, recorded, response->verification, err) <
		    0 ||
	    answer_declared(config, response, err) < 0)
		return -1;
	response->event = record_event(record, err);
	return response->event ? 0 : -1;
}

int cmd_prepare(const struct call *call, struct response *response, struct error *err)
{
	const struct config *config = &call->request->config;
	struct record record = RECORD_NONE;
	struct bundle_list bundles = BUNDLE_LIST_INIT;
	struct boot_files files;
	int status;

	if (capabilities_check(call->backend, config, err) < 0 ||
	    boot_files_open(config, call->backend, ROOTFS_CHECK, INITRD_MAKE, &files, err) < 0)
		return -1;
	record.call = call;
	status = prepare_record(&record, &files, &bundles, response, err);
	bundles_close(&bundles);
	record_unlock(&record);
	await_look(&record);
	record_close(&record);
	boot_files_close(&files);
	return status;
}
