/* SPDX-License-Identifier: MIT */
/* What makes and ends bases, sessions and pools, killed at each of its steps: what is there
 * afterwards is whole or gone. */
#include "session_killing.h"

static int destroy(const struct rig *rig, void *data)
{
	struct error err = {0};
	int status = microagent_session_destroy_named(rig->agent, data, &err);

	if (status < 0)
		fprintf(stderr, "%s\n", err.msg);
	return status < 0;
}

static void a_destroy_killed_at_each_step(void **state)
{
	struct rig *rig = *state;
	char name[SESSION_NAME_ROOM];
	int step = 0;
	bool killed = true;

	while (killed) {
		snprintf(name, sizeof(name), "%s", clone_one(rig));
		killed = killed_at(rig, ++step, destroy, name);
		microagent_session_destroy_named(rig->agent, name, NULL);
		assert_false(is_there(bundle(rig, name)));
	}
	printf("%d steps\n", step);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		base_test(a_destroy_killed_at_each_step),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code : cmocka_run_group_tests_name("session kills", tests, NULL, NULL);
}
