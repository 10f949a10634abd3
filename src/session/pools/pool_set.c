/* SPDX-License-Identifier: MIT */
/* Sets and drains pools. A pool has a record from the time when it is set until it is drained. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "session/macos/macos.h"
#include "session/pools/pool.h"

/* --- set -------------------------------------------------------------------------------------- */

/* Checks the size of the pool together with the sizes of all other pools. */
static int check_with_others(const struct microagent *agent, const char *base,
			     const struct pool_record *wanted, struct error *err)
{
	json_auto_t *bases = pool_bases(agent->state_path, NULL);
	const json_t *other;
	size_t count = 0, i;
	int64_t mib = 0;

	json_array_foreach(bases, i, other)
	{
		auto_pool struct pool pool = POOL_NONE;
		struct pool_record record;

		if (strcmp(json_string_value(other), base) != 0 &&
		    pool_open(agent->state_path, json_string_value(other), &pool, NULL) == 0 &&
		    pool_read(&pool, &record, NULL) == 0) {
			count += (size_t)record.size;
			mib += pool_mib(&record);
		}
	}
	return pool_check_size(wanted, count, mib, err);
}

static int make_record(const struct base *base, const char *backend,
		       const struct microagent_pool_spec *spec, struct pool_record *out,
		       struct error *err)
{
	const struct microagent_machine machine = base_machine(base, &spec->machine);
	const char *network = machine.network ? machine.network : "nat";

	if (spec->size < 1 || spec->size > INT32_MAX) {
		error_set(err, ERR_INVALID, "a pool must have at least one session");
		return error_reason(err, REASON_POOL_OF_NONE, base->name.full);
	}
	if (strcmp(network, "nat") != 0 && strcmp(network, "isolated") != 0)
		return error_set(
			err, ERR_INVALID,
			"network \"%.32s\" is refused: the sessions of a pool can have only nat or isolated",
			network);
	*out = (struct pool_record){
		.size = spec->size, .memory_mib = machine.memory_mib, .cpus = machine.cpus};
	strncpy(out->network, network, sizeof(out->network) - 1);
	strncpy(out->backend, backend, sizeof(out->backend) - 1);
	return 0;
}

static bool same_kind(const struct pool_record *a, const struct pool_record *b)
{
	return a->memory_mib == b->memory_mib && a->cpus == b->cpus &&
	       strcmp(a->network, b->network) == 0 && strcmp(a->backend, b->backend) == 0;
}

/* Sets the pool to the record. If the new record has another kind of members, destroys the existing
 * members, because nobody can use them any more. */
static int set_pool(const struct microagent *agent, const struct pool *pool,
		    const struct pool_record *record, struct error *err)
{
	struct pool_record before;
	bool useful = pool_read(pool, &before, NULL) == 0 && same_kind(&before, record);

	if (!useful) {
		/* The filler is ended, because it may be making a member of the old kind. The sweep
		 * removes the unfinished member. */
		unlinkat(pool->dir.fd, POOL_RECORD, 0);
		if (pool_filler_end(pool, err) < 0)
			return -1;
		sessions_sweep(agent, NULL, NULL);
	}
	/* Members of the old kind are removed before the new record is written, because a process
	 * that claims by the new record would get one of them. Surplus members are removed after
	 * the new record is written. Otherwise the filler would replace them. */
	if ((!useful && pool_shrink(agent, pool, 0, err) < 0) ||
	    pool_write(pool, record, err) < 0 ||
	    pool_shrink(agent, pool, (size_t)record->size, err) < 0)
		return -1;
	return pool_filler_start(agent, pool, err);
}

int microagent_pool_set(struct microagent *agent, const struct microagent_pool_spec *spec,
			struct error *err)
{
	auto_base struct base base = BASE_NONE;
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record;
	int status;

	if (!spec->base)
		return error_set(err, ERR_INVALID,
				 "a pool needs a base of which its sessions are cloned: name one");
	if (machine_check(&spec->machine, MACHINE_POOL, err) < 0 ||
	    base_open(agent, spec->base, BASE_SHARED, &base, err) < 0 ||
	    make_record(&base, agent->backend->name, spec, &record, err) < 0 ||
	    macos_check_session(agent, &base, record.memory_mib, record.cpus, err) < 0 ||
	    macos_check_pool(&base, record.size, err) < 0 ||
	    check_with_others(agent, base.name.full, &record, err) < 0 ||
	    base_check(&base, err) < 0 ||
	    pool_open_locked(agent->state_path, base.name.full, &pool, err) < 0)
		return -1;
	status = set_pool(agent, &pool, &record, err);
	pool_tidy(&pool); /* removes a pool that could not be set */
	return status;
}

/* --- drain ------------------------------------------------------------------------------------ */

/* Returns true if `wanted` names the pool of the base. A name without a version means every
 * version. */
static bool is_meant(const struct base_name *wanted, const char *base)
{
	struct base_name name;

	if (wanted->version)
		return strcmp(wanted->full, base) == 0;
	return base_name_parse(base, &name, NULL) == 0 && strcmp(name.name, wanted->name) == 0;
}

int microagent_pool_drain(struct microagent *agent, const char *word, struct error *err)
{
	json_auto_t *bases = pool_bases(agent->state_path, err);
	struct base_name wanted = {0};
	const json_t *base;
	bool any = false;
	size_t i;

	if (!bases || (word && base_name_parse(word, &wanted, err) < 0))
		return -1;
	json_array_foreach(bases, i, base)
	{
		auto_pool struct pool pool = POOL_NONE;
		const char *name = json_string_value(base);

		if (word && !is_meant(&wanted, name))
			continue;
		any = true;
		if (pool_open_locked(agent->state_path, name, &pool, err) < 0 ||
		    pool_drain(agent, &pool, err) < 0)
			return -1;
	}
	if (!word || any)
		return 0;
	error_set(err, ERR_NOT_FOUND, "there is no pool of base %s", word);
	return error_reason(err, REASON_NO_POOL, word);
}
