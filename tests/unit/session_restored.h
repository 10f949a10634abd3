/* SPDX-License-Identifier: MIT */
/* Sessions whose machine was restored from a template, for what is made of such: the stand-in's
 * machine is saved as a few bytes. */
#ifndef SESSION_RESTORED_H
#define SESSION_RESTORED_H

#include "channel/control.h"
#include "channel/hasher.h"
#include "session/points/point.h"
#include "session_fixture.h"

static inline void open_bundle(const struct rig *rig, const char *name, struct open_workspace *out)
{
	auto_session struct microagent_session *session = NULL;

	assert_ok(microagent_session_open(rig->agent, name, &session, &err) < 0
			  ? -1
			  : open_workspace_named(session->agent, session->id, out, &err));
}

static inline json_t *describe_part(const char *path, bool hashed)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT];
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	if (!hashed)
		return json_pack("{s:I}", "bytes", (json_int_t)st.st_size);
	assert_ok(digest_of(fd, DIGEST_FILE, digest, &err));
	return json_pack("{s:I, s:s}", "bytes", (json_int_t)st.st_size, "sha256", digest);
}

/* <root>/template, saved of a session that is gone again. */
static inline void make_template(const struct rig *rig)
{
	auto_session struct microagent_session *session = NULL;
	json_auto_t *request = json_pack("{s:s}", "command", "save"), *answer = NULL;
	struct open_workspace existing = {0};
	const char *name = clone_one(rig);

	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
	assert_ok(workspace_start_with(session->agent, "--template-new", session->id, &err));
	open_bundle(rig, name, &existing);
	assert_ok(control_ask(existing.ws.fd, request, UINT64_MAX, &answer, &err));
	assert_int_equal(mkdir(at(rig, "../template"), 0700), 0);
	assert_int_equal(
		renameat(existing.ws.fd, "template.ram", AT_FDCWD, at(rig, "../template/ram")), 0);
	assert_int_equal(
		renameat(existing.ws.fd, "template.state", AT_FDCWD, at(rig, "../template/state")),
		0);
	put_json(
		at(rig, "../template/template.json"),
		json_pack("{s:i, s:O, s:o, s:o, s:o}", "format", 1, "facts",
			  json_object_get(json_object_get(answer, "save"), "facts"), "ram",
			  describe_part(at(rig, "../template/ram"), true), "state",
			  describe_part(at(rig, "../template/state"), true), "disk",
			  describe_part(at(rig, "sessions/%s.bundle/" SESSION_LAYER, name), true)));
	open_workspace_close(&existing);
	assert_ok(microagent_session_destroy(session, &err));
}

/* One that runs, restored. */
static inline struct microagent_session *make_restored(const struct rig *rig)
{
	struct microagent_session *session = NULL;
	json_auto_t *runtime = NULL;
	char option[256];

	snprintf(option, sizeof(option), "--template=%s", at(rig, "../template"));
	assert_ok(microagent_session_clone_base(rig->agent, &plain, &session, &err));
	assert_ok(workspace_start_with(session->agent, option, session->id, &err));
	runtime = get_json(at(rig, "sessions/%s/runtime.json", session->id));
	if (strcmp(json_text(json_object_get(runtime, "boot"), "how", ""), "restored") != 0)
		fail_msg("%s", json_text(json_object_get(runtime, "boot"), "why", "?"));
	return session;
}

static inline int rig_make_with_template(void **state)
{
	if (rig_make_with_base(state) < 0)
		return -1;
	make_template(*state);
	return 0;
}

#define template_test(fn) cmocka_unit_test_setup_teardown(fn, rig_make_with_template, rig_drop)

#endif
