/* SPDX-License-Identifier: MIT */
/* The checks of `doctor` on a Linux host: KVM, namespaces, Landlock and cgroups. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/doctor.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/linux/subids.h"
#include "base/platform/linux/userns.h"
#include "store/cache.h"

/* Sets the remedy to a kernel of the cache that was built for this host's paravirtual KVM, if the
 * cache has such a kernel. */
static void propose_pvm_kernel(struct finding *out)
{
	struct cache_kernels list = {0};
	char remedy[sizeof(out->remedy)];

	out->reason = REASON_NO_PVM_KERNEL;
	if (cache_kernels(&list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count && out->reason != REASON_NONE; i++) {
		if (!list.items[i].for_pvm)
			continue;
		snprintf(remedy, sizeof(remedy), "--kernel %s, which is built for it",
			 list.items[i].name);
		finding_remedy(out, remedy);
		out->reason = REASON_NONE;
	}
	cache_kernels_free(&list);
}

static void check_accelerator(const struct microagent *agent, const json_t *host,
			      struct finding *out)
{
	const char *name = json_text(host, "accelerator", ""),
		   *reason = json_text(host, "acceleratorReason", "");

	bool kvm = strcmp(name, "kvm") == 0;

	(void)agent;
	if (kvm && json_is_true(json_object_get(host, "kvmAvailable"))) {
		finding_detail(out, VERDICT_OK, "kvm: %s", reason);
		return;
	}
	if (!*name) {
		finding_detail(out, VERDICT_FAILED, "not known: the supervisor does not say");
		return;
	}
	/* Only Apple's backend reports the accelerator "platform". On Linux this backend is only a
	 * stand-in for tests, so the finding names no command of this host. */
	if (strcmp(name, "platform") == 0) {
		doctor_platform(host, out);
		return;
	}
	if (kvm)
		finding_detail(out, VERDICT_FAILED, "kvm, and without it no machine runs: %s",
			       reason);
	else
		finding_detail(out, VERDICT_DEGRADED, "%s: %s; emulation is no security boundary",
			       name, reason);
	if (strcmp(json_text(host, "kvmKernels", ""), "pvm") == 0)
		propose_pvm_kernel(out);
	else if (access("/dev/kvm", F_OK) < 0)
		finding_remedy(
			out,
			"switch virtualisation on in the firmware (on a virtual machine: nested virtualisation), then sudo modprobe kvm");
	else if (access("/dev/kvm", R_OK | W_OK) < 0)
		finding_remedy(out, "sudo usermod -aG kvm $(id -un), then log in again");
}

static void check_confinement(const struct microagent *agent, const json_t *host,
			      struct finding *out)
{
	const char *name = json_text(host, "confinement", "");
	const char *reason = json_text(host, "confinementReason", "");
	const char *setting = userns_setting("/proc/sys");
	char remedy[96];

	(void)agent;
	if (strcmp(name, "cell") == 0) {
		finding_detail(out, VERDICT_OK, "cell%s%s", *reason ? ": " : "", reason);
		return;
	}
	if (strcmp(name, "platform") == 0) {
		finding_detail(out, VERDICT_OK, "by the system alone: %s", reason);
		return;
	}
	finding_detail(out, VERDICT_FAILED, "%s%s%s",
		       *name ? "without a cell no machine runs" : "not known", *reason ? ": " : "",
		       reason);
	if (!doctor_in_path("bwrap"))
		finding_remedy(out, "sudo apt-get install bubblewrap");
	else if (setting && snprintf(remedy, sizeof(remedy), "sudo sysctl -w %s", setting) > 0)
		finding_remedy(out, remedy);
}

/* Checks what prevents supervisors from reaching this host's files. A live supervisor, which reads
 * data of a guest, is confined by Landlock and by a separate root directory. A process that reads
 * archives is confined only by Landlock. */
static void check_landlock(const struct microagent *agent, const json_t *host, struct finding *out)
{
	const char *files = json_text(host, "files", "");
	const char *why = json_text(host, "filesReason", "the supervisor does not say why");

	(void)agent;
	if (strcmp(files, "root-landlock") == 0) {
		finding_detail(out, VERDICT_OK, "supervisors cannot reach this host's files");
		return;
	}
	if (strcmp(files, "landlock") == 0) {
		finding_detail(
			out, VERDICT_DEGRADED,
			"only Landlock keeps supervisors from this host's files, and it does not stop a program that gets an open directory: %s",
			why);
		return;
	}
	finding_detail(
		out, VERDICT_DEGRADED, "%s can reach this host's files: %s",
		strcmp(files, "root") == 0
			? "programs that read archives (supervisors have a root of their own and cannot)"
			: "supervisors, which read what guests write, and programs that read archives",
		why);
	if (strcmp(json_text(host, "confinement", ""), "platform") == 0)
		return;
	finding_remedy(
		out,
		"a kernel with CONFIG_SECURITY_LANDLOCK, and landlock in lsm= of its command line");
}

static void check_limits(const struct microagent *agent, const json_t *host, struct finding *out)
{
	const char *path = json_text(host, "cgroup", NULL);

	(void)agent;
	if (path) {
		finding_detail(out, VERDICT_OK, "memory and processes of each machine, in %s",
			       path);
		return;
	}
	finding_detail(out, VERDICT_DEGRADED,
		       "the memory of a machine's processes is not limited: %s",
		       json_text(host, "cgroupReason", "the supervisor does not say why"));
	if (geteuid() && access("/run/systemd/system", F_OK) == 0)
		finding_remedy(out, "systemd-run --user --scope bash");
}

/* Checks the subordinate user ids. If a guest's users make files in a share, these files belong on
 * the host to the user who runs the machine, or to this user's subordinate ids. */
static void check_user_ids(const struct microagent *agent, const json_t *host, struct finding *out)
{
	static const char *const files[] = {"/etc/subuid", "/etc/subgid"};
	const char *missing = NULL;

	(void)agent;
	(void)host;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !missing; i++)
		missing = subids_own(files[i]) ? NULL : files[i];
	if (geteuid() == 0) {
		finding_detail(out, VERDICT_OK, "root needs no subordinate ids");
	} else if (!doctor_in_path("newuidmap") || !doctor_in_path("newgidmap")) {
		finding_detail(out, VERDICT_DEGRADED,
			       "newuidmap and newgidmap are missing: no directory can be shared");
		finding_remedy(out, "sudo apt-get install uidmap");
	} else if (missing) {
		finding_detail(out, VERDICT_DEGRADED,
			       "%s has no range for uid %u: no directory can be shared", missing,
			       (unsigned)geteuid());
		finding_remedy(out, "sudo usermod " SUBIDS_TEXT " $(id -un)");
	} else {
		finding_detail(out, VERDICT_OK,
			       "uid %u has subordinate ids, for shared directories",
			       (unsigned)geteuid());
	}
}

const struct doctor_check doctor_system_checks[] = {
	{"accelerator", check_accelerator, NULL}, {"confinement", check_confinement, NULL},
	{"landlock", check_landlock, NULL},	  {"limits", check_limits, NULL},
	{"user ids", check_user_ids, NULL},
};
const size_t doctor_system_check_count = ARRAY_SIZE(doctor_system_checks);

void doctor_network_remedy(struct finding *out)
{
	if (!doctor_in_path("passt"))
		finding_remedy(out, "sudo apt-get install passt");
}
