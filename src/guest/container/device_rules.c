/* SPDX-License-Identifier: MIT */
/*
 * Translates the device rules of a container into a BPF program of the type
 * BPF_PROG_TYPE_CGROUP_DEVICE, and attaches the program to the container's cgroup.
 *
 * The kernel runs the program for each open() and mknod() of a device. The program gets the
 * device's kind, its numbers and the requested accesses (struct bpf_cgroup_dev_ctx). If several
 * rules apply to an access, the last of them decides. So the program tries the rules from the last
 * to the first, and keeps a set of the accesses that are not decided yet. If a rule denies an
 * access of this set, the program returns 0, which denies the request. If a rule allows accesses,
 * the program removes these from the set, and returns 1 if the set is then empty. An access that no
 * rule decides is denied.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/container/group.h"

#define ACCESS_OPEN (BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE)
#define ACCESS_ALL (ACCESS_OPEN | BPF_DEVCG_ACC_MKNOD)

/* The default rules. The device numbers are those of Documentation/admin-guide/devices.txt. The
 * default rules come after the rules of the plan, so they decide first. */
static const struct device_rule defaults[] = {
	{true, 0, DEVICE_ANY, DEVICE_ANY, BPF_DEVCG_ACC_MKNOD},
	{true, BPF_DEVCG_DEV_CHAR, 1, 3, ACCESS_ALL}, /* null */
	{true, BPF_DEVCG_DEV_CHAR, 1, 5, ACCESS_ALL}, /* zero */
	{true, BPF_DEVCG_DEV_CHAR, 1, 7, ACCESS_ALL}, /* full */
	{true, BPF_DEVCG_DEV_CHAR, 1, 8, ACCESS_ALL}, /* random */
	{true, BPF_DEVCG_DEV_CHAR, 1, 9, ACCESS_ALL}, /* urandom */
	{true, BPF_DEVCG_DEV_CHAR, 5, 0, ACCESS_ALL}, /* tty */
	{true, BPF_DEVCG_DEV_CHAR, 5, 2, ACCESS_ALL}, /* ptmx */
	/* The terminals of /dev/pts. A container's /dev/console is also one of these terminals. */
	{true, BPF_DEVCG_DEV_CHAR, 136, DEVICE_ANY, ACCESS_ALL},
};

/* A rule that denies a container the machine's console, unless the container is allowed all
 * devices. Engines allow the device number of /dev/console to every container. On a host that is
 * harmless, since the container has its own terminal at /dev/console. In a guest, this device
 * number is the machine's console, and the host takes output on it for messages of the kernel. */
static const struct device_rule no_console = {false, BPF_DEVCG_DEV_CHAR, 5, 1, ACCESS_OPEN};

static bool has_all_devices(const struct device_rule *rules, size_t count)
{
	for (const struct device_rule *rule = rules; rule < rules + count; rule++)
		if (rule->allow && !rule->kind && rule->major == DEVICE_ANY &&
		    rule->minor == DEVICE_ANY && (rule->accesses & ACCESS_OPEN) == ACCESS_OPEN)
			return true;
	return false;
}

/* The BPF registers that the program uses, each with the name of its contents. */
enum {
	CONTEXT = BPF_REG_1,
	KIND = BPF_REG_2,
	UNDECIDED = BPF_REG_3,
	MAJOR = BPF_REG_4,
	MINOR = BPF_REG_5,
	DENIED = BPF_REG_6,
};

#define PROLOGUE 6
#define PER_RULE 8 /* the largest number of instructions for one rule */
#define EPILOGUE 2

struct program {
	struct bpf_insn *code;
	size_t len;
};

static void emit(struct program *p, unsigned code, unsigned to, unsigned from, int offset,
		 int value)
{
	p->code[p->len++] = (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = to & 15,
		.src_reg = from & 15,
		.off = (int16_t)offset,
		.imm = value,
	};
}

static void emit_load(struct program *p, unsigned to, size_t offset)
{
	emit(p, BPF_LDX | BPF_MEM | BPF_W, to, CONTEXT, (int)offset, 0);
}

static void emit_end(struct program *p, int result)
{
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, result);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Appends the instructions of one rule. Each comparison that fails jumps to the next rule. The
 * distance of these jumps is filled in when the rule's last instruction is known. */
static void emit_rule(struct program *p, const struct device_rule *rule)
{
	size_t began = p->len, compared;

	if (rule->kind)
		emit(p, BPF_JMP | BPF_JNE | BPF_K, KIND, 0, 0, rule->kind);
	if (rule->major != DEVICE_ANY)
		emit(p, BPF_JMP | BPF_JNE | BPF_K, MAJOR, 0, 0, rule->major);
	if (rule->minor != DEVICE_ANY)
		emit(p, BPF_JMP | BPF_JNE | BPF_K, MINOR, 0, 0, rule->minor);
	compared = p->len;
	if (rule->allow) {
		emit(p, BPF_ALU64 | BPF_AND | BPF_K, UNDECIDED, 0, 0,
		     (int)(ACCESS_ALL & ~rule->accesses));
		emit(p, BPF_JMP | BPF_JNE | BPF_K, UNDECIDED, 0, 2, 0);
		emit_end(p, 1);
	} else {
		emit(p, BPF_ALU64 | BPF_MOV | BPF_X, DENIED, UNDECIDED, 0, 0);
		emit(p, BPF_ALU64 | BPF_AND | BPF_K, DENIED, 0, 0, (int)rule->accesses);
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, DENIED, 0, 2, 0);
		emit_end(p, 0);
	}
	for (size_t at = began; at < compared; at++)
		p->code[at].off = (int16_t)(p->len - at - 1);
}

static void write_program(struct program *p, const struct device_rule *rules, size_t count)
{
	/* `access_type` has the kind in its lower 16 bits and the accesses in its upper 16 bits. */
	emit_load(p, KIND, offsetof(struct bpf_cgroup_dev_ctx, access_type));
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, UNDECIDED, KIND, 0, 0);
	emit(p, BPF_ALU64 | BPF_AND | BPF_K, KIND, 0, 0, 0xffff);
	emit(p, BPF_ALU64 | BPF_RSH | BPF_K, UNDECIDED, 0, 0, 16);
	emit_load(p, MAJOR, offsetof(struct bpf_cgroup_dev_ctx, major));
	emit_load(p, MINOR, offsetof(struct bpf_cgroup_dev_ctx, minor));
	if (!has_all_devices(rules, count))
		emit_rule(p, &no_console);
	for (size_t i = ARRAY_SIZE(defaults); i > 0; i--)
		emit_rule(p, &defaults[i - 1]);
	for (size_t i = count; i > 0; i--)
		emit_rule(p, &rules[i - 1]);
	emit_end(p, 0);
}

static int bpf_call(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

int group_rule_devices(int group, const struct device_rule *rules, size_t count, struct error *err)
{
	size_t most = PROLOGUE + (1 + ARRAY_SIZE(defaults) + count) * PER_RULE + EPILOGUE;
	autofree struct bpf_insn *code = calloc(most, sizeof(*code));
	struct program program = {.code = code};
	union bpf_attr load, attach;

	if (!code)
		return error_errno(err, ENOMEM, "device rules");
	write_program(&program, rules, count);
	memset(&load, 0, sizeof(load));
	load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
	load.insns = (uint64_t)(uintptr_t)code;
	load.insn_cnt = (uint32_t)program.len;
	load.license = (uint64_t)(uintptr_t) "MIT";
	autoclose int loaded = bpf_call(BPF_PROG_LOAD, &load);
	memset(&attach, 0, sizeof(attach));
	attach.target_fd = (uint32_t)group;
	attach.attach_bpf_fd = (uint32_t)loaded;
	attach.attach_type = BPF_CGROUP_DEVICE;
	/* With this flag, the program of a cgroup further below runs in addition to this program,
	 * and does not replace it. */
	attach.attach_flags = BPF_F_ALLOW_MULTI;
	if (loaded < 0 || bpf_call(BPF_PROG_ATTACH, &attach) < 0)
		return error_errno(
			err, errno,
			"device rules of the container: this kernel needs CONFIG_CGROUP_BPF");
	return 0;
}
