/* SPDX-License-Identifier: MIT */
/* The checks of `doctor` for the files in the cache and for the state directory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/doctor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "channel/guest_init.h"
#include "channel/hasher.h"

/* Returns false if the initrd of a kernel does not have the digest in the kernel's record. Returns
 * true if it has this digest, if no digest is recorded, or if the initrd cannot be read. */
static bool has_recorded_initrd(const struct cache_kernel *kernel)
{
	autoclose int fd = open(kernel->initrd, O_RDONLY | O_CLOEXEC);
	char digest[DIGEST_TEXT];

	return !kernel->cached || !*kernel->initrd_sha256 || fd < 0 ||
	       digest_of(fd, DIGEST_FILE, digest, NULL) < 0 ||
	       strcmp(digest, kernel->initrd_sha256) == 0;
}

void doctor_kernel(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct cache_kernel kernel = {0};
	struct error why = {0};

	(void)host;
	if (cache_kernel_find(NULL, architecture_of_host(), &kernel, &why) < 0) {
		finding_error(out, &why);
		return;
	}
	finding_detail(out, VERDICT_OK, "%s (%s), %s", kernel.name, kernel_kind_name(kernel.kind),
		       kernel.path);
	if (!kernel.initrd) {
		finding_detail(out, VERDICT_FAILED, "%s has no %s.initrd beside it", kernel.path,
			       kernel.path);
		out->reason = REASON_INITRD_MISSING;
	} else if (!agent->backend->packed && !kernel.vmlinux &&
		   architecture_is_packed_kernel(kernel.path)) {
		finding_detail(
			out, VERDICT_FAILED,
			"%s is a packed kernel, and the file %s.vmlinux, which %s boots, is not beside it",
			kernel.path, kernel.path, agent->backend->name);
		out->reason = REASON_KERNEL_PACKED;
	} else if (!has_recorded_initrd(&kernel)) {
		finding_detail(out, VERDICT_FAILED,
			       "the initrd %s has changed since it was recorded", kernel.initrd);
		out->reason = REASON_INITRD_DAMAGED;
	}
	cache_kernel_free(&kernel);
}

/* The result of comparing the microagent-init of this version with those in the initrds of all
 * kernels. */
struct agents {
	struct buf other;   /* names of the kernels whose initrd has another microagent-init: "a,
			     * b" */
	struct buf unknown; /* architectures whose kernels cannot be compared: "amd64, arm64" */
	enum architecture last;
	struct error why; /* the reason why the first kernel in `unknown` cannot be compared */
};

static int add_agent(struct agents *agents, const struct cache_kernel *kernel, struct error *err)
{
	struct buf *unknown = &agents->unknown;
	struct error why = {0};

	switch (guest_init_compare(kernel, &why)) {
	case GUEST_INIT_SAME:
		return 0;
	case GUEST_INIT_OTHER:
		return buf_printf(&agents->other, err, "%s%s", agents->other.len ? ", " : "",
				  kernel->name);
	case GUEST_INIT_UNKNOWN:
		break;
	}
	/* In the list, kernels of the same architecture follow each other. So this test adds each
	 * architecture only once. */
	if (unknown->len && agents->last == kernel->architecture)
		return 0;
	if (!unknown->len)
		agents->why = why;
	agents->last = kernel->architecture;
	return buf_printf(unknown, err, "%s%s", unknown->len ? ", " : "",
			  architecture_name(kernel->architecture));
}

static void tell_agents(struct agents *agents, struct finding *out)
{
	char unknown[400] = "";

	if (agents->unknown.len)
		snprintf(unknown, sizeof(unknown), "not known for kernels of %.40s: %.300s",
			 buf_string(&agents->unknown), agents->why.msg);
	if (agents->other.len) {
		finding_detail(
			out, VERDICT_DEGRADED,
			"the initrd of %.300s has an agent from another build of microagent, which machines boot%s%s",
			buf_string(&agents->other), *unknown ? "; " : "", unknown);
		out->reason = REASON_INITRD_OTHER;
	} else if (*unknown) {
		finding_detail(out, VERDICT_DEGRADED, "%s", unknown);
	} else {
		finding_detail(out, VERDICT_OK, "every initrd has the agent of this build");
	}
}

/* Checks the agent (microagent-init) in each initrd. A machine boots the agent that is in its
 * kernel's initrd, and this agent may have another version than this program. */
void doctor_guest_agent(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct agents agents = {.other = BUF_INIT(0), .unknown = BUF_INIT(0)};
	struct cache_kernels list = {0};
	struct error why = {0};
	int added = 0;

	(void)agent;
	(void)host;
	if (cache_kernels(&list, &why) < 0) {
		finding_detail(out, VERDICT_DEGRADED, "%s", why.msg);
		return;
	}
	for (size_t i = 0; i < list.count && added == 0; i++)
		added = add_agent(&agents, &list.items[i], &why);
	if (added < 0)
		finding_detail(out, VERDICT_DEGRADED, "%s", why.msg);
	else if (list.count)
		tell_agents(&agents, out);
	else
		finding_detail(out, VERDICT_OK, "comes with the kernel");
	cache_kernels_free(&list);
	buf_free(&agents.other);
	buf_free(&agents.unknown);
}

void doctor_image(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct cache_image image = {0};
	struct error why = {0};

	(void)agent;
	(void)host;
	if (cache_image_find(NULL, architecture_of_host(), &image, &why) < 0) {
		finding_error(out, &why);
		return;
	}
	int fd = image_open(&image, &why);
	if (fd < 0)
		finding_error(out, &why);
	else
		finding_detail(out, VERDICT_OK, "%s, %s", image.name, image.path);
	if (fd >= 0)
		close(fd);
	cache_image_free(&image);
}

void doctor_import(const struct microagent *agent, const json_t *host, struct finding *out)
{
	(void)agent;
	(void)host;
	if (doctor_in_path("skopeo")) {
		finding_detail(out, VERDICT_OK, "skopeo");
		return;
	}
	finding_detail(out, VERDICT_DEGRADED,
		       "skopeo is missing: importing an image of the OCI needs it");
	finding_remedy(out, "sudo apt-get install skopeo");
}

void doctor_state(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct state_dir dir = {.fd = -1};
	struct error why = {0};

	(void)host;
	if (state_dir_open(agent->state_path, false, &dir, &why) == 0) {
		finding_detail(out, VERDICT_OK, "%s", agent->state_path);
		state_dir_close(&dir);
	} else if (why.code == ERR_NOT_FOUND) {
		finding_detail(out, VERDICT_OK, "%s, which is made with the first workspace",
			       agent->state_path);
	} else {
		finding_error(out, &why);
		out->reason = REASON_STATE_DIR_REFUSED;
	}
}

/* Opens the directory `path`, or the nearest existing directory above it. Returns a descriptor. */
static int open_nearest(const char *path, struct error *err)
{
	autofree char *dir = strdup(path);
	char *slash;
	int fd = -1;

	if (!dir)
		return error_errno(err, ENOMEM, "%s", path);
	while ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 && errno == ENOENT &&
	       (slash = strrchr(dir, '/')) != NULL)
		slash[slash == dir] = '\0';
	return fd < 0 ? error_errno(err, errno, "%s", dir) : fd;
}

/* Checks how the disks of sessions are cloned. The check makes a reflink as a test, because the
 * type of a file system does not show whether it can make reflinks. */
void doctor_session_disks(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct error why = {0};
	autoclose int dir = open_nearest(agent->state_path, &why);
	int cloned = dir < 0 ? -1 : file_try_clone(dir);

	(void)host;
	if (dir >= 0 && cloned < 0)
		error_errno(&why, errno, "%s", agent->state_path);
	if (cloned < 0)
		finding_detail(out, VERDICT_DEGRADED, "how disks are cloned could not be tried: %s",
			       why.msg);
	else if (cloned)
		finding_detail(out, VERDICT_OK, "reflink: clones of the base's disk");
	else if (!agent->backend->layers)
		finding_detail(
			out, VERDICT_DEGRADED,
			"copy: the whole disk of the base is copied, because this file system has no reflinks and the backend has no layers");
	else
		finding_detail(
			out, VERDICT_OK,
			"overlay: a layer over the base's disk, because this file system has no reflinks");
}
