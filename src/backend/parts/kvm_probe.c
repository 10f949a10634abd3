/* SPDX-License-Identifier: MIT */
/*
 * Tries KVM in a child process. The trial uses a signal and a timer, which must not disturb this
 * process. If KVM hangs, only the child hangs, and the child can be killed. The child sends its
 * answer over a pipe, as one record of fixed size.
 */
#include "backend/parts/kvm_probe.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/parts/host_facts.h"
#include "backend/parts/kvm_loop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "store/cache.h"

#define PVM_MODULE "/sys/module/kvm_pvm"
#define KVM_DEVICE "/dev/kvm"

/* Returns the path of the device. A test may name another device node, and must itself give that
 * node the right mode. */
const char *kvm_device(void)
{
	const char *other = secure_getenv("MICROAGENT_TEST_KVM");

	return other ? other : KVM_DEVICE;
}

/* The names of the verdicts that may be remembered. NULL: the verdict is never remembered. */
static const char *const verdict_names[] = {
	[KVM_UNKNOWN] = NULL, [KVM_USABLE] = "usable", [KVM_MISSING] = NULL,	[KVM_DENIED] = NULL,
	[KVM_SLOW] = "slow",  [KVM_UNSUITED] = NULL,   [KVM_BROKEN] = "broken", [KVM_HUNG] = NULL,
};
static_assert(ARRAY_SIZE(verdict_names) == KVM_VERDICT_COUNT, "every verdict has a row");

const char *const kvm_kernels_names[KVM_KERNELS_COUNT] = {
	[KVM_KERNELS_NONE] = "none",
	[KVM_KERNELS_ALL] = "all",
	[KVM_KERNELS_PVM] = "pvm",
};

static void set_verdict(struct kvm_facts *facts, enum kvm_verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void set_verdict(struct kvm_facts *facts, enum kvm_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	facts->kvm = verdict;
	va_start(ap, fmt);
	vsnprintf(facts->reason, sizeof(facts->reason), fmt, ap);
	va_end(ap);
}

#define PVM_WORDS "the KVM of this host is a paravirtual one (kvm_pvm)"

void kvm_judge_kernel(struct kvm_facts *facts, bool pvm, bool for_pvm)
{
	bool began = facts->kvm == KVM_USABLE || facts->kvm == KVM_SLOW;

	if (!pvm || !began) {
		facts->kernels = facts->kvm == KVM_USABLE ? KVM_KERNELS_ALL : KVM_KERNELS_NONE;
		return;
	}
	facts->kernels = KVM_KERNELS_PVM;
	if (for_pvm)
		set_verdict(facts, KVM_USABLE, PVM_WORDS ", and the kernel is built for it");
	else
		set_verdict(
			facts, facts->kvm == KVM_SLOW ? KVM_SLOW : KVM_UNSUITED,
			PVM_WORDS
			", which runs only kernels that are built for it at full speed; this kernel is not known to be built for it");
}

bool kvm_can_serve(const struct kvm_facts *facts, enum accelerator wanted)
{
	return facts->kvm == KVM_USABLE ||
	       (facts->kvm == KVM_UNSUITED && wanted == ACCELERATOR_KVM);
}

/*
 * Returns true if the VM's user may not use the device, and sets the verdict in that case. If this
 * process is root, the VM runs under its own user id. This user has only the group of the
 * device.
 */
static bool denied_to_vm_user(struct kvm_facts *facts)
{
	const mode_t group = S_IRGRP | S_IWGRP, others = S_IROTH | S_IWOTH;
	struct stat st;

	if (geteuid() != 0 || stat(kvm_device(), &st) < 0)
		return false;
	if ((st.st_mode & others) == others || (st.st_gid != 0 && (st.st_mode & group) == group))
		return false;
	set_verdict(
		facts, KVM_DENIED,
		KVM_DEVICE
		" can be opened only by root, and a VM that root starts runs as another user: groupadd -f -r kvm && chgrp kvm " KVM_DEVICE
		" && chmod 660 " KVM_DEVICE);
	return true;
}

/* Opens the device. Returns its descriptor, which the caller closes. Returns -1 on failure; the
 * verdict then has the reason. */
static int open_kvm(struct kvm_facts *facts)
{
	int fd = open(kvm_device(), O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == EACCES || errno == EPERM)
		set_verdict(facts, KVM_DENIED,
			    "no rights to " KVM_DEVICE
			    ": add the user to its group (usermod -aG kvm USER) and log in again");
	else if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		set_verdict(facts, KVM_MISSING,
			    "no " KVM_DEVICE
			    ": hardware virtualisation is off or not offered to this host");
	else
		set_verdict(facts, KVM_BROKEN, KVM_DEVICE " does not open: %s", strerror(errno));
	return -1;
}

static void run_probe(int kvm_fd, int out) __attribute__((noreturn));
static void run_probe(int kvm_fd, int out)
{
	struct kvm_facts facts = {0};
	struct error why;
	struct kvm_loop_result result = {0};
	uint64_t limit = limit_get(LIMIT_PROBE_LOOP_MS) * NS_PER_MS;

	if (kvm_loop_run(kvm_fd, limit, &result, &why) < 0) {
		set_verdict(&facts, KVM_BROKEN, KVM_DEVICE " opens, but does not work: %.180s",
			    why.msg);
	} else {
		facts.untaken = result.untaken;
		if (result.finished && result.best_ns <= limit)
			set_verdict(&facts, KVM_USABLE,
				    "KVM runs 64-bit code at speed: %d iterations in %" PRIu64
				    " us",
				    KVM_LOOP_ITERATIONS, result.best_ns / 1000);
		else
			set_verdict(
				&facts, KVM_SLOW,
				KVM_DEVICE
				" opens, but 64-bit code runs emulated: %d iterations did not end within %" PRIu64
				" ms",
				KVM_LOOP_ITERATIONS, limit / NS_PER_MS);
	}
	(void)!write(out, &facts, sizeof(facts));
	_exit(0);
}

/* Reads the child's answer, and kills the child. If no answer comes within the deadline, the
 * verdict is KVM_HUNG. */
static void hear_child(int from, pid_t pid, struct kvm_facts *facts)
{
	struct kvm_facts heard;
	struct error why;
	uint64_t deadline = limit_deadline(LIMIT_PROBE_MS);

	if (fd_wait(from, POLLIN, deadline, &why) == 0 &&
	    fd_read_exact(from, &heard, sizeof(heard), &why) == 0) {
		heard.reason[sizeof(heard.reason) - 1] = '\0';
		facts->untaken = heard.untaken;
		set_verdict(facts, heard.kvm, "%s", heard.reason);
	} else {
		set_verdict(facts, KVM_HUNG, KVM_DEVICE " opens, but the test of it hangs or dies");
	}
	kill(pid, SIGKILL);
}

static int try_kvm(struct kvm_facts *facts, struct error *err)
{
	struct error ignored;
	int ends[2];
	autoclose int kvm = open_kvm(facts);

	if (kvm < 0)
		return 0;
	if (fd_pipe(ends, err) < 0)
		return -1;
	autoclose int from = ends[0];
	autoclose int to = ends[1];
	pid_t pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "KVM probe: fork");
	if (pid == 0)
		run_probe(kvm, to);
	close(steal_fd(&to));
	hear_child(from, pid, facts);
	/* A child that hangs in the kernel cannot be reaped. In that case this process does not
	 * wait beyond the deadline. */
	autoclose int pidfd = pidfd_open(pid, 0);
	if (pidfd >= 0)
		fd_wait(pidfd, POLLIN, limit_deadline(LIMIT_PROBE_MS), &ignored);
	waitpid(pid, NULL, WNOHANG);
	return 0;
}

/* Changes the verdict if this process or the VM's user may not use the device. The remembered
 * verdict is only about what the device can do, so the rights are checked each time. */
static void apply_rights(struct kvm_facts *facts)
{
	struct kvm_facts now = {0};
	autoclose int kvm = open_kvm(&now);

	if (kvm >= 0 && !denied_to_vm_user(&now))
		return;
	facts->kernels = KVM_KERNELS_NONE;
	if (kvm < 0 || facts->kvm == KVM_USABLE || facts->kvm == KVM_UNSUITED)
		set_verdict(facts, now.kvm, "%s", now.reason);
}

int kvm_probe(const char *kernel, struct kvm_facts *out, struct error *err)
{
	char node[HOST_THING_TEXT], trial[HOST_THING_TEXT];
	struct host_facts host;
	struct kvm_facts facts = {0};
	bool pvm = access(PVM_MODULE, F_OK) == 0;

	/* A remembered verdict is valid for this device and for this time limit of the loop. With
	 * more time the verdict may be different. */
	host_thing(kvm_device(), node);
	snprintf(trial, sizeof(trial), "%.90s, in %" PRIu64 " ms", node,
		 limit_get(LIMIT_PROBE_LOOP_MS));
	host_facts_load(&host);
	if (strcmp(host.kvm_node, trial) == 0) {
		facts.untaken = host.kvm_untaken;
		for (size_t i = 0; i < KVM_VERDICT_COUNT; i++)
			if (verdict_names[i] && strcmp(verdict_names[i], host.kvm_verdict) == 0)
				set_verdict(&facts, (enum kvm_verdict)i, "%s", host.kvm_reason);
	}
	if (facts.kvm == KVM_UNKNOWN) {
		if (try_kvm(&facts, err) < 0)
			return -1;
		const char *verdict = verdict_names[facts.kvm];

		snprintf(host.kvm_node, sizeof(host.kvm_node), "%s", verdict ? trial : "");
		snprintf(host.kvm_verdict, sizeof(host.kvm_verdict), "%s", verdict ? verdict : "");
		snprintf(host.kvm_reason, sizeof(host.kvm_reason), "%s",
			 verdict ? facts.reason : "");
		host.kvm_untaken = facts.untaken;
		host_facts_store(&host);
	}
	kvm_judge_kernel(&facts, pvm, pvm && kernel && cache_kernel_is_for_pvm(kernel));
	apply_rights(&facts);
	*out = facts;
	return 0;
}
