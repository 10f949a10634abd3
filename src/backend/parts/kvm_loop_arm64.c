/* SPDX-License-Identifier: MIT */
/*
 * The loop for arm64. The guest has one region of memory, which is as large as the largest page.
 * The loop is at its beginning. The MMU is off, so address 0 is the first byte of the region. The
 * loop ends with a store to an address that has no memory. KVM reports this store with its
 * value.
 */
#ifdef __aarch64__
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include "backend/parts/kvm_loop_cpu.h"

#define GUEST_BYTES 0x10000

static const uint32_t arm64_loop[] = {
	/* Before a new run KVM first completes the store of the last run, and skips one
	 * instruction. So the code begins with a nop. */
	0xd503201f,			    /* nop */
	0xd2884800,			    /* mov x0, #1000000 */
	0xf2a001e0,			    /* (its upper half) */
	0xf1000400,			    /* 1: subs x0, x0, #1 */
	0x54ffffe1,			    /* b.ne 1b */
	0xd28ceca1,			    /* mov x1, #KVM_LOOP_MARK */
	0xf2ac2de1,			    /* (its other three quarters) */
	0xf2cdee41, 0xf2edad21, 0xd2a00022, /* mov x2, #GUEST_BYTES */
	0xf9000041,			    /* str x1, [x2] */
};

#define CORE_REGISTER(field) \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(field))
#define SCTLR_EL1 ARM64_SYS_REG(3, 0, 1, 0, 0)
/* The bit for the instruction cache. Without this cache, each instruction is fetched from
 * memory. */
#define SCTLR_I (UINT64_C(1) << 12)

static int arm64_failed(const char *step, struct error *err)
{
	return error_errno(err, errno, "%s", step);
}

static int put_register(int vcpu, uint64_t id, uint64_t value)
{
	const struct kvm_one_reg reg = {.id = id, .addr = (uintptr_t)&value};

	return ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

static int get_register(int vcpu, uint64_t id, uint64_t *value)
{
	const struct kvm_one_reg reg = {.id = id, .addr = (uintptr_t)value};

	return ioctl(vcpu, KVM_GET_ONE_REG, &reg);
}

static void arm64_fill(uint8_t *memory)
{
	memcpy(memory, arm64_loop, sizeof(arm64_loop));
}

static void arm64_prepare(int vm)
{
	(void)vm;
}

/* Prepares the processor, and switches on its instruction cache. The processor begins at EL1 in
 * 64-bit mode, without MMU and caches. */
static int arm64_enter(int kvm, int vm, int vcpu, struct error *err)
{
	struct kvm_vcpu_init init = {0};
	uint64_t control = 0;

	(void)kvm;
	if (ioctl(vm, KVM_ARM_PREFERRED_TARGET, &init) < 0 ||
	    ioctl(vcpu, KVM_ARM_VCPU_INIT, &init) < 0)
		return arm64_failed("entering 64-bit mode", err);
	if (get_register(vcpu, SCTLR_EL1, &control) < 0 ||
	    put_register(vcpu, SCTLR_EL1, control | SCTLR_I) < 0)
		return arm64_failed("setting registers", err);
	return 0;
}

static int arm64_begin(int vcpu, struct error *err)
{
	return put_register(vcpu, CORE_REGISTER(regs.pc), 0) < 0
		       ? arm64_failed("setting registers", err)
		       : 0;
}

static int arm64_check(int vcpu, const struct kvm_run *run, struct error *err)
{
	uint64_t left = 1, mark = 0;

	if (run->exit_reason != KVM_EXIT_MMIO || !run->mmio.is_write ||
	    run->mmio.phys_addr != GUEST_BYTES || run->mmio.len != sizeof(mark))
		return error_set(
			err, ERR_IO,
			"KVM cannot run machines here: a trial of 64-bit code ended with KVM's exit reason %u",
			run->exit_reason);
	if (get_register(vcpu, CORE_REGISTER(regs.regs[0]), &left) < 0)
		return arm64_failed("reading registers", err);
	memcpy(&mark, run->mmio.data, sizeof(mark));
	if (mark != KVM_LOOP_MARK || left != 0)
		return error_set(
			err, ERR_IO,
			"KVM cannot run machines here: a trial of 64-bit code gave a wrong result");
	return 0;
}

static unsigned arm64_untaken(int kvm_fd, int vcpu)
{
	(void)kvm_fd, (void)vcpu;
	return 0;
}

const struct kvm_loop_cpu kvm_loop_cpu = {
	.bytes = GUEST_BYTES,
	.fill = arm64_fill,
	.prepare = arm64_prepare,
	.enter = arm64_enter,
	.untaken = arm64_untaken,
	.begin = arm64_begin,
	.check = arm64_check,
};
#endif
