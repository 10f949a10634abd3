/* SPDX-License-Identifier: MIT */
/* Tests the record of a pool, the room of the host, and commands that set and drain the pool. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/proc.h"
#include "session_fixture.h"

#define ONE "session-2026-05-10T14-22-00Z-0001"
#define TWO "session-2026-05-10T14-22-01Z-0000"
#define RECORD "pool/web-v1/pool.json"

static const struct pool_record small = {2, 256, 1, "isolated", "qemu"};

static void open_pool(const struct rig *rig, struct pool *pool)
{
	make_pool(rig, "web-v1");
	assert_ok(pool_open(rig->state, "web-v1", pool, &err));
}

/* --- the record ------------------------------------------------------------------------------ */

static void what_is_written_is_read(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	const struct pool_record wanted = {7, 300, 3, "nat", "qemu"};
	struct pool_record record = {0};
	json_auto_t *json = NULL;

	open_pool(rig, &pool);
	assert_fails(pool_read(&pool, &record, &err), ERR_NOT_FOUND, "web-v1");
	assert_ok(pool_write(&pool, &small, &err));
	assert_ok(pool_write(&pool, &wanted, &err));
	assert_ok(pool_read(&pool, &record, &err));
	assert_memory_equal(&record, &wanted, sizeof(record));
	json = get_json(at(rig, RECORD));
	assert_string_equal(json_text(json, "base", ""), "web-v1");
	assert_int_equal(count_names(at(rig, "pool/web-v1")), 4);
}

#define NUMBERS "{\"format\":1,\"size\":1,\"memoryMiB\":1,\"cpuCount\":1"
static void a_bad_record_names_its_file(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"size\":1,\"memoryMiB\":1,\"cpuCount\":1,\"network\":\"nat\"}",
		"{\"format\":2,\"size\":1,\"memoryMiB\":1,\"cpuCount\":1,\"network\":\"nat\"}",
		"{\"format\":1,\"size\":0,\"memoryMiB\":1,\"cpuCount\":1,\"network\":\"nat\"}",
		"{\"format\":1,\"size\":1,\"memoryMiB\":0,\"cpuCount\":1,\"network\":\"nat\"}",
		"{\"format\":1,\"size\":1,\"memoryMiB\":1,\"cpuCount\":0,\"network\":\"nat\"}",
		NUMBERS "}",
		NUMBERS ",\"network\":\"0123456789abcdef\"}",
		NUMBERS ",\"network\":\"nat\",\"backend\":\"xen\"}",
	};
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record = small;

	open_pool(rig, &pool);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(at(rig, RECORD), texts[i]);
		assert_fails(pool_read(&pool, &record, &err), ERR_IO, RECORD);
		assert_memory_equal(&record, &small, sizeof(record));
	}
	put(at(rig, RECORD), NUMBERS ",\"network\":\"0123456789abcde\"}");
	assert_ok(pool_read(&pool, &record, &err));
	assert_string_equal(record.network, "0123456789abcde");
}

static void members_of_all_pools_are_counted(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(pool_count_ready(rig->agent), 0);
	touch(at(rig, "pool/web-v1/ready/" ONE));
	touch(at(rig, "pool/web-v1/ready/" TWO));
	touch(at(rig, "pool/db-v3/ready/" ONE));
	touch(at(rig, "pool/db-v3/claimed/" TWO));
	touch(at(rig, "pool/db-v3/ending/" TWO));
	for (int i = 0; i < 2; i++)
		chmod(at(rig, i ? "pool/web-v1" : "pool/db-v3"), 0700);
	assert_int_equal(pool_count_ready(rig->agent), 3);
}

/* --- room ------------------------------------------------------------------------------------ */

static int64_t host_mib(const char *key)
{
	autobuf struct buf text = BUF_INIT(65536);

	assert_ok(path_read_file_at(AT_FDCWD, "/proc/meminfo", &text, &err));
	return strtoll(strstr(buf_string(&text), key) + strlen(key), NULL, 10) / 1024;
}

static int64_t host_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

static void the_processors_bound_the_members(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	size_t most = (size_t)host_cpus() * 3;

	open_pool(rig, &pool);
	limit_set(LIMIT_POOL_MEMBERS_PER_CPU, 3);
	limit_set(LIMIT_POOL_FREE_MIB, 1);
	limit_set(LIMIT_POOL_FREE_DISK_MIB, 1);
	assert_ok(pool_room(&pool, &small, most - 1, 0, &err));
	assert_fails(pool_room(&pool, &small, most, 0, &err), ERR_UNAVAILABLE, "are kept ready");
}

static void memory_that_is_to_stay_free(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	int64_t available = host_mib("MemAvailable:");
	const struct pool_record half = {1, available / 2, 1, "nat", "qemu"},
				 all = {1, available * 2, 1, "nat", "qemu"};

	open_pool(rig, &pool);
	limit_set(LIMIT_POOL_FREE_DISK_MIB, 1);
	limit_set(LIMIT_POOL_FREE_MIB, 1);
	assert_ok(pool_room(&pool, &half, 0, 0, &err));
	assert_fails(pool_room(&pool, &all, 0, 0, &err), ERR_UNAVAILABLE, "MiB of memory");
	limit_set(LIMIT_POOL_FREE_MIB, (uint64_t)available);
	assert_fails(pool_room(&pool, &half, 0, 0, &err), ERR_UNAVAILABLE, "MiB of memory");
	limit_set(LIMIT_POOL_FREE_MIB, 1);
	limit_set(LIMIT_POOL_FREE_MIB, (uint64_t)available / 4);
	/* As large as it can get, or as the waiting members are. But one can always grow. */
	const struct pool_record most = {1, available / 8 * 7, 1, "nat", "qemu"};
	assert_fails(pool_room(&pool, &most, 0, 0, &err), ERR_UNAVAILABLE, "MiB of memory");
	assert_ok(pool_room(&pool, &most, 0, available / 8, &err));
	assert_fails(pool_room(&pool, &most, 0, available, &err), ERR_UNAVAILABLE, "MiB of memory");
	assert_fails(pool_room(&pool, &all, 0, 1, &err), ERR_UNAVAILABLE, "MiB of memory");
	limit_set(LIMIT_POOL_FREE_MIB, 1);
	limit_set(LIMIT_POOL_OVERHEAD_MIB, (uint64_t)available);
	assert_fails(pool_room(&pool, &half, 0, 0, &err), ERR_UNAVAILABLE, "MiB of memory");
	limit_reset(LIMIT_POOL_OVERHEAD_MIB);
}

static void disk_that_is_to_stay_free(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;

	open_pool(rig, &pool);
	limit_set(LIMIT_POOL_FREE_MIB, 1);
	limit_set(LIMIT_POOL_FREE_DISK_MIB, UINT64_C(1) << 40);
	assert_fails(pool_room(&pool, &small, 0, 0, &err), ERR_UNAVAILABLE, "MiB of disk");
}

static void what_a_pool_comes_to(void **state)
{
	struct pool_record record = {3, 256, 1, "nat", "qemu"};

	(void)state;
	limit_set(LIMIT_POOL_OVERHEAD_MIB, 100);
	limit_set(LIMIT_POOL_LEAST_MIB, 200);
	assert_int_equal(pool_mib(&record), 3 * 200);
	record.memory_mib = 64;
	assert_int_equal(pool_mib(&record), 3 * 164);
	limit_set(LIMIT_POOL_LEAST_MIB, INT64_MAX / 4);
	record.size = INT32_MAX;
	record.memory_mib = INT64_MAX / 4;
	assert_int_equal(pool_mib(&record), INT64_MAX / 2);
	limit_reset(LIMIT_POOL_OVERHEAD_MIB);
	limit_reset(LIMIT_POOL_LEAST_MIB);
}

static void a_pool_that_could_never_be_full(void **state)
{
	struct pool_record record = small;
	int64_t most = host_cpus() * 3, total = host_mib("MemTotal:");

	(void)state;
	limit_set(LIMIT_POOL_MEMBERS_PER_CPU, 3);
	limit_set(LIMIT_POOL_FREE_MIB, 16);
	limit_set(LIMIT_POOL_OVERHEAD_MIB, 0);
	limit_set(LIMIT_WORKSPACE_MEMORY_MIN_MIB, 4);
	record.memory_mib = 4;
	record.size = most;
	assert_ok(pool_check_size(&record, 0, 0, &err));
	record.size = most - 2;
	assert_ok(pool_check_size(&record, 2, 0, &err));
	assert_fails(pool_check_size(&record, 3, 0, &err), ERR_INVALID, "sessions are too many");
	record.size = most + 1;
	assert_fails(pool_check_size(&record, 0, 0, &err), ERR_INVALID, "sessions are too many");
	record.size = 1;
	assert_fails(pool_check_size(&record, (size_t)most, 0, &err), ERR_INVALID, "keeps 0 ready");
	record.memory_mib = 3;
	assert_fails(pool_check_size(&record, 0, 0, &err), ERR_INVALID, "at least 4 MiB");
	/* A pool may have one session as large as the room of the host, but not two. */
	record.memory_mib = total - 16;
	assert_ok(pool_check_size(&record, 0, 0, &err));
	record.size = 2;
	assert_ok(pool_check_size(&record, 0, 0, &err));
	record.memory_mib = total - 15;
	assert_fails(pool_check_size(&record, 0, 0, &err), ERR_INVALID,
		     "config.memoryMiB: a session with");
	record.memory_mib = total - 16;
	limit_set(LIMIT_POOL_LEAST_MIB, (uint64_t)(total - 16) / 2);
	assert_ok(pool_check_size(&record, 0, 0, &err));
	assert_fails(pool_check_size(&record, 0, 2, &err), ERR_INVALID, "do not fit");
	limit_reset(LIMIT_POOL_LEAST_MIB);
	record.size = 1;
	record.memory_mib = 4;
	record.cpus = host_cpus();
	assert_ok(pool_check_size(&record, 0, 0, &err));
	record.cpus++;
	assert_fails(pool_check_size(&record, 0, 0, &err), ERR_INVALID, "but this host has");
}

/* --- set and drained ------------------------------------------------------------------------- */

static int set(const struct rig *rig, int64_t size, struct error *err)
{
	const struct microagent_pool_spec spec = {
		.base = "web", .size = size, .machine.network = "isolated"};

	limit_set(LIMIT_POOL_FREE_MIB, 1);
	return microagent_pool_set(rig->agent, &spec, err);
}

static void a_pool_is_set(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record = {0};

	assert_ok(set(rig, 2, &err));
	assert_ok(pool_open(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_read(&pool, &record, &err));
	assert_memory_equal(&record, &small, sizeof(record));
	assert_int_equal(count_fillers(rig), 1);
	assert_ok(set(rig, 1, &err));
	assert_ok(pool_read(&pool, &record, &err));
	assert_int_equal(record.size, 1);
	assert_int_equal(count_fillers(rig), 2);
}

static void what_no_pool_is(void **state)
{
	struct rig *rig = *state;
	struct microagent_pool_spec spec = {.size = 1};

	assert_fails(microagent_pool_set(rig->agent, &spec, &err), ERR_INVALID, "needs a base");
	spec.base = "db";
	assert_fails(microagent_pool_set(rig->agent, &spec, &err), ERR_NOT_FOUND, "db");
	spec.base = "web";
	spec.size = 0;
	assert_fails(microagent_pool_set(rig->agent, &spec, &err), ERR_INVALID, "at least one");
	spec.size = (int64_t)INT32_MAX + 1;
	assert_fails(microagent_pool_set(rig->agent, &spec, &err), ERR_INVALID, "at least one");
	spec.size = 1;
	spec.machine.network = "bridge";
	assert_fails(microagent_pool_set(rig->agent, &spec, &err), ERR_INVALID, "\"bridge\"");
	assert_false(is_there(at(rig, "pool")));
}

/* The pool's own sessions do not count as others. */
static void others_leave_less_room(void **state)
{
	struct rig *rig = *state;
	int64_t most = host_cpus() * 3;

	limit_set(LIMIT_POOL_MEMBERS_PER_CPU, 3);
	limit_set(LIMIT_WORKSPACE_MEMORY_MIN_MIB, 1);
	limit_set(LIMIT_POOL_OVERHEAD_MIB, 0);
	assert_ok(make_base(rig, "web", &err)); /* web-v2 */
	put(at(rig, RECORD), "{\"format\":1,\"size\":1,\"memoryMiB\":1,\"cpuCount\":1,"
			     "\"network\":\"nat\"}");
	assert_fails(set(rig, most, &err), ERR_INVALID, "sessions are too many");
	assert_ok(set(rig, most - 1, &err));
	assert_ok(set(rig, most - 1, &err));
}

static void a_pool_is_drained(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	assert_fails(microagent_pool_drain(rig->agent, "web", &err), ERR_NOT_FOUND, "web");
	assert_ok(microagent_pool_drain(rig->agent, NULL, &err));
	assert_ok(set(rig, 2, &err));
	touch(token(rig, POOL_READY, name));
	assert_ok(microagent_pool_drain(rig->agent, "web", &err));
	assert_false(is_there(at(rig, "pool/web-v1")));
	assert_false(is_there(bundle(rig, name)));
	assert_true(is_there(at(rig, "archive/%s", name)));
}

static void the_drain_of_another_version(void **state)
{
	struct rig *rig = *state;
	struct error why = {0};

	assert_ok(set(rig, 1, &err));
	make_pool(rig, "webb-v1");
	assert_fails(microagent_pool_drain(rig->agent, "web-v2", &err), ERR_NOT_FOUND, "web-v2");
	assert_fails(microagent_pool_drain(rig->agent, "we", &err), ERR_NOT_FOUND, "base we");
	assert_int_equal(microagent_pool_drain(rig->agent, "we", &why), -1);
	assert_string_equal(why.subject, "we");
	assert_int_equal(why.reason, REASON_NO_POOL);
	assert_ok(microagent_pool_drain(rig->agent, "web-v1", &err));
	assert_false(is_there(at(rig, "pool/web-v1")));
	assert_true(is_there(at(rig, "pool/webb-v1")));
}

/* A claimed member stays with its claimer, and its token stays in its place. */
static void a_drain_keeps_what_is_claimed(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	assert_ok(set(rig, 1, &err));
	touch(token(rig, POOL_CLAIMED, name));
	assert_ok(microagent_pool_drain(rig->agent, "web", &err));
	assert_false(is_there(at(rig, RECORD)));
	assert_true(is_there(bundle(rig, name)));
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_false(is_there(at(rig, "pool/web-v1")));
}

static void members_too_many_go_the_oldest_first(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	char names[3][SESSION_NAME_ROOM];
	json_auto_t *left = NULL;

	open_pool(rig, &pool);
	assert_ok(pool_write(&pool, &small, &err));
	for (int i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", clone_one(rig));
		assert_ok(pool_add(&pool, names[i], &err));
	}
	left = pool_tokens(&pool, POOL_READY, NULL);
	assert_ok(pool_shrink(rig->agent, &pool, 4, &err));
	assert_int_equal(count_names(at(rig, "pool/web-v1/ready")), 3);
	assert_ok(pool_shrink(rig->agent, &pool, 1, &err));
	assert_int_equal(count_names(at(rig, "pool/web-v1/ready")), 1);
	assert_int_equal(count_names(at(rig, "pool/web-v1/ending")), 0);
	assert_true(pool_has(&pool, POOL_READY, json_string_value(json_array_get(left, 2))));
	for (int i = 0; i < 3; i++)
		assert_int_equal(is_there(bundle(rig, names[i])),
				 pool_has(&pool, POOL_READY, names[i]));
}

static void what_is_told_of_pools(void **state)
{
	struct rig *rig = *state;
	json_auto_t *answer = NULL;
	const json_t *entry;

	assert_ok(set(rig, 2, &err));
	make_pool(rig, "db-v1"); /* drained, and nobody is in it */
	put(at(rig, "pool/web-v1/filler.log"), "2026-05-10T14:22:00Z first\n"
					       "2026-05-10T14:22:00Z ended: no room\n");
	answer = microagent_pool_status(rig->agent, NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "pools")), 1);
	entry = json_array_get(json_object_get(answer, "pools"), 0);
	assert_string_equal(json_text(entry, "base", ""), "web-v1");
	assert_int_equal(json_integer_value(json_object_get(entry, "size")), 2);
	assert_int_equal(json_integer_value(json_object_get(entry, "ready")), 0);
	assert_true(json_is_false(json_object_get(entry, "filling")));
	assert_non_null(strstr(json_text(entry, "detail", ""), "given up"));
	assert_non_null(strstr(json_text(entry, "detail", ""), ": no room"));
}

static int forget_limits(void **state)
{
	limit_reset(LIMIT_POOL_MEMBERS_PER_CPU);
	limit_reset(LIMIT_POOL_FREE_MIB);
	limit_reset(LIMIT_POOL_FREE_DISK_MIB);
	limit_reset(LIMIT_POOL_OVERHEAD_MIB);
	limit_reset(LIMIT_WORKSPACE_MEMORY_MIN_MIB);
	return *state ? rig_drop(state) : 0;
}

#define pool_test(fn) cmocka_unit_test_setup_teardown(fn, rig_make, forget_limits)
#define set_test(fn) cmocka_unit_test_setup_teardown(fn, rig_make_with_base, forget_limits)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		pool_test(what_is_written_is_read),
		pool_test(a_bad_record_names_its_file),
		pool_test(members_of_all_pools_are_counted),
		pool_test(the_processors_bound_the_members),
		pool_test(memory_that_is_to_stay_free),
		pool_test(disk_that_is_to_stay_free),
		pool_test(what_a_pool_comes_to),
		pool_test(a_pool_that_could_never_be_full),
		set_test(a_pool_is_set),
		set_test(what_no_pool_is),
		set_test(others_leave_less_room),
		set_test(a_pool_is_drained),
		set_test(the_drain_of_another_version),
		set_test(a_drain_keeps_what_is_claimed),
		set_test(members_too_many_go_the_oldest_first),
		set_test(what_is_told_of_pools),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session pools", tests, NULL, NULL);
}
