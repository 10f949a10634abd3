/* SPDX-License-Identifier: MIT */
/* What doctor finds in the cache and in the state directory. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/doctor.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "channel/guest_init.h"

void doctor_kernel(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct cache_kernel kernel = {0};
	struct error why = {0};

	(void)agent;
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
	}
	cache_kernel_free(&kernel);
}

/* A machine boots the agent of its kernel's initrd, whatever this program is. */
void doctor_guest_agent(const struct microagent *agent, const json_t *host, struct finding *out)
{
	autobuf struct buf other = BUF_INIT(0);
	struct cache_kernels list = {0};
	struct error why = {0};

	(void)agent;
	(void)host;
	if (cache_kernels(&list, &why) < 0) {
		finding_detail(out, VERDICT_DEGRADED, "%s", why.msg);
		return;
	}
	for (size_t i = 0; i < list.count; i++)
		if (guest_init_differs(&list.items[i]))
			(void)buf_printf(&other, &why, "%s%s", other.len ? ", " : "",
					 list.items[i].name);
	if (other.len) {
		finding_detail(out, VERDICT_DEGRADED,
			       "not of this build in the initrd of %s: machines boot another agent",
			       buf_string(&other));
		out->reason = REASON_INITRD_OTHER;
	} else {
		finding_detail(out, VERDICT_OK, "%s",
			       list.count ? "of this build in every initrd"
					  : "comes with the kernel");
	}
	cache_kernels_free(&list);
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
	finding_detail(out, VERDICT_OK, "%s, %s", image.name, image.path);
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
		finding_detail(out, VERDICT_OK, "%s, made when the first workspace is",
			       agent->state_path);
	} else {
		finding_error(out, &why);
		out->reason = REASON_STATE_DIR_REFUSED;
	}
}

/* path, or what is nearest above it, while it is not made yet. */
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

/* *method: "reflink" or "copy", as a file of that directory is cloned. */
static int probe_clone(const char *path, const char **method, struct error *err)
{
	autoclose int dir = open_nearest(path, err);
	autoclose int from = -1, to = -1;

	if (dir < 0)
		return -1;
	from = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	to = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (from < 0 || to < 0)
		return error_errno(err, errno, "%s", path);
	return path_clone_data(from, to, method, err);
}

/* Tried, not guessed from the file system's name. */
void doctor_session_disks(const struct microagent *agent, const json_t *host, struct finding *out)
{
	struct error why = {0};
	const char *method = NULL;

	(void)host;
	if (probe_clone(agent->state_path, &method, &why) < 0)
		finding_detail(out, VERDICT_DEGRADED, "it cannot be tried how they are cloned: %s",
			       why.msg);
	else if (strcmp(method, "reflink") == 0)
		finding_detail(out, VERDICT_OK, "reflink: clones of the base's disk");
	else if (!agent->backend->layers)
		finding_detail(
			out, VERDICT_DEGRADED,
			"copy: of all that the base's disk holds, since this file system has no "
			"reflinks and the backend no layers");
	else
		finding_detail(out, VERDICT_OK,
			       "overlay: a layer over the base's disk, since this file system has "
			       "no reflinks");
}
