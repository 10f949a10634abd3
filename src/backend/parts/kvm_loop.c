/* SPDX-License-Identifier: MIT */
/*
 * Measures how fast KVM runs 64-bit code. A /dev/kvm that can be opened does not prove that KVM is
 * usable: a paravirtual KVM emulates ordinary 64-bit code, some thousand times too slowly to boot a
 * kernel. The result of the code is a 64-bit constant. So the test fails on a processor that
 * executes the same bytes as 32-bit code. kvm_loop_amd64.c and kvm_loop_arm64.c prepare the
 * processor. Each of these two files is for a host of its architecture.
 */
#include "backend/parts/kvm_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "backend/parts/kvm_loop_cpu.h"
#include "base/cleanup.h"
#include "base/clock.h"

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
		munmap(vm->memory, kvm_loop_cpu.bytes);
}

static int kvm_failed(const char *step, struct error *err)
{
	return error_errno(err, errno, "%s", step);
}

static int fill_memory(struct loop_vm *vm, struct error *err)
{
	void *p = mmap(NULL, kvm_loop_cpu.bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return kvm_failed("guest memory", err);
	vm->memory = p;
	kvm_loop_cpu.fill(vm->memory);
	struct kvm_userspace_memory_region region = {
		.memory_size = kvm_loop_cpu.bytes,
		.userspace_addr = (uintptr_t)vm->memory,
	};
	if (ioctl(vm->vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return kvm_failed("guest memory", err);
	return 0;
}

static int map_run_area(int kvm_fd, struct loop_vm *vm, struct error *err)
{
	int size = ioctl(kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);

	if (size < (int)sizeof(struct kvm_run))
		return kvm_failed("size of the run area", err);
	vm->run_size = (size_t)size;
	void *run = mmap(NULL, vm->run_size, PROT_READ | PROT_WRITE, MAP_SHARED, vm->vcpu, 0);
	if (run == MAP_FAILED)
		return kvm_failed("run area", err);
	vm->run = run;
	return 0;
}

static int loop_vm_open(int kvm_fd, struct loop_vm *vm, struct error *err)
{
	int version = ioctl(kvm_fd, KVM_GET_API_VERSION, 0);

	if (version < 0)
		return kvm_failed("API version", err);
	if (version != 12)
		return error_set(
			err, ERR_IO,
			"KVM of this host's kernel has the API version %d, but microagent knows only version 12: boot the host with another kernel",
			version);
	vm->vm = ioctl(kvm_fd, KVM_CREATE_VM, 0);
	if (vm->vm < 0)
		return kvm_failed("making a VM", err);
	kvm_loop_cpu.prepare(vm->vm);
	if (fill_memory(vm, err) < 0)
		return -1;
	vm->vcpu = ioctl(vm->vm, KVM_CREATE_VCPU, 0);
	if (vm->vcpu < 0)
		return kvm_failed("making a virtual CPU", err);
	if (map_run_area(kvm_fd, vm, err) < 0)
		return -1;
	return kvm_loop_cpu.enter(kvm_fd, vm->vm, vm->vcpu, err);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void on_profile_timer(int signal)
{
	(void)signal; /* the signal only makes KVM_RUN return */
}

/* Runs the loop once. Returns 1 if the loop has ended, and sets *ns to the CPU time that it has
 * used. Returns 0 if the loop was stopped at the limit, or -1 with an error. */
static int run_once(const struct loop_vm *vm, uint64_t limit_ns, uint64_t *ns, struct error *err)
{
	if (kvm_loop_cpu.begin(vm->vcpu, err) < 0)
		return -1;
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
	if (kvm_loop_cpu.check(vm->vcpu, vm->run, err) < 0)
		return -1;
	*ns = used;
	return 1;
}

int kvm_loop_run(int kvm_fd, uint64_t limit_ns, struct kvm_loop_result *out, struct error *err)
{
	const struct sigaction action = {.sa_handler = on_profile_timer};
	/* The timer fires again and again. A single signal could arrive after the clock was read
	 * and before KVM_RUN, and would be lost. */
	const struct itimerval often = {{.tv_usec = 10000}, {.tv_usec = 10000}};
	__attribute__((cleanup(loop_vm_close))) struct loop_vm vm = {.vm = -1, .vcpu = -1};
	struct kvm_loop_result result = {.best_ns = UINT64_MAX};
	uint64_t ns = 0;

	if (loop_vm_open(kvm_fd, &vm, err) < 0)
		return -1;
	result.untaken = kvm_loop_cpu.untaken(kvm_fd, vm.vcpu);
	if (sigaction(SIGPROF, &action, NULL) < 0 || setitimer(ITIMER_PROF, &often, NULL) < 0)
		return kvm_failed("timer", err);
	for (int i = 0; i < 3; i++) {
		int rc = run_once(&vm, limit_ns, &ns, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		result.finished = true;
		result.best_ns = ns < result.best_ns ? ns : result.best_ns;
	}
	*out = result;
	return 0;
}
