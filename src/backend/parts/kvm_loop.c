/* SPDX-License-Identifier: MIT */
/*
 * A /dev/kvm that opens proves nothing: a paravirtual KVM runs stock 64-bit code by emulating it,
 * some thousand times too slowly to boot a kernel. So the probe times 64-bit code.
 *
 * The guest is five pages: a page table that maps the first 2 MiB to themselves, and the loop. It
 * is entered in long mode at once, its segments and control registers set by hand. The loop leaves
 * a 64-bit constant in rax, so a mode that executes the same bytes as 32-bit code does not pass.
 */
#include "backend/parts/kvm_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#ifdef __x86_64__
#include <linux/kvm.h>

enum { PML4 = 0x0000, PDPT = 0x1000, PD = 0x2000, CODE = 0x3000, GUEST_BYTES = 0x5000 };
#define MARK UINT64_C(0x6d6963726f616765)
#define CPUID_ENTRIES 256

static const uint8_t loop_code[] = {
	0xb9, 0x40, 0x42, 0x0f, 0x00,				    /* mov $1000000, %ecx */
	0x48, 0xff, 0xc9,					    /* 1: dec %rcx */
	0x75, 0xfb,						    /* jnz 1b */
	0x48, 0xb8, 0x65, 0x67, 0x61, 0x6f, 0x72, 0x63, 0x69, 0x6d, /* mov $MARK, %rax */
	0xf4,							    /* hlt */
};

struct loop_vm {
	int vm, vcpu;
	uint8_t *memory;
	struct kvm_run *run;
	size_t run_size;
};

static void loop_vm_close(struct loop_vm *vm)
{
	if (vm->run)
		munmap(vm->run, vm->run_size);
	cleanup_close(&vm->vcpu);
	cleanup_close(&vm->vm);
	if (vm->memory)
		munmap(vm->memory, GUEST_BYTES);
}

static int kvm_failed(const char *step, struct error *err)
{
	return error_errno(err, errno, "%s", step);
}

static void put64(uint8_t *memory, size_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof(value)); /* host and guest are both little-endian */
}

static int fill_memory(struct loop_vm *vm, struct error *err)
{
	void *p =
		mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return kvm_failed("guest memory", err);
	vm->memory = p;
	put64(vm->memory, PML4, PDPT | 3); /* present, writable */
	put64(vm->memory, PDPT, PD | 3);
	put64(vm->memory, PD, 0x83); /* and a 2 MiB page */
	memcpy(vm->memory + CODE, loop_code, sizeof(loop_code));

	struct kvm_userspace_memory_region region = {
		.memory_size = GUEST_BYTES,
		.userspace_addr = (uintptr_t)vm->memory,
	};
	if (ioctl(vm->vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return kvm_failed("guest memory", err);
	return 0;
}

/* Without the CPUID bits KVM may refuse long mode. */
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
		return kvm_failed("CPUID", err);
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
		return kvm_failed("reading registers", err);
	s.cs = code;
	s.ds = s.es = s.fs = s.gs = s.ss = data;
	s.cr3 = PML4;
	s.cr4 = 1 << 5;				/* PAE */
	s.cr0 = 1u << 31 | 1 << 5 | 1 << 4 | 1; /* PG, NE, ET, PE */
	s.efer = 1 << 10 | 1 << 8;		/* LMA, LME */
	if (ioctl(vcpu, KVM_SET_SREGS, &s) < 0)
		return kvm_failed("entering 64-bit mode", err);
	return 0;
}

static int loop_vm_open(int kvm_fd, struct loop_vm *vm, struct error *err)
{
	int version = ioctl(kvm_fd, KVM_GET_API_VERSION, 0);

	if (version < 0)
		return kvm_failed("API version", err);
	if (version != 12)
		return error_set(err, ERR_IO, "API version %d instead of 12", version);
	vm->vm = ioctl(kvm_fd, KVM_CREATE_VM, 0);
	if (vm->vm < 0)
		return kvm_failed("making a VM", err);
	/* Older Intel processors need three pages of the guest's address space; others ignore it.
	 */
	ioctl(vm->vm, KVM_SET_TSS_ADDR, 0xfffbd000);
	if (fill_memory(vm, err) < 0)
		return -1;
	vm->vcpu = ioctl(vm->vm, KVM_CREATE_VCPU, 0);
	if (vm->vcpu < 0)
		return kvm_failed("making a virtual CPU", err);
	int size = ioctl(kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (size < (int)sizeof(struct kvm_run))
		return kvm_failed("size of the run area", err);
	vm->run_size = (size_t)size;
	void *run = mmap(NULL, vm->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vm->vcpu, 0);
	if (run == MAP_FAILED)
		return kvm_failed("run area", err);
	vm->run = run;
	if (set_cpuid(kvm_fd, vm->vcpu, err) < 0)
		return -1;
	return enter_long_mode(vm->vcpu, err);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void on_profile_timer(int signal)
{
	(void)signal; /* its arrival makes KVM_RUN return */
}

/* Fires again and again, so that one arriving between the look at the clock and KVM_RUN does not
 * get lost. */
static int arm_kvm_timer(struct error *err)
{
	struct sigaction action = {.sa_handler = on_profile_timer};
	const struct itimerval often = {{.tv_usec = 10000}, {.tv_usec = 10000}};

	if (sigaction(SIGPROF, &action, NULL) < 0 || setitimer(ITIMER_PROF, &often, NULL) < 0)
		return kvm_failed("timer", err);
	return 0;
}

static int check_result(const struct loop_vm *vm, struct error *err)
{
	struct kvm_regs regs;

	if (vm->run->exit_reason != KVM_EXIT_HLT)
		return error_set(err, ERR_IO, "64-bit code ended with exit reason %u",
				 vm->run->exit_reason);
	if (ioctl(vm->vcpu, KVM_GET_REGS, &regs) < 0)
		return kvm_failed("reading registers", err);
	if (regs.rax != MARK || regs.rcx != 0)
		return error_set(err, ERR_IO, "64-bit code gave a wrong result");
	return 0;
}

/* 1: ran to its end in *ns; 0: stopped at the limit; -1. */
static int run_once(const struct loop_vm *vm, uint64_t limit_ns, uint64_t *ns, struct error *err)
{
	const struct kvm_regs regs = {.rip = CODE, .rflags = 2};

	if (ioctl(vm->vcpu, KVM_SET_REGS, &regs) < 0)
		return kvm_failed("setting registers", err);
	uint64_t start = thread_cpu_ns(), used;
	for (;;) {
		int rc = ioctl(vm->vcpu, KVM_RUN, 0), why = errno;
		used = thread_cpu_ns() - start;
		if (rc == 0)
			break;
		if (why != EINTR)
			return error_errno(err, why, "running 64-bit code");
		if (used >= limit_ns)
			return 0;
	}
	if (check_result(vm, err) < 0)
		return -1;
	*ns = used;
	return 1;
}

static int run_three(const struct loop_vm *vm, uint64_t limit_ns, bool *finished, uint64_t *best_ns,
		     struct error *err)
{
	bool any = false;
	uint64_t best = UINT64_MAX, ns = 0;

	for (int i = 0; i < 3; i++) {
		int rc = run_once(vm, limit_ns, &ns, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		any = true;
		best = ns < best ? ns : best;
	}
	*finished = any;
	*best_ns = best;
	return 0;
}

int kvm_loop_run(int kvm_fd, uint64_t limit_ns, bool *finished, uint64_t *best_ns,
		 struct error *err)
{
	struct loop_vm vm = {.vm = -1, .vcpu = -1};
	int rc = loop_vm_open(kvm_fd, &vm, err);

	if (rc == 0)
		rc = arm_kvm_timer(err);
	if (rc == 0)
		rc = run_three(&vm, limit_ns, finished, best_ns, err);
	loop_vm_close(&vm);
	return rc;
}

#else
int kvm_loop_run(int kvm_fd, uint64_t limit_ns, bool *finished, uint64_t *best_ns,
		 struct error *err)
{
	(void)kvm_fd, (void)limit_ns, (void)finished, (void)best_ns;
	return error_set(err, ERR_UNSUPPORTED, "the probe knows no processor but x86-64");
}
#endif
