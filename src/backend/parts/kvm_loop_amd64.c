/* SPDX-License-Identifier: MIT */
/*
 * The loop for amd64. The guest has five pages: page tables that map the first 2 MiB to themselves,
 * and the code of the loop. The processor begins in long mode, since its segments and control
 * registers are set before it runs.
 */
#ifdef __x86_64__
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "backend/parts/kvm_loop.h"
#include "backend/parts/kvm_loop_cpu.h"

enum { PML4 = 0x0000, PDPT = 0x1000, PD = 0x2000, CODE = 0x3000, GUEST_BYTES = 0x5000 };
#define CPUID_ENTRIES 256

static const uint8_t amd64_loop[] = {
	0xb9, 0x40, 0x42, 0x0f, 0x00,				    /* mov $1000000, %ecx */
	0x48, 0xff, 0xc9,					    /* 1: dec %rcx */
	0x75, 0xfb,						    /* jnz 1b */
	0x48, 0xb8, 0x65, 0x67, 0x61, 0x6f, 0x72, 0x63, 0x69, 0x6d, /* mov $KVM_LOOP_MARK, %rax */
	0xf4,							    /* hlt */
};

static int amd64_failed(const char *step, struct error *err)
{
	return error_errno(err, errno, "%s", step);
}

static void put64(uint8_t *memory, size_t at, uint64_t value)
{
	/* The host and the guest are both little-endian. */
	memcpy(memory + at, &value, sizeof(value));
}

static void amd64_fill(uint8_t *memory)
{
	put64(memory, PML4, PDPT | 3); /* the bits are: present, writable */
	put64(memory, PDPT, PD | 3);
	put64(memory, PD, 0x83); /* the bits are: present, writable, page of 2 MiB */
	memcpy(memory + CODE, amd64_loop, sizeof(amd64_loop));
}

/* Reserves three pages of the guest's address space. KVM needs these pages on older Intel
 * processors, and ignores this call on other processors. */
static void amd64_prepare(int vm)
{
	ioctl(vm, KVM_SET_TSS_ADDR, 0xfffbd000);
}

/* Gives the processor all CPUID bits that KVM supports. Without these bits KVM may refuse long
 * mode. */
static int set_cpuid(int kvm_fd, int vcpu, struct error *err)
{
	static union {
		struct kvm_cpuid2 head;
		char room[sizeof(struct kvm_cpuid2) +
			  CPUID_ENTRIES * sizeof(struct kvm_cpuid_entry2)];
	} cpuid;

	cpuid.head.nent = CPUID_ENTRIES;
	if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, &cpuid) < 0 ||
	    ioctl(vcpu, KVM_SET_CPUID2, &cpuid) < 0)
		return amd64_failed("CPUID", err);
	return 0;
}

static int enter_long_mode(int vcpu, struct error *err)
{
	struct kvm_sregs s;
	const struct kvm_segment code = {.limit = 0xffffffff,
					 .selector = 8,
					 .type = 11,
					 .present = 1,
					 .s = 1,
					 .l = 1,
					 .g = 1};
	const struct kvm_segment data = {.limit = 0xffffffff,
					 .selector = 16,
					 .type = 3,
					 .present = 1,
					 .s = 1,
					 .db = 1,
					 .g = 1};

	if (ioctl(vcpu, KVM_GET_SREGS, &s) < 0)
		return amd64_failed("reading registers", err);
	s.cs = code;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.cr3 = PML4;
	s.cr4 = 1 << 5;				/* the bit PAE */
	s.cr0 = 1u << 31 | 1 << 5 | 1 << 4 | 1; /* the bits PG, NE, ET and PE */
	s.efer = 1 << 10 | 1 << 8;		/* the bits LMA and LME */
	if (ioctl(vcpu, KVM_SET_SREGS, &s) < 0)
		return amd64_failed("entering 64-bit mode", err);
	return 0;
}

static int amd64_enter(int kvm, int vm, int vcpu, struct error *err)
{
	(void)vm;
	return set_cpuid(kvm, vcpu, err) < 0 ? -1 : enter_long_mode(vcpu, err);
}

/* Returns KVM_UNTAKEN_ARCH_CAPABILITIES if KVM refuses its own value for this MSR, as a paravirtual
 * KVM may do. Otherwise returns 0. QEMU's processor "host" sets the MSR to the value that KVM
 * returns, and aborts if KVM refuses it ("failed to set MSR 0x10a"). */
static unsigned amd64_untaken(int kvm_fd, int vcpu)
{
	union {
		struct kvm_msrs head;
		char room[sizeof(struct kvm_msrs) + sizeof(struct kvm_msr_entry)];
	} msr = {.head = {.nmsrs = 1}};

	msr.head.entries[0].index = 0x10a;
	if (ioctl(kvm_fd, KVM_GET_MSRS, &msr) != 1)
		return 0; /* KVM does not have the MSR */
	return ioctl(vcpu, KVM_SET_MSRS, &msr) == 1 ? 0 : KVM_UNTAKEN_ARCH_CAPABILITIES;
}

static int amd64_begin(int vcpu, struct error *err)
{
	const struct kvm_regs regs = {.rip = CODE, .rflags = 2};

	return ioctl(vcpu, KVM_SET_REGS, &regs) < 0 ? amd64_failed("setting registers", err) : 0;
}

static int amd64_check(int vcpu, const struct kvm_run *run, struct error *err)
{
	struct kvm_regs regs;

	if (run->exit_reason != KVM_EXIT_HLT)
		return error_set(
			err, ERR_IO,
			"KVM cannot run machines here: a trial of 64-bit code ended with KVM's exit reason %u in place of a halt",
			run->exit_reason);
	if (ioctl(vcpu, KVM_GET_REGS, &regs) < 0)
		return amd64_failed("reading registers", err);
	if (regs.rax != KVM_LOOP_MARK || regs.rcx != 0)
		return error_set(
			err, ERR_IO,
			"KVM cannot run machines here: a trial of 64-bit code gave a wrong result");
	return 0;
}

const struct kvm_loop_cpu kvm_loop_cpu = {
	.bytes = GUEST_BYTES,
	.fill = amd64_fill,
	.prepare = amd64_prepare,
	.enter = amd64_enter,
	.untaken = amd64_untaken,
	.begin = amd64_begin,
	.check = amd64_check,
};
#endif
