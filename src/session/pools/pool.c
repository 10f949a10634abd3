/* SPDX-License-Identifier: MIT */
/* Reads and writes the record of a pool, and counts the members of all pools. */
#include "session/pools/pool.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"

static int decode_pool(const json_t *json, struct pool_record *out, struct error *err)
{
	struct pool_record record = {0};
	/* The record of an older pool does not name a backend. The machines of such a pool run in
	 * QEMU. */
	const char *network = NULL, *backend = "qemu";
	int64_t format = 0;

	if (json_get_int(json, "", "format", JSON_REQUIRED, 1, 1, &format, err) < 0 ||
	    json_get_int(json, "", "size", JSON_REQUIRED, 1, INT32_MAX, &record.size, err) < 0 ||
	    json_get_int(json, "", "memoryMiB", JSON_REQUIRED, 1, INT32_MAX, &record.memory_mib,
			 err) < 0 ||
	    json_get_int(json, "", "cpuCount", JSON_REQUIRED, 1, INT32_MAX, &record.cpus, err) <
		    0 ||
	    json_get_string(json, "", "network", JSON_REQUIRED, &network, err) < 0 ||
	    json_get_string(json, "", "backend", JSON_OPTIONAL, &backend, err) < 0 ||
	    microagent_check_backend(backend, err) < 0)
		return -1;
	if (strlen(network) >= sizeof(record.network))
		return error_set(
			err, ERR_INVALID,
			"the pool's record is damaged, because microagent does not know the network that it names");
	snprintf(record.network, sizeof(record.network), "%s", network);
	snprintf(record.backend, sizeof(record.backend), "%s", backend);
	*out = record;
	return 0;
}

int pool_read(const struct pool *pool, struct pool_record *out, struct error *err)
{
	autobuf struct buf text = BUF_INIT(limit_get(LIMIT_STATE_FILE_BYTES));
	json_auto_t *json = NULL;
	struct error why = {0};

	if (path_read_file_at(pool->dir.fd, POOL_RECORD, &text, &why) == 0)
		json = json_load_strict(buf_bytes(&text), text.len, &why);
	if (json && decode_pool(json, out, &why) == 0)
		return 0;
	if (why.code == ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "base %s has no pool, so no sessions of it are kept ready",
				 pool->base);
	error_set(err, ERR_IO, "%s/" POOL_RECORD ": %s", pool->dir.path, why.msg);
	return error_reason(err, REASON_POOL_DAMAGED, pool->base);
}

int pool_write(const struct pool *pool, const struct pool_record *record, struct error *err)
{
	json_auto_t *json =
		json_pack("{s:i,s:s,s:s,s:I,s:I,s:I,s:s}", "format", 1, "base", pool->base,
			  "backend", record->backend, "size", (json_int_t)record->size, "memoryMiB",
			  (json_int_t)record->memory_mib, "cpuCount", (json_int_t)record->cpus,
			  "network", record->network);
	autofree char *text = json ? json_pretty(json, err) : NULL;

	if (!text)
		return error_errno(err, ENOMEM, "pool");
	if (path_replace_file_at(pool->dir.fd, POOL_RECORD, text, strlen(text), 0600, PATH_NO_SYNC,
				 err) < 0)
		return error_prefix(err, "%s/" POOL_RECORD, pool->dir.path);
	return 0;
}

size_t pool_count_ready(const struct microagent *agent)
{
	json_auto_t *bases = pool_bases(agent->state_path, NULL);
	const json_t *base;
	size_t count = 0, i;

	json_array_foreach(bases, i, base)
	{
		auto_pool struct pool pool = POOL_NONE;
		json_auto_t *names = NULL;

		if (pool_open(agent->state_path, json_string_value(base), &pool, NULL) == 0)
			names = pool_tokens(&pool, POOL_READY, NULL);
		count += json_array_size(names);
	}
	return count;
}
