/* SPDX-License-Identifier: MIT */
/*
 * Clones a session of a macOS base. APFS clones a file of any size almost at once (clonefile(2)).
 * If the state directory is on another file system, the whole file is copied. The answer to the
 * user then has "clone":"copy".
 *
 * Each clone gets a new machine identifier. Apple says that two machines with the same identifier
 * must not run at the same time, and that services may confuse such machines
 * (developer.apple.com/documentation/virtualization/vzmacmachineidentifier). An installed macOS
 * accepts a new identifier: tart also gives its clones new ones (github.com/cirruslabs/tart, `tart
 * set --random-serial`).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/macos.h"
#include "session/macos/macos.h"

/* Clones a file of the base for a session, because a session may write only its own files. The
 * hardware model is never written, but is cloned too, because a clone of such a small file costs
 * little. */
static int clone_macos_file(const struct base *base, const char *name, int dir, const char **method,
			    struct error *err)
{
	autoclose int from = openat(base->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0)
		return error_errno(err, errno, "%s/%s", base->path, name);
	return clone_with_digest(from, dir, name, method, err);
}

int macos_clone(const struct base *base, const struct workspace *ws, const char **method,
		struct error *err)
{
	if (clone_macos_file(base, MACOS_DISK, ws->fd, method, err) < 0 ||
	    clone_macos_file(base, MACOS_AUXILIARY, ws->fd, NULL, err) < 0)
		return -1;
	return clone_macos_file(base, MACOS_MODEL, ws->fd, NULL, err);
}

int macos_identify(const struct microagent *agent, const struct workspace *ws, struct error *err)
{
	autofree char *directory = workspace_path(ws, NULL, err);
	const struct microagent_base_spec spec = {.cancel = agent->cancel > 0 ? agent->cancel : 0};
	const struct making making = {.agent = agent, .spec = &spec};
	json_auto_t *job = directory ? json_pack("{s:s,s:s}", "job", MACOS_JOB_IDENTIFY,
						 "directory", directory)
				     : NULL;

	if (!job)
		return directory ? error_errno(err, ENOMEM, "session") : -1;
	return macos_job_run(&making, job, NULL, NULL, err);
}

int macos_put_config(const char *directory, json_t *config, struct error *err)
{
	static const struct {
		const char *key, *file;
	} rows[] = {{"hardwareModelPath", MACOS_MODEL},
		    {"auxiliaryStoragePath", MACOS_AUXILIARY},
		    {"machineIdentifierPath", MACOS_IDENTIFIER}};
	json_auto_t *macos = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autofree char *path = path_join(directory, rows[i].file, err);

		if (!path || json_put_string(macos, rows[i].key, path, err) < 0)
			return -1;
	}
	return json_put(config, "macos", json_incref(macos), err);
}

static int check_least(const struct base *base, const char *field, const char *key,
		       const char *unit, int64_t given, struct error *err)
{
	const json_t *macos = json_object_get(base->metadata, "macos");
	int64_t least = json_integer_value(json_object_get(macos, key));

	if (given >= least)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"session.%s: macOS %.32s needs at least %lld%s, and is given %lld: give it more",
		field, json_text(macos, "version", "?"), (long long)least, unit, (long long)given);
}

int macos_check_session(const struct microagent *agent, const struct base *base, int64_t memory_mib,
			int64_t cpus, struct error *err)
{
	if (!base_is_macos(base))
		return 0;
	if (strcmp(agent->backend->name, MACOS_BACKEND) != 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"base %s is macOS, but backend %s has no macOS guests: only Apple's Virtualization.framework (" MACOS_BACKEND
			") has them",
			base->name.full, agent->backend->name);
	return check_least(base, "memory", "memoryMiB", " MiB", memory_mib, err) < 0
		       ? -1
		       : check_least(base, "cpus", "cpuCount", "", cpus, err);
}

int macos_check_publish(const struct base *base, const char *const *publish, struct error *err)
{
	if (!base_is_macos(base) || !publish || !publish[0])
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"config.network.portForwards: the agent of macOS guests publishes no ports: leave them out");
}

int macos_check_pool(const struct base *base, int64_t size, struct error *err)
{
	int64_t most = (int64_t)limit_get(LIMIT_MACOS_GUESTS);

	if (!base_is_macos(base) || size <= most)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"a pool of %lld is too large: base %s is macOS, and Apple allows %lld running macOS guests on a Mac; choose a smaller size",
		(long long)size, base->name.full, (long long)most);
}
