/* SPDX-License-Identifier: MIT */
/* Tests that everything made of a base has its architecture: sessions of it, members of its pool,
 * and the clone of a workspace. */
#include "session_fixture.h"

static enum architecture other(void)
{
	return architecture_of_host() == ARCHITECTURE_AMD64 ? ARCHITECTURE_ARM64
							    : ARCHITECTURE_AMD64;
}

struct files {
	char kernel[128], image[128];
};

/* The kernel is only a head for that architecture. */
static struct files files_for(const struct rig *rig, enum architecture architecture)
{
	char head[KERNEL_HEAD] = {0};
	struct files files;

	if (architecture == ARCHITECTURE_AMD64)
		memcpy(head + 0x202, "HdrS", 4);
	else
		memcpy(head + 0x38, "ARM\x64", 4);
	snprintf(files.kernel, sizeof(files.kernel), "%s/vmlinux", rig->root);
	snprintf(files.image, sizeof(files.image), "%s/image.ext4", rig->root);
	put_bytes(files.kernel, head, sizeof(head));
	return files;
}

/* web-v1 */
static void make_base_for(const struct rig *rig, enum architecture architecture)
{
	const struct files files = files_for(rig, architecture);
	const struct microagent_base_spec spec = {.image = files.image,
						  .kernel = files.kernel,
						  .machine.architecture =
							  architecture_name(architecture)};
	json_auto_t *base = NULL;

	assert_ok(microagent_base_create(rig->agent, "web", &spec, &base, &err));
	assert_string_equal(json_text(base, "architecture", ""), architecture_name(architecture));
}

/* Returns that of the machine's config, which has it if it is not the host's own. */
static void assert_is_for(const struct rig *rig, const char *dir, enum architecture architecture)
{
	json_auto_t *manifest = get_json(at(rig, "%s/workspace.json", dir));
	const char *says = json_text(json_object_get(manifest, "config"), "architecture",
				     architecture_name(architecture_of_host()));

	assert_string_equal(says, architecture_name(architecture));
}

static void assert_session_is_for(const struct rig *rig, const char *name,
				  enum architecture architecture)
{
	char dir[96];

	snprintf(dir, sizeof(dir), "sessions/%s.bundle", name);
	assert_is_for(rig, dir, architecture);
}

static void a_session_is_of_its_base_s(void **state)
{
	struct rig *rig = *state;

	make_base_for(rig, other());
	assert_session_is_for(rig, clone_one(rig), other());
}

static void a_member_of_its_pool_is_too(void **state)
{
	struct rig *rig = *state;

	make_base_for(rig, other());
	assert_session_is_for(rig, make_member(rig), other());
}

static void a_clone_is_of_its_workspace_s(void **state)
{
	struct rig *rig = *state;
	const struct files files = files_for(rig, other());
	const struct microagent_spec spec = {.image = files.image,
					     .kernel = files.kernel,
					     .machine.network = "isolated",
					     .machine.architecture = architecture_name(other())};
	json_auto_t *made = NULL, *cloned = NULL;

	assert_ok(microagent_create(rig->agent, "one", &spec, &made, &err));
	assert_ok(microagent_clone(rig->agent, "one", "two", &cloned, &err));
	assert_is_for(rig, "one", other());
	assert_is_for(rig, "two", other());
}

static void of_the_host_s_own_both_are_of_that(void **state)
{
	struct rig *rig = *state;

	make_base_for(rig, architecture_of_host());
	assert_session_is_for(rig, clone_one(rig), architecture_of_host());
	assert_session_is_for(rig, make_member(rig), architecture_of_host());
}

static void a_kernel_of_another_makes_no_base(void **state)
{
	struct rig *rig = *state;
	const struct files files = files_for(rig, architecture_of_host());
	const struct microagent_base_spec spec = {.image = files.image,
						  .kernel = files.kernel,
						  .machine.architecture =
							  architecture_name(other())};
	json_t *base = NULL;

	assert_fails(microagent_base_create(rig->agent, "web", &spec, &base, &err), ERR_UNSUPPORTED,
		     "and the machine is");
	assert_null(base);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		rig_test(a_session_is_of_its_base_s),
		rig_test(a_member_of_its_pool_is_too),
		rig_test(a_clone_is_of_its_workspace_s),
		rig_test(of_the_host_s_own_both_are_of_that),
		rig_test(a_kernel_of_another_makes_no_base),
	};
	int code = run_program(argc, argv);

	return code >= 0 ? code
			 : cmocka_run_group_tests_name("session architecture", tests, NULL, NULL);
}
