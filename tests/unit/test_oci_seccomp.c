/* SPDX-License-Identifier: MIT */
/* Tests filters for system calls: a small interpreter runs the compiled program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "oci/config/seccomp.h"
#include "oci_fixture.h"

#ifdef __aarch64__
#define NATIVE AUDIT_ARCH_AARCH64
#else
#define NATIVE AUDIT_ARCH_X86_64
#endif
#define FOREIGN AUDIT_ARCH_S390X

static unsigned flags;

static void compile(const char *text, struct buf *program)
{
	json_auto_t *seccomp = oci_parse(text);
	struct error err = {0};

	if (oci_seccomp_compile(seccomp, program, &flags, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	assert_true(program->len > 0 && program->len % sizeof(struct sock_filter) == 0);
}

static bool jumps(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return a == f->k;
	case BPF_JGT:
		return a > f->k;
	case BPF_JGE:
		return a >= f->k;
	case BPF_JSET:
		return a & f->k;
	default:
		fail_msg("jump %x", f->code);
		return false;
	}
}

/* The instructions that libseccomp uses: loads, AND, jumps and returns. */
static uint32_t interpret(const struct buf *program, const struct seccomp_data *data)
{
	size_t count = program->len / sizeof(struct sock_filter);
	uint32_t a = 0;

	for (size_t pc = 0; pc < count; pc++) {
		struct sock_filter f;

		memcpy(&f, buf_bytes(program) + pc * sizeof(f), sizeof(f));
		if (BPF_CLASS(f.code) == BPF_RET)
			return f.k;
		if (BPF_CLASS(f.code) == BPF_LD)
			memcpy(&a, (const char *)data + f.k, sizeof(a));
		else if (BPF_CLASS(f.code) == BPF_ALU && BPF_OP(f.code) == BPF_AND)
			a &= f.k;
		else if (f.code == (BPF_JMP | BPF_JA))
			pc += f.k;
		else if (BPF_CLASS(f.code) == BPF_JMP)
			pc += jumps(&f, a) ? f.jt : f.jf;
		else
			fail_msg("instruction %x", f.code);
	}
	fail_msg("behind the end");
	return 0;
}

static uint32_t answer(const struct buf *program, int number, uint64_t first, uint64_t second)
{
	const struct seccomp_data data = {.nr = number, .arch = NATIVE, .args = {first, second}};

	return interpret(program, &data);
}

static void actions(void **state)
{
	static const struct {
		const char *action;
		uint32_t answer;
	} rows[] = {
		{"SCMP_ACT_KILL\"", SECCOMP_RET_KILL_THREAD},
		{"SCMP_ACT_KILL_THREAD\"", SECCOMP_RET_KILL_THREAD},
		{"SCMP_ACT_KILL_PROCESS\"", SECCOMP_RET_KILL_PROCESS},
		{"SCMP_ACT_TRAP\"", SECCOMP_RET_TRAP},
		{"SCMP_ACT_ERRNO\"", SECCOMP_RET_ERRNO | EPERM},
		{"SCMP_ACT_ERRNO\",\"errnoRet\":38", SECCOMP_RET_ERRNO | ENOSYS},
		{"SCMP_ACT_TRACE\",\"errnoRet\":7", SECCOMP_RET_TRACE | 7},
		{"SCMP_ACT_LOG\"", SECCOMP_RET_LOG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf program = BUF_INIT(0);
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":["
			 "\"getpid\",\"no_such_call\"],\"action\":\"%s}]}",
			 rows[i].action);
		compile(text, &program);
		assert_int_equal(answer(&program, SYS_getpid, 0, 0), rows[i].answer);
		assert_int_equal(answer(&program, SYS_getppid, 0, 0), SECCOMP_RET_ALLOW);
	}
}

static void defaults(void **state)
{
	const struct seccomp_data foreign = {.nr = SYS_getpid, .arch = FOREIGN};
	autobuf struct buf program = BUF_INIT(0);

	(void)state;
	compile("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,\"syscalls\":["
		"{\"names\":[\"getpid\"],\"action\":\"SCMP_ACT_ALLOW\"},"
		"{\"names\":[\"getuid\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":38}]}",
		&program);
	assert_int_equal(answer(&program, SYS_getpid, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&program, SYS_getuid, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(answer(&program, SYS_getgid, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(interpret(&program, &foreign), SECCOMP_RET_KILL_THREAD);
	assert_int_equal(flags, 0);
}

/* A filter that forbids everything except what it names was written before newer calls existed. */
static void newer_calls(void **state)
{
	static const struct {
		const char *standard;
		uint32_t older, newer;
	} rows[] = {
		{"SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ERRNO | ENOSYS},
		{"SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD, SECCOMP_RET_ERRNO | ENOSYS},
		{"SCMP_ACT_LOG", SECCOMP_RET_LOG, SECCOMP_RET_LOG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct seccomp_data foreign = {.nr = 4000, .arch = FOREIGN};
		autobuf struct buf program = BUF_INIT(0);
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"defaultAction\":\"%s\",\"syscalls\":[{\"names\":[\"statx\","
			 "\"no_such_call\"],\"action\":\"SCMP_ACT_ALLOW\"}]}",
			 rows[i].standard);
		compile(text, &program);
		assert_int_equal(answer(&program, SYS_statx, 0, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(answer(&program, SYS_dup, 0, 0), rows[i].older);
		assert_int_equal(answer(&program, SYS_statx + 1, 0, 0), rows[i].newer);
		assert_int_equal(answer(&program, 4000, 0, 0), rows[i].newer);
		assert_int_equal(interpret(&program, &foreign), SECCOMP_RET_KILL_THREAD);
		assert_int_not_equal(answer(&program, 0x40000000 | SYS_dup, 0, 0),
				     SECCOMP_RET_ERRNO | ENOSYS);
	}
}

static void arguments(void **state)
{
	static const struct {
		const char *op, *value;
		uint64_t given;
		bool matches;
	} rows[] = {
		{"SCMP_CMP_EQ", "18446744073709551615", UINT64_MAX, true},
		{"SCMP_CMP_EQ", "18446744073709551615", UINT32_MAX, false},
		{"SCMP_CMP_NE", "5", 5, false},
		{"SCMP_CMP_NE", "5", 6, true},
		{"SCMP_CMP_LT", "5", 4, true},
		{"SCMP_CMP_LE", "5", 5, true},
		{"SCMP_CMP_GE", "5", 4, false},
		{"SCMP_CMP_GT", "4294967296", 4294967297, true},
		{"SCMP_CMP_MASKED_EQ", "2114060288,\"valueTwo\":0", 17, true},
		{"SCMP_CMP_MASKED_EQ", "2114060288,\"valueTwo\":0", 0x10000011, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		autobuf struct buf program = BUF_INIT(0);
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":["
			 "\"dup\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,"
			 "\"op\":\"%s\",\"value\":%s}]}]}",
			 rows[i].op, rows[i].value);
		compile(text, &program);
		assert_int_equal(answer(&program, SYS_dup, rows[i].given, 0),
				 rows[i].matches ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
	}
}

/* If several arguments are named, all conditions must hold. If one is named twice, any must. */
static void several_arguments(void **state)
{
	autobuf struct buf program = BUF_INIT(0);

	(void)state;
	compile("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":["
		"{\"names\":[\"dup\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
		"{\"index\":0,\"op\":\"SCMP_CMP_EQ\",\"value\":1},"
		"{\"index\":1,\"op\":\"SCMP_CMP_EQ\",\"value\":2}]},"
		"{\"names\":[\"socket\"],\"action\":\"SCMP_ACT_ALLOW\",\"args\":["
		"{\"index\":0,\"op\":\"SCMP_CMP_EQ\",\"value\":1},"
		"{\"index\":0,\"op\":\"SCMP_CMP_EQ\",\"value\":2}]}]}",
		&program);
	assert_int_equal(answer(&program, SYS_dup, 1, 2), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&program, SYS_dup, 1, 3), SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(answer(&program, SYS_socket, 1, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&program, SYS_socket, 2, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&program, SYS_socket, 3, 0), SECCOMP_RET_ERRNO | EPERM);
}

static void architectures(void **state)
{
	const struct seccomp_data arm = {.nr = 20 /* getpid */, .arch = AUDIT_ARCH_ARM};
	autobuf struct buf program = BUF_INIT(0);

	(void)state;
	compile("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"architectures\":[\"SCMP_ARCH_X86_64\","
		"\"SCMP_ARCH_AARCH64\",\"SCMP_ARCH_ARM\",\"SCMP_ARCH_S390X\"],\"syscalls\":["
		"{\"names\":[\"getpid\",\"arch_prctl\"],\"action\":\"SCMP_ACT_ALLOW\"}]}",
		&program);
	assert_int_equal(interpret(&program, &arm), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(&program, SYS_getpid, 0, 0), SECCOMP_RET_ALLOW);
}

static void filter_flags(void **state)
{
	autobuf struct buf program = BUF_INIT(0);

	(void)state;
	compile("{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\","
		"\"SECCOMP_FILTER_FLAG_TSYNC\",\"SECCOMP_FILTER_FLAG_SPEC_ALLOW\"]}",
		&program);
	assert_int_equal(flags, SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW);
}

#define RULE(members) "{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{" members "}]}"

static void refused(void **state)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{"{}", "linux.seccomp.defaultAction is required"},
		{"{\"defaultAction\":\"ALLOW\"}",
		 "linux.seccomp.defaultAction is not known: ALLOW; use a value of the runtime specification"},
		{"{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}",
		 "linux.seccomp.defaultAction is not known: SCMP_ACT_NOTIFY; use a value of the runtime specification"},
		{"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":4096}",
		 "linux.seccomp.defaultErrnoRet must be from 0 to 4095"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"X\"]}",
		 "linux.seccomp.flags[0] is not known: X; use a value of the runtime specification"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"SCMP_ARCH_VAX\"]}",
		 "linux.seccomp.architectures[0] is not known: SCMP_ARCH_VAX; use an architecture of the runtime specification"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"x\"]}",
		 "linux.seccomp.architectures[0] is not known: x; use an architecture of the runtime specification"},
		{"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[7]}",
		 "linux.seccomp.syscalls[0] must be an object"},
		{RULE("\"names\":[\"dup\"]"), "linux.seccomp.syscalls[0].action is required"},
		{RULE("\"action\":\"SCMP_ACT_LOG\""),
		 "linux.seccomp.syscalls[0].names must not be empty: name a system call"},
		{RULE("\"names\":[\"dup\"],\"action\":\"SCMP_ACT_LOG\",\"args\":[{\"index\":6,"
		      "\"op\":\"SCMP_CMP_EQ\",\"value\":1}]"),
		 "linux.seccomp.syscalls[0].args[0].index must be from 0 to 5"},
		{RULE("\"names\":[\"dup\"],\"action\":\"SCMP_ACT_LOG\",\"args\":[{\"index\":0,"
		      "\"op\":\"EQ\",\"value\":1}]"),
		 "linux.seccomp.syscalls[0].args[0].op is not known: EQ; use a value of the runtime specification"},
		{RULE("\"names\":[\"dup\"],\"action\":\"SCMP_ACT_LOG\",\"args\":[{\"index\":0,"
		      "\"op\":\"SCMP_CMP_EQ\",\"value\":-1}]"),
		 "linux.seccomp.syscalls[0].args[0].value must be at least 0"},
		{RULE("\"names\":[\"dup\"],\"action\":\"SCMP_ACT_LOG\",\"args\":[1,1,1,1,1,1,1]"),
		 "linux.seccomp.syscalls[0].args must have at most 6 entries: leave some out"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_auto_t *seccomp = oci_parse(rows[i].json);
		autobuf struct buf program = BUF_INIT(0);
		struct error err = {0};

		flags = 77;
		assert_int_equal(oci_seccomp_compile(seccomp, &program, &flags, &err), -1);
		assert_string_equal(err.msg, rows[i].text);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(program.len, 0);
		assert_int_equal(flags, 77);
	}
}

static void too_long(void **state)
{
	json_auto_t *seccomp = oci_parse("{\"defaultAction\":\"SCMP_ACT_ALLOW\"}");
	autobuf struct buf program = BUF_INIT(0);
	json_t *rules = json_array();
	struct error err = {0};

	(void)state;
	for (int i = 0; i < 5000; i++)
		json_array_append_new(rules,
				      json_pack("{s:[s], s:s, s:[{s:i, s:s, s:i}]}", "names", "dup",
						"action", "SCMP_ACT_LOG", "args", "index", 0, "op",
						"SCMP_CMP_EQ", "value", i));
	json_object_set_new(seccomp, "syscalls", rules);
	assert_int_equal(oci_seccomp_compile(seccomp, &program, &flags, &err), -1);
	assert_int_equal(err.code, ERR_UNSUPPORTED);
	assert_non_null(strstr(err.msg, " instructions, and a kernel accepts at most 4096"));
	assert_int_equal(program.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(actions),	     cmocka_unit_test(defaults),
		cmocka_unit_test(newer_calls),	     cmocka_unit_test(arguments),
		cmocka_unit_test(several_arguments), cmocka_unit_test(architectures),
		cmocka_unit_test(filter_flags),	     cmocka_unit_test(refused),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
