/* SPDX-License-Identifier: MIT */
/* Tests the remembered facts about the host, and the choices by them. */
#include "test_base.h"

#include <sys/stat.h>

#include "backend/parts/host_facts.h"
#include "backend/parts/kvm_probe.h"
#include "backend/qemu/accelerator.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "base/proc.h"

static int setup(void **state)
{
	if (scratch_make(state) < 0)
		return -1;
	return setenv("MICROAGENT_CACHE_DIR", ((struct scratch *)*state)->path, 1);
}

static int teardown(void **state)
{
	unsetenv("MICROAGENT_CACHE_DIR");
	return scratch_remove(state);
}

static const struct host_facts some = {
	.kvm_node = "node",
	.kvm_verdict = "slow",
	.kvm_reason = "a reason",
	.tsc_khz = 2445428,
	.cell_bwrap = "a bwrap",
	.vmm_program = "a program",
	.vmm_said = "Firecracker v1.16.1\n\n",
};

static void expect_nothing(void)
{
	struct host_facts facts = some;

	host_facts_load(&facts);
	assert_int_equal(facts.tsc_khz, 0);
	assert_string_equal(facts.kvm_node, "");
	assert_string_equal(facts.kvm_verdict, "");
	assert_string_equal(facts.kvm_reason, "");
	assert_string_equal(facts.cell_bwrap, "");
	assert_string_equal(facts.vmm_program, "");
	assert_string_equal(facts.vmm_said, "");
}

static void write_facts(struct scratch *s, const char *text)
{
	struct error err = {0};

	assert_ok(path_replace_file_at(s->fd, "host.json", text, strlen(text), 0600, PATH_NO_SYNC,
				       &err));
}

static void facts_come_back(void **state)
{
	struct host_facts facts;

	(void)state;
	expect_nothing();
	host_facts_store(&some);
	host_facts_load(&facts);
	assert_string_equal(facts.kvm_node, "node");
	assert_string_equal(facts.kvm_verdict, "slow");
	assert_string_equal(facts.kvm_reason, "a reason");
	assert_string_equal(facts.cell_bwrap, "a bwrap");
	assert_string_equal(facts.vmm_program, "a program");
	assert_string_equal(facts.vmm_said, "Firecracker v1.16.1\n\n");
	assert_int_equal(facts.tsc_khz, 2445428);
}

static void another_boot_knows_nothing(void **state)
{
	write_facts(*state, "{\"format\":1,\"bootId\":\"00000000-0000-0000-0000-000000000000\","
			    "\"kvmNode\":\"node\",\"kvmVerdict\":\"usable\",\"kvmReason\":\"r\","
			    "\"tscKhz\":5,\"cellBwrap\":\"b\"}");
	expect_nothing();
}

static void bad_files_are_nothing(void **state)
{
	static const char *const texts[] = {"", "x", "[]", "{\"format\":1", "{\"format\":\"1\"}"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		write_facts(*state, texts[i]);
		expect_nothing();
	}
}

static void wrong_types_are_left_out(void **state)
{
	char boot[37], text[512];
	struct error err = {0};
	struct host_facts facts;

	assert_ok(process_boot_id(boot, &err));
	snprintf(text, sizeof(text),
		 "{\"format\":1,\"bootId\":\"%s\",\"kvmNode\":5,\"kvmVerdict\":"
		 "\"much longer than any verdict\",\"tscKhz\":-4,\"cellBwrap\":\"b\"}",
		 boot);
	write_facts(*state, text);
	host_facts_load(&facts);
	assert_string_equal(facts.kvm_node, "");
	assert_string_equal(facts.kvm_verdict, "");
	assert_int_equal(facts.tsc_khz, 0);
	assert_string_equal(facts.cell_bwrap, "b");
}

/* Otherwise another user could make us do without the cell, or use a KVM that does not work. */
static void a_file_that_others_can_write_is_not_believed(void **state)
{
	struct scratch *s = *state;

	host_facts_store(&some);
	assert_int_equal(fchmodat(s->fd, "host.json", 0620, 0), 0);
	expect_nothing();
	assert_int_equal(renameat(s->fd, "host.json", s->fd, "other.json"), 0);
	assert_int_equal(fchmodat(s->fd, "other.json", 0600, 0), 0);
	assert_int_equal(symlinkat("other.json", s->fd, "host.json"), 0);
	expect_nothing();
}

static void no_cache_is_no_failure(void **state)
{
	(void)state;
	setenv("MICROAGENT_CACHE_DIR", "/dev/null/none", 1);
	host_facts_store(&some);
	expect_nothing();
}

static void things_are_told_apart(void **state)
{
	struct scratch *s = *state;
	char a[HOST_THING_TEXT], b[HOST_THING_TEXT], path[128];

	snprintf(path, sizeof(path), "%s/thing", s->path);
	host_thing(path, a);
	assert_string_equal(a, "absent");
	write_facts(s, "x");
	assert_int_equal(renameat(s->fd, "host.json", s->fd, "thing"), 0);
	host_thing(path, a);
	write_facts(s, "x");
	assert_int_equal(renameat(s->fd, "host.json", s->fd, "thing"), 0);
	host_thing(path, b);
	assert_string_not_equal(a, b);
}

/* --- the choice ------------------------------------------------------------------------------ */

static void the_choice_follows_the_facts(void **state)
{
	struct kvm_facts facts = {.reason = "because"};
	enum accelerator out;
	struct error err = {0};
	char reason[256];

	(void)state;
	for (int v = 0; v < KVM_VERDICT_COUNT; v++) {
		bool usable = v == KVM_USABLE, forced = v == KVM_UNSUITED;

		facts.kvm = (enum kvm_verdict)v;
		assert_ok(accelerator_choose(ACCELERATOR_AUTO, &facts, &out, reason, &err));
		assert_int_equal(out, usable ? ACCELERATOR_KVM : ACCELERATOR_TCG);
		assert_string_equal(reason, "because");
		assert_ok(accelerator_choose(ACCELERATOR_TCG, &facts, &out, reason, &err));
		assert_int_equal(out, ACCELERATOR_TCG);
		assert_int_equal(accelerator_choose(ACCELERATOR_KVM, &facts, &out, reason, &err),
				 usable || forced ? 0 : -1);
		if (usable || forced) {
			assert_int_equal(out, ACCELERATOR_KVM);
			assert_string_equal(reason, "because");
			continue;
		}
		assert_code(err, ERR_UNAVAILABLE);
		assert_string_equal(err.msg, "accelerator kvm: because");
	}
}

/* A machine of another architecture is emulated or not possible. */
static void a_foreign_machine_is_emulated(void **state)
{
	enum architecture host = architecture_of_host();
	enum architecture other =
		host == ARCHITECTURE_AMD64 ? ARCHITECTURE_ARM64 : ARCHITECTURE_AMD64;
	enum accelerator out = ACCELERATOR_AUTO;
	struct error err = {0};
	char reason[256], words[256];

	(void)state;
	assert_ok(accelerator_foreign(ACCELERATOR_AUTO, other, &out, reason, &err));
	assert_int_equal(out, ACCELERATOR_TCG);
	snprintf(words, sizeof(words), "this host is %s, and a machine of %s is emulated",
		 architecture_name(host), architecture_name(other));
	assert_string_equal(reason, words);
	assert_ok(accelerator_foreign(ACCELERATOR_TCG, other, &out, reason, &err));
	assert_string_equal(reason, "TCG was asked for");
	assert_int_equal(accelerator_foreign(ACCELERATOR_KVM, other, &out, reason, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_int_equal(err.reason, REASON_NO_KVM);
	snprintf(words, sizeof(words),
		 "accelerator kvm: this host is %s, and KVM on it cannot run a machine of %s",
		 architecture_name(host), architecture_name(other));
	assert_string_equal(err.msg, words);
}

/* The whole table: the result of the loop, whether the KVM is a PVM, and for which KVM the kernel
 * is built. */
static void the_verdict_is_of_the_kernel(void **state)
{
	static const char ours[] = "and the kernel is built for it",
			  other[] = "this kernel is not known to be built for it";
	static const struct {
		enum kvm_verdict loop;
		bool pvm, for_pvm;
		enum kvm_verdict verdict;
		enum kvm_kernels kernels;
		const char *reason;
	} rows[] = {
		{KVM_USABLE, false, false, KVM_USABLE, KVM_KERNELS_ALL, "because"},
		{KVM_SLOW, false, false, KVM_SLOW, KVM_KERNELS_NONE, "because"},
		{KVM_BROKEN, false, false, KVM_BROKEN, KVM_KERNELS_NONE, "because"},
		{KVM_USABLE, true, false, KVM_UNSUITED, KVM_KERNELS_PVM, other},
		{KVM_SLOW, true, false, KVM_SLOW, KVM_KERNELS_PVM, other},
		{KVM_USABLE, true, true, KVM_USABLE, KVM_KERNELS_PVM, ours},
		{KVM_SLOW, true, true, KVM_USABLE, KVM_KERNELS_PVM, ours},
		{KVM_BROKEN, true, true, KVM_BROKEN, KVM_KERNELS_NONE, "because"},
		{KVM_HUNG, true, true, KVM_HUNG, KVM_KERNELS_NONE, "because"},
		{KVM_MISSING, true, true, KVM_MISSING, KVM_KERNELS_NONE, "because"},
		{KVM_DENIED, true, true, KVM_DENIED, KVM_KERNELS_NONE, "because"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kvm_facts facts = {.kvm = rows[i].loop, .reason = "because", .untaken = 1};

		kvm_judge_kernel(&facts, rows[i].pvm, rows[i].for_pvm);
		if (facts.kvm != rows[i].verdict || facts.kernels != rows[i].kernels ||
		    facts.untaken != 1 || !strstr(facts.reason, rows[i].reason))
			fail_msg("row %zu: %d, %d, %s", i, (int)facts.kvm, (int)facts.kernels,
				 facts.reason);
	}
}

/* Whatever this host is, there is a verdict with its reason. A hang is not remembered, so a busy
 * host may give two different answers. */
static void a_probe_has_a_reason(void **state)
{
	struct kvm_facts facts;
	struct error err = {0};

	(void)state;
	assert_ok(kvm_probe(NULL, &facts, &err));
	assert_int_not_equal(facts.kvm, KVM_UNKNOWN);
	assert_true(*facts.reason);
}

static void assert_probed(enum kvm_verdict verdict, const char *words)
{
	struct kvm_facts facts;
	struct error err = {0};

	assert_ok(kvm_probe(NULL, &facts, &err));
	if (facts.kvm != verdict || !strstr(facts.reason, words))
		fail_msg("%d: %s", (int)facts.kvm, facts.reason);
}

/* The device is a file here, which answers every request of KVM with ENOTTY at once. The remembered
 * words are changed, so that they differ from those of a second probe. */
static void a_probe_is_repeated_from_memory(void **state)
{
	struct scratch *s = *state;
	const char *device = scratch_path(s, "kvm");
	struct host_facts facts;

	limit_set(LIMIT_PROBE_MS, 60000); /* a busy machine is no hang */
	setenv("MICROAGENT_TEST_KVM", device, 1);
	autoclose int first = open(device, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_probed(KVM_BROKEN, "opens, but does not work");
	host_facts_load(&facts);
	assert_string_equal(facts.kvm_verdict, "broken");
	snprintf(facts.kvm_reason, sizeof(facts.kvm_reason), "as it was remembered");
	host_facts_store(&facts);
	assert_probed(KVM_BROKEN, "as it was remembered");
	/* Another node is probed anew. The first one is held, so that its inode is not used
	 * again. */
	assert_int_equal(unlinkat(s->fd, "kvm", 0), 0);
	autoclose int second = open(device, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(first >= 0 && second >= 0);
	assert_probed(KVM_BROKEN, "opens, but does not work");
	/* A verdict that is never remembered is not believed either. */
	host_facts_load(&facts);
	snprintf(facts.kvm_verdict, sizeof(facts.kvm_verdict), "hung");
	snprintf(facts.kvm_reason, sizeof(facts.kvm_reason), "as it was remembered");
	host_facts_store(&facts);
	assert_probed(KVM_BROKEN, "opens, but does not work");
	unsetenv("MICROAGENT_TEST_KVM");
	limit_reset(LIMIT_PROBE_MS);
}

static void the_counter_is_remembered(void **state)
{
	uint32_t khz = 0;
	struct error err = {0};

	(void)state;
	host_facts_store(&(struct host_facts){.tsc_khz = 123456});
	assert_ok(accelerator_tsc_khz(&khz, &err));
	assert_int_equal(khz, 123456);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(facts_come_back),
		WITH(another_boot_knows_nothing),
		WITH(bad_files_are_nothing),
		WITH(wrong_types_are_left_out),
		WITH(a_file_that_others_can_write_is_not_believed),
		WITH(no_cache_is_no_failure),
		WITH(things_are_told_apart),
		cmocka_unit_test(the_choice_follows_the_facts),
		cmocka_unit_test(the_verdict_is_of_the_kernel),
		cmocka_unit_test(a_foreign_machine_is_emulated),
		WITH(a_probe_has_a_reason),
		WITH(a_probe_is_repeated_from_memory),
		WITH(the_counter_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
