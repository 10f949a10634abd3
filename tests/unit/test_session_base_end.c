/* SPDX-License-Identifier: MIT */
/* Tests the list of bases, what no base is made of, and their end. */
#include "session_fixture.h"

/* --- the list -------------------------------------------------------------------------------- */

static void bases_are_listed_by_name_and_number(void **state)
{
	static const char *const order[] = {"db-v1", "web-v1", "web-v2", "web-v10"};
	struct rig *rig = *state;
	auto_base struct base deleted = BASE_NONE;
	json_auto_t *answer = NULL;
	const json_t *list;

	touch(at(rig, "bases/web-v10.bundle/x"));
	assert_ok(make_base(rig, "db", &err));
	touch(at(rig, "bases/web-v2.bundle/x"));
	touch(at(rig, "bases/notes/x"));
	answer = microagent_base_list(rig->agent, NULL);
	list = json_object_get(answer, "bases");
	assert_int_equal(json_array_size(list), ARRAY_SIZE(order));
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		const json_t *entry = json_array_get(list, i);

		assert_string_equal(json_text(entry, "name", ""), order[i]);
		assert_int_equal(json_object_get(entry, "error") != NULL, i >= 2);
	}
	json_decref(answer);
	assert_ok(base_open(rig->agent, "db-v1", BASE_EXCLUSIVE, &deleted, &err));
	answer = microagent_base_list(rig->agent, NULL);
	assert_int_equal(json_array_size(json_object_get(answer, "bases")), ARRAY_SIZE(order) - 1);
}

static void no_bases_at_all(void **state)
{
	struct rig *rig = *state;
	json_auto_t *answer = microagent_base_list(rig->agent, NULL);

	assert_int_equal(json_array_size(json_object_get(answer, "bases")), 0);
	assert_true(json_is_array(json_object_get(answer, "bases")));
}

/* --- deleted --------------------------------------------------------------------------------- */

static void a_version_must_be_said(void **state)
{
	struct rig *rig = *state;

	assert_fails(microagent_base_delete(rig->agent, "web", &err), ERR_INVALID,
		     "web is not one version of a base");
	assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
	assert_int_equal(count_names(at(rig, "bases")), 0);
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_NOT_FOUND, "web-v1");
}

static void a_base_with_a_pool_stays(void **state)
{
	struct rig *rig = *state;
	auto_pool struct pool pool = POOL_NONE;
	const struct pool_record record = {1, 256, 1, "isolated", "qemu"};

	assert_ok(pool_open_locked(rig->state, "web-v1", &pool, &err));
	assert_ok(pool_write(&pool, &record, &err));
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_CONFLICT,
		     "base web-v1 cannot be deleted, because it has a pool");
	put(at(rig, "pool/web-v1/pool.json"), "{");
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_CONFLICT,
		     "base web-v1 cannot be deleted, because it has a pool");
	assert_int_equal(unlink(at(rig, "pool/web-v1/pool.json")), 0);
	assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
}

static void a_base_with_a_session_stays(void **state)
{
	struct rig *rig = *state;
	const char *name = clone_one(rig);

	assert_ok(make_base(rig, "web", &err));
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_CONFLICT, name);
	assert_ok(microagent_base_delete(rig->agent, "web-v2", &err));
	put(at(rig, "sessions/%s.bundle/session.json", name), "{");
	assert_fails(microagent_base_delete(rig->agent, "web-v1", &err), ERR_CONFLICT,
		     "may be made of base web-v1");
	assert_ok(microagent_session_destroy_named(rig->agent, name, &err));
	assert_ok(microagent_base_delete(rig->agent, "web-v1", &err));
}

/* --- swept ----------------------------------------------------------------------------------- */

static void what_nobody_makes_is_swept(void **state)
{
	struct rig *rig = *state;
	json_auto_t *removed = json_array();
	int mine;

	touch(at(rig, "bases/.making-dead/disk.img"));
	touch(at(rig, "bases/.making-web-v9.bundle/metadata.json"));
	touch(at(rig, "bases/.making-mine/disk.img"));
	touch(at(rig, "bases/notes/x"));
	mine = locked(at(rig, "bases/.making-mine"), LOCK_EX);
	bases_sweep(rig->agent, removed);
	assert_int_equal(json_array_size(removed), 2);
	assert_false(is_there(at(rig, "bases/.making-dead")));
	assert_false(is_there(at(rig, "bases/.making-web-v9.bundle")));
	assert_true(is_there(at(rig, "bases/.making-mine/disk.img")));
	assert_true(is_there(at(rig, "bases/notes/x")));
	assert_true(is_there(at(rig, "bases/web-v1.bundle/metadata.json")));
	close(mine);
	bases_sweep(rig->agent, NULL);
	assert_false(is_there(at(rig, "bases/.making-mine")));
}

/* --- refused --------------------------------------------------------------------------------- */

static void what_no_base_is_made_of(void **state)
{
	struct rig *rig = *state;
	char kernel[128], image[128];
	struct microagent_base_spec spec = {.image = image, .kernel = kernel};
	json_t *base = NULL;

	snprintf(kernel, sizeof(kernel), "%s/vmlinux", rig->root);
	snprintf(image, sizeof(image), "%s/vmlinux", rig->root);
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "not a raw ext4");
	snprintf(kernel, sizeof(kernel), "%s/image.ext4", rig->root);
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "not a kernel");
	spec.oci = "debian:12";
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "a base is made of one image, but image");
	spec.oci = NULL;
	spec.size_mib = -1;
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "size of a disk");
	spec.size_mib = 0;
	spec.machine.memory_mib = 1;
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "memoryMiB");
	spec.machine.memory_mib = 0;
	spec.machine.cpus = 100000;
	assert_fails(microagent_base_create(rig->agent, "x", &spec, &base, &err), ERR_INVALID,
		     "cpuCount");
	assert_null(base);
	assert_true(count_names(at(rig, "bases")) <= 0);
}

static void a_kernel_without_its_initrd(void **state)
{
	struct rig *rig = *state;

	/* An initrd for a kernel with modules cannot be made of microagent-init alone. */
	assert_int_equal(rename(at(rig, "../vmlinux.initrd"), at(rig, "../vmlinux.modules")), 0);
	assert_fails(make_base(rig, "web", &err), ERR_NOT_FOUND, "vmlinux.modules");
	assert_true(count_names(at(rig, "bases")) <= 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(bases_are_listed_by_name_and_number),
		rig_test(no_bases_at_all),
		base_test(a_version_must_be_said),
		base_test(a_base_with_a_pool_stays),
		base_test(a_base_with_a_session_stays),
		base_test(what_nobody_makes_is_swept),
		rig_test(what_no_base_is_made_of),
		rig_test(a_kernel_without_its_initrd),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("ends of bases", tests, NULL, NULL);
}
