/* SPDX-License-Identifier: MIT */
#include "api/reader.h"

#include <errno.h>
#include <string.h>

#include "api/explain.h"
#include "api/foreground.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "contract/kind.h"
#include "store/disk_file.h"

#define READER_NAME "reader"
#define LOCK_NAME "reading"
#define MEMORY_MIB 160

/* --- the directory --------------------------------------------------------------------------- */

/* Removes the directory of a reader that was killed. The machine of that reader ends too, but
 * possibly a moment later than the reader. So this function first waits until the machine has
 * ended. */
static int reader_remove_left(struct reader *reader, struct error *err)
{
	struct workspace earlier;
	int status;

	if (workspace_open(&reader->dir, READER_NAME, false, &earlier, err) < 0)
		return -1;
	if (earlier.fd < 0) {
		workspace_close(&earlier);
		return 0;
	}
	status = lease_wait_free(&earlier, limit_deadline(LIMIT_KILL_MS), err);
	workspace_close(&earlier);
	return status < 0 ? -1 : path_remove_tree_at(reader->dir.fd, READER_NAME, err);
}

int reader_begin(const struct microagent *agent, const struct open_workspace *existing,
		 struct reader *out, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_READER_LOCK_MS);
	autofree char *path = workspace_path(&existing->ws, NULL, err);

	out->agent = agent;
	out->of = &existing->ws;
	if (!path || state_dir_open(path, false, &out->dir, err) < 0)
		return -1;
	out->lock = workspace_lock(&out->dir, LOCK_NAME, deadline, err);
	if (out->lock < 0 || reader_remove_left(out, err) < 0)
		return -1;
	return workspace_open(&out->dir, READER_NAME, true, &out->ws, err);
}

int reader_hold(struct reader *reader, const struct open_workspace *existing, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_ENDING_MS);
	auto_lease struct lease lease = LEASE_NONE;

	/* The machine of an earlier reader may still be ending, so this function waits for the
	 * lease. If another process holds the lease for longer, lease_take() fails and says so. */
	(void)lease_wait_free(&existing->ws, deadline, NULL);
	if (lease_take(&existing->ws, &lease, err) < 0)
		return -1;
	if (linkat(existing->ws.fd, "lease", reader->ws.fd, "lease", 0) < 0)
		return error_errno(err, errno, "%s/lease", existing->ws.id);
	reader->held = &existing->ws;
	return 0;
}

void reader_end(struct reader *reader)
{
	supervisor_run_free(&reader->supervisor);
	/* The last process of the machine may exit a moment after the supervisor's answer. This
	 * call waits for its exit. Otherwise the next reader could find the lease held. */
	if (reader->held)
		(void)lease_wait_free(reader->held, limit_deadline(LIMIT_KILL_MS), NULL);
	if (reader->ws.id) {
		workspace_close(&reader->ws);
		(void)path_remove_tree_at(reader->dir.fd, READER_NAME, NULL);
	}
	if (reader->lock >= 0) {
		workspace_lock_remove(&reader->dir, LOCK_NAME);
		close(reader->lock);
	}
	if (reader->dir.path)
		state_dir_close(&reader->dir);
	*reader = (struct reader)READER_NONE;
}

/* --- the machine ----------------------------------------------------------------------------- */

/* Puts a kernel into the config: the newest kernel of the cache for this host. The microagent-init
 * of this kernel usually has the version of this program, and can read disks of guests of any
 * architecture. If the cache has no such kernel, puts the kernel of the workspace. */
static int put_kernel(json_t *config, const json_t *recorded, struct error *err)
{
	static const char *const keys[] = {"kernelPath", "initrdPath", "architecture"};
	struct cache_kernel kernel = {0};
	bool found = cache_kernel_find(NULL, architecture_of_host(), &kernel, NULL) == 0 &&
		     kernel.initrd;
	int status = 0;

	for (size_t i = 0; !found && status == 0 && i < ARRAY_SIZE(keys); i++)
		if (json_object_get(recorded, keys[i]))
			status = json_put(config, keys[i],
					  json_incref(json_object_get(recorded, keys[i])), err);
	if (found)
		status = json_put_string(config, "kernelPath", kernel.path, err);
	cache_kernel_free(&kernel);
	return status;
}

static json_t *make_reader_config(const struct reader *reader, const json_t *recorded,
				  const struct reader_disk *disk, struct error *err)
{
	json_auto_t *config = json_object();
	const json_t *accelerator = json_object_get(recorded, "accelerator");
	/* The supervisor of a reader follows no links, so this function puts a path without links
	 * into the config. */
	struct error why = {0};
	autofree char *end = disk->direct ? NULL : disk_file_end(disk->path, &why);

	if (why.code == ERR_DENIED) {
		error_copy(err, &why);
		return NULL;
	}
	if (put_kernel(config, recorded, err) < 0 ||
	    json_put_string(config, "rootfsPath", end ? end : disk->path, err) < 0 ||
	    (disk->base && json_put_string(config, "rootfsBase", disk->base, err) < 0) ||
	    json_put_string(config, "stateDir", reader->dir.path, err) < 0 ||
	    json_put(config, "memoryMiB", json_integer(MEMORY_MIB), err) < 0 ||
	    json_put(config, "cpuCount", json_integer(1), err) < 0 ||
	    json_put(config, "network", json_pack("{s:s}", "mode", "isolated"), err) < 0)
		return NULL;
	if (request_confine(reader->agent, config, recorded, err) < 0)
		return NULL;
	if (accelerator && json_put(config, "accelerator", json_deep_copy(accelerator), err) < 0)
		return NULL;
	return steal_ptr(&config);
}

int reader_boot(struct reader *reader, const json_t *config, const struct reader_disk *disk,
		enum reader_use use, struct error *err)
{
	const char *option = use == READER_WRITE ? "--writer" : "--reader";
	json_t *own = make_reader_config(reader, config, disk, err);
	struct microagent agent = *reader->agent;
	char name[sizeof(err->subject)];

	agent.backend = request_backend_of(reader->agent, reader->of);
	json_auto_t *request = own ? request_new(&agent, "run", READER_NAME, own, err) : NULL;

	if (!request)
		return -1;
	if (foreground_boot(reader->agent, request, option, false, -1, &reader->supervisor, err) ==
	    0)
		return 0;
	/* The reader's name means nothing to a user, so the error names the workspace that is
	 * read. */
	if (err && strcmp(err->subject, READER_NAME) == 0) {
		snprintf(name, sizeof(name), "%.*s", (int)kind_name_length(reader->of->id),
			 reader->of->id);
		error_reason(err, err->reason, name);
	}
	explain_missing_file(reader->of->id, err);
	return error_prefix(
		err, "the disk cannot be read, because the machine that reads it has failed");
}
