/* SPDX-License-Identifier: MIT */
/* Tests templates of bases as files: made, removed, interrupted, and used by a session. */
#include "session_killing.h"

#include "session/templates/template.h"

#define BUNDLE "bases/web-v1.bundle"
#define STEPS_MOST 2000

static const struct microagent_warm_spec as_it_is = {0};
static const struct microagent_session_spec roomy = {
	.base = "web", .machine.network = "isolated", .disk_quota_mib = 64};

/* Its memory is hashed each time that it is saved. */
static int make_small(void **state)
{
	return rig_make(state) < 0 ? -1 : make_base_of(*state, "web", 64, NULL);
}

#define small_test(fn) cmocka_unit_test_setup_teardown(fn, make_small, rig_drop)

static void warm(const struct rig *rig)
{
	assert_ok(microagent_base_warm(rig->agent, "web", &as_it_is, NULL, &err));
}

/* Returns the record of a session that is cloned by the spec, and destroyed again. */
static json_t *record_of(const struct rig *rig, const struct microagent_session_spec *spec)
{
	struct microagent_session *session = NULL;
	json_t *record;

	assert_ok(microagent_session_clone_base(rig->agent, spec, &session, &err));
	record = get_json(
		at(rig, "sessions/%s.bundle/session.json", microagent_session_name(session)));
	assert_ok(microagent_session_destroy(session, &err));
	microagent_session_close(session);
	return record;
}

static void assert_cold(const struct rig *rig, const struct microagent_session_spec *spec,
			const char *part)
{
	json_auto_t *record = record_of(rig, spec);
	const char *why = json_text(record, "cold", "nothing");

	assert_null(json_object_get(record, "template"));
	if (!strstr(why, part))
		fail_msg("%s, and not %s", why, part);
}

static void a_template_is_made_and_dropped(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	json_auto_t *base = NULL, *again = NULL, *told = NULL;

	assert_ok(microagent_base_warm(rig->agent, "web", &as_it_is, &base, &err));
	const json_t *template = json_object_get(base, "template");
	assert_int_equal(json_integer_value(json_object_get(template, "memoryMiB")), 64);
	assert_null(json_object_get(template, "run"));
	assert_false(is_there(at(rig, BUNDLE "/.warming")));
	assert_ok(microagent_session_clone_base(rig->agent, &roomy, &session, &err));
	assert_ok(microagent_session_boot(session, &err));
	told = microagent_session_describe(session, NULL);
	assert_string_equal(json_text(json_object_get(told, "boot"), "how", ""), "restored");
	assert_string_equal(json_text(told, "template", ""), json_text(template, "sha256", "?"));
	assert_string_equal(json_text(told, "clone", ""), "overlay");
	/* Made anew, in the place of the earlier one. */
	warm(rig);
	again = microagent_base_show(rig->agent, "web", NULL);
	assert_string_not_equal(json_text(json_object_get(again, "template"), "createdAt", ""),
				json_text(template, "createdAt", ""));
	assert_ok(microagent_base_cool(rig->agent, "web", &err));
	assert_false(is_there(at(rig, BUNDLE "/template")));
	assert_false(is_there(at(rig, BUNDLE "/.warming")));
	assert_fails(microagent_base_cool(rig->agent, "web", &err), ERR_NOT_FOUND,
		     "web-v1 has no template");
	/* It was prepared for the removed one. */
	assert_ok(microagent_session_destroy(session, &err));
}

static void one_of_a_template_that_is_gone_boots(void **state)
{
	struct rig *rig = *state;
	auto_session struct microagent_session *session = NULL;
	json_auto_t *told = NULL;

	warm(rig);
	assert_ok(microagent_session_clone_base(rig->agent, &roomy, &session, &err));
	assert_ok(microagent_base_cool(rig->agent, "web", &err));
	assert_ok(microagent_session_boot(session, &err));
	told = microagent_session_describe(session, NULL);
	assert_string_equal(json_text(json_object_get(told, "boot"), "how", ""), "cold");
	assert_ok(microagent_session_destroy(session, &err));
}

static void what_does_not_fit_is_booted(void **state)
{
	static const char *const words[] = {"2048=127.0.0.1:80", NULL};
	struct rig *rig = *state;
	struct microagent_session_spec spec = roomy;
	json_auto_t *none = record_of(rig, &roomy), *fits = NULL;

	assert_null(json_object_get(none, "cold"));
	warm(rig);
	fits = record_of(rig, &roomy);
	assert_non_null(json_object_get(fits, "template"));
	spec.cold = true;
	assert_cold(rig, &spec, "a boot was asked for");
	spec = roomy;
	spec.machine.memory_mib = 300;
	assert_cold(rig, &spec, "the session has 300 MiB of memory, but the template has 64");
	spec = roomy;
	spec.machine.cpus = 2;
	assert_cold(rig, &spec, "the session has 2 processors, but the template has 1");
	spec = roomy;
	spec.no_share = true;
	assert_cold(rig, &spec, "without a spare port");
	spec = roomy;
	spec.machine.vsock = words;
	assert_cold(rig, &spec, "vsock ports");
	spec = roomy;
	spec.machine.rates.disk_bytes = 1 << 20;
	assert_cold(rig, &spec, "its rates are limited");
	/* The base's disk is small, and so is a quota that is not given. */
	assert_cold(rig, &plain,
		    "the session's quota has no room for the template's disk: give a larger quota");
}

static void a_damaged_one_is_passed_over(void **state)
{
	struct rig *rig = *state;
	json_auto_t *base = NULL, *record = NULL;

	warm(rig);
	record = get_json(at(rig, BUNDLE "/template/template.json"));
	assert_int_equal(chmod(at(rig, BUNDLE "/template/disk.qcow2"), 0600), 0);
	put(at(rig, BUNDLE "/template/disk.qcow2"), "another");
	assert_cold(rig, &roomy,
		    "the template's disk has changed since it was saved: make the template again");
	assert_int_equal(unlink(at(rig, BUNDLE "/template/disk.qcow2")), 0);
	assert_cold(rig, &roomy, "the template's disk");
	assert_int_equal(unlink(at(rig, BUNDLE "/template/template.json")), 0);
	assert_cold(rig, &roomy, "the template of base web-v1 is damaged");
	put(at(rig, BUNDLE "/template/template.json"), "{");
	assert_cold(rig, &roomy, "the template of base web-v1 is damaged");
	json_object_set_new(record, "format", json_integer(2));
	put_json(at(rig, BUNDLE "/template/template.json"), json_incref(record));
	assert_cold(rig, &roomy, "another version of microagent");
	base = microagent_base_show(rig->agent, "web", NULL);
	assert_non_null(strstr(json_text(json_object_get(base, "template"), "error", ""),
			       "another version"));
	warm(rig);
	assert_ok(microagent_base_cool(rig->agent, "web", &err));
}

/* Between its sealing and its trial. */
static void damage_state(void *data, enum microagent_base_line kind, const char *text)
{
	const char *path = at(data, BUNDLE "/.warming/template/state");

	if (kind != MICROAGENT_BASE_DOING || strcmp(text, "restoring one of it") != 0)
		return;
	assert_int_equal(chmod(path, 0600), 0);
	put(path, "of no machine");
}

/* An earlier one stays. */
static void one_that_cannot_be_restored_is_none(void **state)
{
	struct rig *rig = *state;
	const struct microagent_warm_spec spec = {.said = damage_state, .data = rig};

	for (int before = 0; before < 2; before++) {
		assert_fails(
			microagent_base_warm(rig->agent, "web", &spec, NULL, &err), ERR_IO,
			"the template is not kept, because no machine could be restored from it");
		assert_false(is_there(at(rig, BUNDLE "/.warming")));
		assert_int_equal(is_there(at(rig, BUNDLE "/template/template.json")), before);
		if (!before)
			warm(rig);
	}
}

static void one_at_a_time(void **state)
{
	struct rig *rig = *state;
	int mine;

	assert_int_equal(mkdir(at(rig, BUNDLE "/.warming"), 0700), 0);
	mine = locked(at(rig, BUNDLE "/.warming"), LOCK_EX);
	assert_fails(microagent_base_warm(rig->agent, "web", &as_it_is, NULL, &err), ERR_CONFLICT,
		     "another command is making or removing the template of this base");
	assert_fails(microagent_base_cool(rig->agent, "web", &err), ERR_CONFLICT,
		     "another command is making or removing the template of this base");
	templates_sweep(rig->agent, NULL);
	assert_true(is_there(at(rig, BUNDLE "/.warming")));
	close(mine);
	/* A killed command's files are in nobody's way. */
	warm(rig);
	assert_false(is_there(at(rig, BUNDLE "/.warming")));
}

static void what_is_not_made(void **state)
{
	struct rig *rig = *state;
	auto_base struct base deleted = BASE_NONE;

	assert_fails(microagent_base_warm(rig->agent, "none", &as_it_is, NULL, &err), ERR_NOT_FOUND,
		     "no base \"none\"");
	rig->agent->backend = contract_backend_find("firecracker");
	assert_fails(microagent_base_warm(rig->agent, "web", &as_it_is, NULL, &err),
		     ERR_UNSUPPORTED, "backend firecracker cannot save machines");
	rig->agent->backend = contract_backend_find("qemu");
	assert_ok(base_open(rig->agent, "web-v1", BASE_EXCLUSIVE, &deleted, &err));
	assert_fails(microagent_base_warm(rig->agent, "web", &as_it_is, NULL, &err), ERR_CONFLICT,
		     "is being deleted");
}

/* --- killed ---------------------------------------------------------------------------------- */

static int warm_apart(const struct rig *rig, void *data)
{
	(void)data;
	return microagent_base_warm(rig->agent, "web", &as_it_is, NULL, NULL) < 0;
}

static int cool_apart(const struct rig *rig, void *data)
{
	(void)data;
	return microagent_base_cool(rig->agent, "web", NULL) < 0;
}

/* Requires that the template under its name is whole, and that nothing else is there. Returns
 * whether there is one. */
static bool is_whole_or_gone(const struct rig *rig)
{
	json_auto_t *removed = json_array();
	json_auto_t *base = NULL;
	bool left = is_there(at(rig, BUNDLE "/.warming"));
	const json_t *template;

	templates_sweep(rig->agent, removed);
	assert_int_equal(json_array_size(removed), left);
	assert_false(is_there(at(rig, BUNDLE "/.warming")));
	base = microagent_base_show(rig->agent, "web", NULL);
	template = json_object_get(base, "template");
	assert_null(json_object_get(template, "error"));
	assert_int_equal(count_names(at(rig, BUNDLE)), template ? 4 : 3);
	if (template) {
		json_auto_t *record = record_of(rig, &roomy);

		assert_non_null(json_object_get(record, "template"));
	}
	return template != NULL;
}

static void killed_while_it_is_made(void **state)
{
	struct rig *rig = *state;
	bool seen[2] = {false, false};
	int at_step = 0, code = -1;

	while (code != 0) {
		bool is;

		/* A command that loses its supervisor says so, and removes what it has begun. */
		code = run_to(rig, ++at_step, warm_apart, NULL);
		assert_true(code <= 0 || !is_there(at(rig, BUNDLE "/.warming")));
		is = is_whole_or_gone(rig);
		seen[is] = true;
		assert_true(code != 0 || is);
		if (is)
			assert_ok(microagent_base_cool(rig->agent, "web", &err));
	}
	assert_true(seen[false] && seen[true]);
	assert_in_range(at_step, 20, STEPS_MOST);
}

static void killed_while_it_is_dropped(void **state)
{
	struct rig *rig = *state;
	bool killed = true;
	int at_step = 0;

	while (killed) {
		warm(rig);
		killed = killed_at(rig, ++at_step, cool_apart, NULL);
		assert_true(is_whole_or_gone(rig) <= killed);
	}
	assert_in_range(at_step, 5, STEPS_MOST);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		small_test(a_template_is_made_and_dropped),
		small_test(one_of_a_template_that_is_gone_boots),
		small_test(what_does_not_fit_is_booted),
		small_test(a_damaged_one_is_passed_over),
		small_test(one_that_cannot_be_restored_is_none),
		small_test(one_at_a_time),
		small_test(what_is_not_made),
		small_test(killed_while_it_is_made),
		small_test(killed_while_it_is_dropped),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests(tests, NULL, NULL);
}
