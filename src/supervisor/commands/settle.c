/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/settle.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "store/audit.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/live/outcome.h"

/* Returns true if the record may be stale. The record of a quarantined workspace is stale only if
 * its live supervisor was killed, and so has left its socket behind. */
static bool may_be_stale(const struct record *record)
{
	if (record->state == STATE_QUARANTINED)
		return leftover_has_control(&record->ws);
	return state_is_live(record->state);
}

/* Returns true if the record is stale: its state says that the machine lives, but the lease is
 * free, or is held only by processes that will exit because their supervisor has exited. */
static bool is_stale(const struct record *record)
{
	if (!may_be_stale(record))
		return false;
	return !lease_is_held(&record->ws) || leftover_supervisor_is_gone(&record->ws);
}

bool settle_finds_damaged_lease(const struct record *record, struct error *why)
{
	return lease_is_damaged(&record->ws, why) && !leftover_lives_by_name(&record->ws);
}

bool settle_finds_life(const struct record *record)
{
	if (!lease_is_held(&record->ws))
		return false;
	if (leftover_supervisor_is_gone(&record->ws))
		leftover_end_all(&record->ws, limit_deadline(LIMIT_KILL_MS));
	else if (state_is_live(record->state) || record->state == STATE_QUARANTINED)
		return true;
	return lease_wait_free(&record->ws, limit_deadline(LIMIT_ENDING_MS), NULL) < 0;
}

/* Writes to the audit log that the live supervisor was killed. Ignores errors, since a full disk
 * must not prevent the repair of the record. */
static void audit_loss(const struct record *record, const char *detail)
{
	json_auto_t *data = json_pack("{s:s}", "why", detail);
	const struct audit_event event = {AUDIT_CRITICAL, "supervisor", "supervisor.lost", data, 0};
	struct error ignored;

	(void)audit_note(&record->ws, &event, &ignored);
	if (audit_is_kept(&record->ws))
		(void)audit_note_telemetry(&record->ws, &ignored);
}

/* Returns the shared directories of a machine that was running, from runtime.json, which also has
 * the directories that were shared later. If runtime.json cannot be read, returns the shares of the
 * config. */
static json_t *lost_shares(const struct record *record)
{
	__attribute__((cleanup(manifest_free))) struct manifest manifest = {0};
	json_auto_t *runtime = workspace_read(&record->ws, "runtime.json", NULL);
	json_t *given = json_object_get(runtime, "shares");

	if (record->state != STATE_RUNNING)
		return NULL;
	if (json_array_size(given) > 0)
		return json_incref(given);
	return manifest_read_accepted(&record->ws, &manifest, NULL) < 0
		       ? NULL
		       : json_incref((json_t *)(uintptr_t)manifest.config.shares);
}

static void audit_unshared(const struct record *record, const char *detail)
{
	json_auto_t *shares = audit_is_kept(&record->ws) ? lost_shares(record) : NULL;
	struct error ignored;
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		json_auto_t *data =
			json_pack("{s:s, s:s, s:s}", "path", json_text(share, "path", ""),
				  "mountpoint", json_text(share, "mountpoint", ""), "why", detail);
		const struct audit_event event = {AUDIT_INFO, "share", "share.removed", data, 0};

		if (data && !json_is_true(json_object_get(share, "containers")))
			(void)audit_note(&record->ws, &event, &ignored);
	}
}

int settle(struct record *record, struct error *err)
{
	return settle_for(record, NULL, err);
}

int settle_for(struct record *record, const char *reason, struct error *err)
{
	const char *was, *cut;
	char detail[1024];

	if (record_load(record, err) < 0 || settle_finds_damaged_lease(record, err))
		return -1;
	if (record->state == STATE_UNKNOWN && record->ws.fd >= 0 && lease_is_held(&record->ws))
		record->state = STATE_RUNNING;
	if (!is_stale(record))
		return 0;
	was = state_names[record->state];
	/* The state `failed` already says that the machine did not end in order, so the detail of
	 * this state does not begin with UNCLEAN. */
	cut = record->state == STATE_QUARANTINED ? UNCLEAN : "";
	if (reason)
		snprintf(detail, sizeof(detail), "%s%s", cut, reason);
	else if (leftover_of_another_boot(&record->ws))
		snprintf(detail, sizeof(detail),
			 "%sthe host was rebooted while the workspace was %s", cut, was);
	else
		snprintf(detail, sizeof(detail),
			 "%sthe live supervisor ended unexpectedly while the workspace was %s", cut,
			 was);
	leftover_end_all(&record->ws, limit_deadline(LIMIT_KILL_MS));
	if (lease_wait_free(&record->ws, limit_deadline(LIMIT_KILL_MS), err) < 0 ||
	    leftover_remove_files(&record->ws, err) < 0)
		return -1;
	audit_loss(record, detail);
	audit_unshared(record, detail);
	return record_note(record,
			   record->state == STATE_QUARANTINED ? STATE_QUARANTINED : STATE_FAILED,
			   detail, err);
}

/* Returns true if another backend made the workspace. Reads this from the manifest, which a live
 * supervisor cannot change without being noticed. */
static bool is_of_another_backend(const struct record *record)
{
	__attribute__((cleanup(manifest_free))) struct manifest manifest = {0};
	const char *own = record->call->backend->name;
	struct error ignored;

	return manifest_read_accepted(&record->ws, &manifest, &ignored) == 0 &&
	       strcmp(json_text(json_object_get(manifest.document, "identity"), "backend", own),
		      own) != 0;
}

int settle_to_end(struct record *record, struct error *err)
{
	struct error why = {0}, damage;

	if (settle(record, &why) == 0)
		return 0;
	if (record->ws.fd < 0 || !lease_is_held(&record->ws) ||
	    settle_finds_damaged_lease(record, &damage) ||
	    (why.code == ERR_CONFLICT && is_of_another_backend(record))) {
		*err = why;
		return -1;
	}
	record->state = STATE_RUNNING;
	return 0;
}

int settle_if_stale(struct record *record, struct error *err)
{
	int status;

	if (record_load(record, err) < 0)
		return -1;
	if (!is_stale(record))
		return 0;
	/* The live supervisor may just have ended the machine in order. So the record is examined
	 * again under the lock. A record that is still stale then is certainly stale. */
	if (record_lock(record, err) < 0)
		return -1;
	status = settle(record, err);
	record_unlock(record);
	return status;
}

bool settle_proves_quarantine(const struct record *record)
{
	return !record->call->backend->sever_duty || quarantine_proof_is_given(&record->ws);
}

int settle_refuse_quarantined(const struct record *record, struct error *err)
{
	if (!record->call->options->keep_quarantined || record->state != STATE_QUARANTINED ||
	    (lease_is_held(&record->ws) && !settle_proves_quarantine(record)))
		return 0;
	return kind_say(KIND_KEPT, record->ws.id, NULL, ERR_CONFLICT, err);
}
