/* SPDX-License-Identifier: MIT */
#include "oci/trail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "channel/control.h"
#include "store/audit.h"

/* --- told ------------------------------------------------------------------------------------ */

static int tell_machine(const struct record *record, const char *what, const json_t *more,
			struct error *err)
{
	autofree char *machines = record_machines(record->oci, err);
	json_auto_t *request = json_pack("{s:s, s:s, s:s, s:O}", "command", "note", "what", what,
					 "name", record->id, "more", more);
	struct state_dir dir;
	struct workspace ws;
	int status;

	if (!machines || !request)
		return machines ? error_errno(err, ENOMEM, "audit") : -1;
	if (state_dir_open(machines, false, &dir, err) < 0)
		return -1;
	status = workspace_open(&dir, record_text(record, "machine"), false, &ws, err);
	if (status == 0) {
		status = control_ask(ws.fd, request, limit_deadline(LIMIT_CONTROL_REQUEST_MS), NULL,
				     err);
		workspace_close(&ws);
	}
	state_dir_close(&dir);
	return status;
}

int trail_created(const struct record *record, const struct oci_config *config, struct error *err)
{
	json_auto_t *args = json_array(), *volumes = json_array();
	json_auto_t *more = NULL;

	for (size_t i = 0; config->process.args[i]; i++)
		json_array_append_new(args, json_string(config->process.args[i]));
	for (size_t i = 0; i < config->nmounts; i++) {
		const struct oci_mount *mount = &config->mounts[i];

		if (mount->is_bind && !mount->is_shm)
			json_array_append_new(volumes,
					      json_pack("{s:s, s:s, s:b}", "source", mount->source,
							"destination", mount->destination,
							"readOnly", mount->read_only));
	}
	more = json_pack("{s:s, s:O, s:O}", "rootfs", record_text(record, "rootfs"), "args", args,
			 "volumes", volumes);
	if (!more)
		return error_errno(err, ENOMEM, "audit");
	return tell_machine(record, "created", more, err) < 0 ? error_prefix(err, "audit log") : 0;
}

void trail_deleted(const struct record *record)
{
	json_auto_t *more = json_object();

	/* Ignores a failure: the machine may be about to end. */
	(void)tell_machine(record, "deleted", more, NULL);
}

/* --- the removal of old audit logs ----------------------------------------------------------- */

/* The names contain dates, as in "sandbox-2026-11-26T..." and "security-2026-11-26.log". So in the
 * order of names the oldest name comes first. */

static int is_trail(const struct dirent *entry)
{
	return strncmp(entry->d_name, RECORD_MACHINE, strlen(RECORD_MACHINE)) == 0;
}

static int is_digests(const struct dirent *entry)
{
	return strncmp(entry->d_name, SECURITY_LOG, strlen(SECURITY_LOG)) == 0;
}

struct names {
	struct dirent **list;
	int count; /* the number of names; -1: the directory does not exist */
};

static void trail_names_free(struct names *names)
{
	for (int i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}
#define autonames __attribute__((cleanup(trail_names_free)))

static void look_into(const char *state, const char *place, int (*is)(const struct dirent *entry),
		      struct names *out)
{
	autofree char *path = path_join(state, place, NULL);

	*out = (struct names){.count = -1};
	if (path)
		out->count = scandir(path, &out->list, is, alphasort);
}

static void remove_named(const char *state, const char *place, const char *name)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", state, place, name) >= 0)
		(void)path_remove_tree_at(AT_FDCWD, path, NULL);
}

/* Removes an archive. First notes in the security log that the archive is removed on purpose. */
static void remove_trail(const char *state, const char *name)
{
	json_auto_t *why = json_pack("{s:s}", "why", "so many newer ones are kept");
	const struct audit_event event = {AUDIT_WARNING, "session", SECURITY_ARCHIVE_REMOVED, why,
					  0};

	if (security_log_note(state, name, &event, NULL) == 0)
		remove_named(state, ARCHIVE_DIR, name);
}

/* Removes the security logs of the days before the machine `oldest` was made. `oldest` is the name
 * of the oldest machine that has a workspace or an archive. */
static void remove_digests(const char *state, const char *oldest)
{
	struct names autonames digests;
	char first[64];

	snprintf(first, sizeof(first), SECURITY_LOG "%.10s", oldest + strlen(RECORD_MACHINE));
	look_into(state, SECURITY_DIR, is_digests, &digests);
	for (int i = 0; i < digests.count; i++)
		if (strcmp(digests.list[i]->d_name, first) < 0)
			remove_named(state, SECURITY_DIR, digests.list[i]->d_name);
}

void trail_trim(const struct oci *oci)
{
	autofree char *state = path_join(oci->root, RECORD_STATE, NULL);
	struct names autonames archives = {0}, autonames living = {0};
	const char *oldest = NULL;
	int gone;

	if (!state)
		return;
	look_into(state, ARCHIVE_DIR, is_trail, &archives);
	look_into(state, RECORD_LIVING, is_trail, &living);
	gone = archives.count > TRAILS_KEPT ? archives.count - TRAILS_KEPT : 0;
	for (int i = 0; i < gone; i++)
		remove_trail(state, archives.list[i]->d_name);
	if (archives.count > 0)
		oldest = archives.list[gone]->d_name;
	if (living.count > 0 && (!oldest || strcmp(living.list[0]->d_name, oldest) < 0))
		oldest = living.list[0]->d_name;
	if (oldest)
		remove_digests(state, oldest);
}
