/* SPDX-License-Identifier: MIT */
/* Sessions whose machine was restored from a template. The stand-in's machine is saved as a few
 * bytes. */
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

static inline json_t *describe_part(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT];
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	assert_ok(digest_of(fd, DIGEST_FILE, digest, &err));
	return json_pack("{s:I, s:s}", "bytes", (json_int_t)st.st_size, "sha256", digest);
}

#define TEMPLATE_AT "bases/web-v1.bundle/template"

/* Makes the template of the base, saved from a session that is gone again. */
static inline void make_template(const struct rig *rig)
{
	static const struct {
		const char *saved, *name;
	} files[] = {{"template.ram", "ram"},
		     {"template.state", "state"},
		     {SESSION_LAYER, "disk.qcow2"}};
	auto_session struct microagent_session *session = NULL;
	json_auto_t *request = json_pack("{s:s}", "command", "save"), *answer = NULL;
	struct open_workspace existing = {0};
	const char *name = clone_one(rig);

	assert_ok(microagent_session_open(rig->agent, name, &session, &err));
	assert_ok(workspace_start_with(session->agent, "--template-new", session->id, &err));
	open_bundle(rig, name, &existing);
	assert_ok(control_ask(existing.ws.fd, request, UINT64_MAX, &answer, &err));
	assert_ok(microagent_kill(session->agent, session->id, NULL, &err));
	assert_int_equal(mkdir(at(rig, TEMPLATE_AT), 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(renameat(existing.ws.fd, files[i].saved, AT_FDCWD,
					  at(rig, TEMPLATE_AT "/%s", files[i].name)),
				 0);
	put_json(at(rig, TEMPLATE_AT "/template.json"),
		 json_pack("{s:i, s:s, s:O, s:i, s:i, s:o, s:o, s:o}", "format", 1, "createdAt",
			   "2026-05-10T14:22:00Z", "facts",
			   json_object_get(json_object_get(answer, "save"), "facts"), "memoryMiB",
			   256, "cpuCount", 1, "ram", describe_part(at(rig, TEMPLATE_AT "/ram")),
			   "state", describe_part(at(rig, TEMPLATE_AT "/state")), "disk",
			   describe_part(at(rig, TEMPLATE_AT "/disk.qcow2"))));
	open_workspace_close(&existing);
	assert_ok(microagent_session_destroy(session, &err));
}

static const struct microagent_session_spec roomy = {
	.base = "web", .machine.network = "isolated", .disk_quota_mib = 64};

/* Makes a session that runs, restored. */
static inline struct microagent_session *make_restored(const struct rig *rig)
{
	struct microagent_session *session = NULL;
	json_auto_t *runtime = NULL;

	assert_ok(microagent_session_clone_base(rig->agent, &roomy, &session, &err));
	assert_ok(microagent_session_boot(session, &err));
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
