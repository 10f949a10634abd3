/* SPDX-License-Identifier: MIT */
#include "oci/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/linux/kernel_fs.h"
#include "oci/binds.h"
#include "oci/config/fields.h"
#include "oci/config/seccomp.h"

/* The path of the guest's shared memory. All containers of a pod share this memory. */
#define GUEST_SHM "/dev/shm"
#define FILTER_BYTES 32768

int put_words(json_t *object, const char *key, const char *const *words, struct error *err)
{
	json_auto_t *list = json_array();

	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return json_put(object, key, json_incref(list), err);
}

/* --- the process ----------------------------------------------------------------------------- */

static int put_filter(json_t *process, const json_t *seccomp, struct error *err)
{
	autobuf struct buf filter = BUF_INIT(FILTER_BYTES);
	unsigned flags = 0;

	if (!seccomp)
		return 0;
	if (oci_seccomp_compile(seccomp, &filter, &flags, err) < 0)
		return -1;
	autofree char *text = base64_encode(buf_bytes(&filter), filter.len, err);
	if (!text || json_put_string(process, "seccomp", text, err) < 0)
		return -1;
	return json_put(process, "seccompFlags", json_integer(flags), err);
}

static json_t *describe_process(const struct oci_process *from, const json_t *seccomp,
				struct error *err)
{
	static const char *const sets[OCI_CAPABILITY_SETS] = {
		"bounding", "effective", "inheritable", "permitted", "ambient"};
	json_auto_t *process = json_object();
	json_auto_t *env = json_array();
	json_auto_t *groups = json_array();
	json_auto_t *capabilities = json_object();

	for (const char **word = from->env; word && *word; word++)
		json_array_append_new(env, json_string(*word));
	for (size_t i = 0; i < from->ngroups; i++)
		json_array_append_new(groups, json_integer(from->groups[i]));
	for (int i = 0; i < OCI_CAPABILITY_SETS; i++)
		if (json_put(capabilities, sets[i], json_integer((json_int_t)from->capabilities[i]),
			     err) < 0)
			return NULL;
	if (json_put(process, "env", json_incref(env), err) < 0 ||
	    json_put(process, "uid", json_integer(from->uid), err) < 0 ||
	    json_put(process, "gid", json_integer(from->gid), err) < 0 ||
	    json_put(process, "groups", json_incref(groups), err) < 0 ||
	    (from->umask >= 0 && json_put(process, "umask", json_integer(from->umask), err) < 0) ||
	    json_put(process, "noNewPrivileges", json_boolean(from->no_new_privileges), err) < 0 ||
	    (from->has_oom_score_adj &&
	     json_put(process, "oomScoreAdj", json_integer(from->oom_score_adj), err) < 0) ||
	    json_put(process, "capabilities", json_incref(capabilities), err) < 0 ||
	    put_filter(process, seccomp, err) < 0)
		return NULL;
	return json_incref(process);
}

json_t *describe_command(const struct oci_process *process, const json_t *seccomp,
			 const char *guest, struct error *err)
{
	json_auto_t *whole = json_object();
	json_t *described = describe_process(process, seccomp, err);

	if (!described || json_put(whole, "process", described, err) < 0 ||
	    json_put_string(whole, "container", guest, err) < 0)
		return NULL;
	return json_incref(whole);
}

/* --- limits ---------------------------------------------------------------------------------- */

static int put_group_limit(json_t *limits, const char *file, int64_t value, struct error *err)
{
	char text[32];

	if (value == OCI_UNSAID)
		return 0;
	if (value < 0)
		snprintf(text, sizeof(text), "max");
	else
		snprintf(text, sizeof(text), "%" PRId64, value);
	return json_put_string(limits, file, text, err);
}

/* Puts the limit of swap into `limits`. put_swap() and put_cpu() convert limits of cgroup v1 to
 * those of cgroup v2, as runc does. In v1 the limit of swap includes the memory, and CPU shares
 * have another scale. */
static int put_swap(json_t *limits, const struct oci_resources *r, struct error *err)
{
	if (r->memory_swap == OCI_UNSAID || r->memory_swap == 0)
		return 0;
	if (r->memory_swap < 0 || r->memory_limit < 0)
		return put_group_limit(limits, "memory.swap.max", -1, err);
	return put_group_limit(
		limits, "memory.swap.max",
		r->memory_swap > r->memory_limit ? r->memory_swap - r->memory_limit : 0, err);
}

static int put_cpu(json_t *limits, const struct oci_resources *r, struct error *err)
{
	int64_t period = r->cpu_period > 0 ? r->cpu_period : 100000;
	int64_t shares = r->cpu_shares > 262144 ? 262144 : r->cpu_shares;
	char text[64];

	if (shares >= 2 &&
	    put_group_limit(limits, "cpu.weight", 1 + (shares - 2) * 9999 / 262142, err) < 0)
		return -1;
	if (r->cpu_quota == OCI_UNSAID || r->cpu_quota == 0)
		return 0;
	if (r->cpu_quota < 0)
		snprintf(text, sizeof(text), "max %" PRId64, period);
	else
		snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, r->cpu_quota, period);
	return json_put_string(limits, "cpu.max", text, err);
}

json_t *describe_limits(const struct oci_resources *r, struct error *err)
{
	json_auto_t *limits = json_object();

	if (put_group_limit(limits, "memory.max", r->memory_limit ? r->memory_limit : OCI_UNSAID,
			    err) < 0 ||
	    put_group_limit(limits, "memory.low",
			    r->memory_reservation > 0 ? r->memory_reservation : OCI_UNSAID,
			    err) < 0 ||
	    put_swap(limits, r, err) < 0 || put_cpu(limits, r, err) < 0 ||
	    put_group_limit(limits, "pids.max", r->pids_limit ? r->pids_limit : OCI_UNSAID, err) <
		    0)
		return NULL;
	return json_incref(limits);
}

static int put_device_rules(json_t *container, const struct oci_config *config, struct error *err)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < config->ndevice_rules; i++) {
		const struct oci_device_rule *rule = &config->device_rules[i];

		if (json_array_append_new(list, json_pack("{s:b, s:s%, s:I, s:I, s:s}", "allow",
							  rule->allow, "type", &rule->type,
							  (size_t)1, "major", rule->major, "minor",
							  rule->minor, "access", rule->access)) < 0)
			return error_errno(err, ENOMEM, "devices");
	}
	return json_put(container, "devices", json_incref(list), err);
}

/* --- mounts ---------------------------------------------------------------------------------- */

static json_t *new_mount(const struct oci_mount *from, const char *type, const char *source)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "destination", from->destination, "type",
			 type, "source", source, "flags", (json_int_t)from->flags, "propagation",
			 (json_int_t)from->propagation, "data", from->data);
}

/* Returns the description of a mount whose file system the guest's kernel makes. The caller
 * releases it. */
static json_t *kernel_mount(const struct oci_mount *from)
{
	const char *type = from->type ? from->type : "none";

	if (strcmp(type, "cgroup") == 0) {
		struct oci_mount plain = *from;
		char nothing[] = "";

		plain.data = nothing; /* drops the options, which name hierarchies of cgroup v1 */
		return new_mount(&plain, "cgroup2", "cgroup");
	}
	return new_mount(from, type, from->source ? from->source : type);
}

/* Returns the description of a mount of the guest's shared memory. This mount is used instead of a
 * mount of the host's shared memory, which processes of the guest cannot share with the host. The
 * containers of a pod get the same shared memory. The caller releases the result. */
static json_t *shm_mount(const struct describe *d, const struct oci_mount *from)
{
	struct oci_mount plain = *from;
	char size[] = "mode=1777,size=65536k", nothing[] = "";

	plain.flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	plain.data = size;
	if (!d->of_pod)
		return new_mount(&plain, "tmpfs", "shm");
	plain.flags |= MS_BIND;
	plain.data = nothing;
	return new_mount(&plain, "bind", GUEST_SHM);
}

static char *absolute_in(const char *bundle, const char *path, struct error *err)
{
	char *whole = NULL;

	if (*path == '/')
		whole = strdup(path);
	else if (asprintf(&whole, "%s/%s", bundle, path) < 0)
		whole = NULL;
	if (!whole)
		error_errno(err, ENOMEM, "%.200s", path);
	return whole;
}

/* Refuses a source that is on a file system of the host's kernel, such as proc. The source is open
 * as `fd`, so links to such a file system are refused too; the rules for configs see only names. If
 * such a file system is mounted below the source, now or later, virtiofsd hides it from the
 * guest. */
static int refuse_kernels_own(int fd, const char *field, struct error *err)
{
	struct stat st, dev, top;
	struct statfs fs;
	bool is;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", field);
	is = kernel_fs_is((unsigned long)fs.f_type);
	if (stat("/dev", &dev) == 0 && stat("/", &top) == 0 && dev.st_dev != top.st_dev)
		is = is || st.st_dev == dev.st_dev;
	if (!is)
		return 0;
	return error_set(
		err, ERR_UNSUPPORTED,
		"%s is not supported: it gives access to the host's kernel, and a machine has its own; %s",
		field,
		strcmp(field, "root.path") == 0 ? "name a directory of files"
						: "leave the mount out");
}

/* Opens the source of a mount and checks the open file. The mount then uses the same descriptor. So
 * the checked file is mounted, even if the path `source` leads to another file by then. */
static int open_source(const struct describe *d, size_t number, struct error *err)
{
	const struct oci_mount *from = &d->config->mounts[number];
	autofree char *source = absolute_in(d->bundle, from->source, err);
	autoclose int fd = source ? open(source, O_PATH | O_CLOEXEC) : -1;
	struct stat st;
	char field[40];

	if (!source)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "mounts[%zu].source %.200s", number, source);
	snprintf(field, sizeof(field), "mounts[%zu].source", number);
	if (oci_mount_source_check(from, number, st.st_mode, err) < 0 ||
	    refuse_kernels_own(fd, field, err) < 0)
		return -1;
	return steal_fd(&fd);
}

static json_t *host_mount(const struct describe *d, size_t number, struct error *err)
{
	const struct oci_mount *from = &d->config->mounts[number];
	char name[24], place[PATH_MAX];
	struct oci_mount plain = *from;
	char nothing[] = "";

	if (from->is_shm)
		return shm_mount(d, from);
	autoclose int source = open_source(d, number, err);
	if (source < 0)
		return NULL;
	snprintf(name, sizeof(name), "%zu", number);
	const struct bind_options options = {
		.kind = from->propagation ? BIND_VOLUME_APART : BIND_VOLUME,
		.recursive = from->recursive,
		.read_only = from->read_only,
	};
	if (binds_add(d->share, d->guest, name, source, &options, err) < 0) {
		error_prefix(err, "mounts[%zu].source %.200s", number, from->source);
		return NULL;
	}
	snprintf(place, sizeof(place), CONTAINERS_MOUNTPOINT "/%s/%s", d->guest, name);
	plain.flags |= MS_NOSUID | MS_NODEV | MS_BIND | (from->recursive ? MS_REC : 0);
	plain.data = nothing;
	return new_mount(&plain, "bind", place);
}

static int put_mounts(json_t *container, const struct describe *d, struct error *err)
{
	json_auto_t *list = json_array();

	for (size_t i = 0; i < d->config->nmounts; i++) {
		const struct oci_mount *from = &d->config->mounts[i];
		json_t *mount = from->is_bind ? host_mount(d, i, err) : kernel_mount(from);

		if (!mount || json_array_append_new(list, mount) < 0)
			return -1;
	}
	return json_put(container, "mounts", json_incref(list), err);
}

/* --- namespaces ------------------------------------------------------------------------------ */

/* Returns true if `path` is "/proc/<pid>/ns/<type>", with the pid of the pod's first container. */
static bool is_of_sandbox(const struct describe *d, const char *type, const char *path)
{
	char expected[64];

	if (!d->sandbox)
		return false;
	snprintf(expected, sizeof(expected), "/proc/%d/ns/%s", (int)d->sandbox_pid, type);
	return strcmp(path, expected) == 0;
}

static int put_namespaces(json_t *container, const struct describe *d, struct error *err)
{
	static const enum oci_namespace_type types[] = {OCI_NAMESPACE_PID, OCI_NAMESPACE_IPC,
							OCI_NAMESPACE_UTS};
	/* Gives the container its own cgroup namespace in any case, so that it does not see the
	 * guest's other cgroups. */
	json_auto_t *own = json_pack("[s, s]", "mount", "cgroup");
	json_auto_t *join = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const struct oci_namespace *n = oci_config_namespace(d->config, types[i]);
		const char *name = oci_namespace_names[types[i]];

		if (!n && d->sandbox)
			continue;
		if (n && n->path && !is_of_sandbox(d, name, n->path))
			return error_set(
				err, ERR_UNSUPPORTED,
				"linux.namespaces: %s is that of %.200s, which is not a container of this machine: name a container of the same pod",
				name, n->path);
		if (n && n->path) {
			if (json_put_string(join, name, d->sandbox, err) < 0)
				return -1;
		} else if (n && json_array_append_new(own, json_string(name)) < 0) {
			return error_errno(err, ENOMEM, "namespaces");
		}
	}
	return json_put(container, "namespaces", json_incref(own), err) < 0
		       ? -1
		       : json_put(container, "join", json_incref(join), err);
}

/* --- the whole description ------------------------------------------------------------------- */

static int put_container_root(json_t *container, const struct describe *d, struct error *err)
{
	autofree char *source = absolute_in(d->bundle, d->config->root_path, err);
	const char *kept = oci_config_annotation(d->config, OCI_ROOTFS_ANNOTATION);
	bool overlay = kept && strcmp(kept, "overlay") == 0;
	char place[PATH_MAX];

	if (!source)
		return -1;
	autoclose int root = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, errno, "root.path %.200s", source);
	if (refuse_kernels_own(root, "root.path", err) < 0)
		return -1;
	const struct bind_options options = {
		.kind = BIND_ROOT, .recursive = true, .read_only = overlay};
	if (binds_add(d->share, d->guest, "rootfs", root, &options, err) < 0)
		return error_prefix(err, "root.path");
	snprintf(place, sizeof(place), CONTAINERS_MOUNTPOINT "/%s/rootfs", d->guest);
	if (json_put_string(container, "root", place, err) < 0 ||
	    json_put(container, "overlay", json_boolean(overlay), err) < 0)
		return -1;
	return json_put(container, "readonly", json_boolean(d->config->root_readonly), err);
}

static int put_names(json_t *container, const struct oci_config *config, struct error *err)
{
	const struct oci_namespace *uts = oci_config_namespace(config, OCI_NAMESPACE_UTS);

	/* Puts no names if the container joins the UTS namespace of another container, since this
	 * namespace already has that container's names. */
	if (!uts || uts->path)
		return 0;
	if (config->hostname && *config->hostname &&
	    json_put_string(container, "hostname", config->hostname, err) < 0)
		return -1;
	return config->domainname && *config->domainname
		       ? json_put_string(container, "domainname", config->domainname, err)
		       : 0;
}

json_t *describe_container(const struct describe *d, struct error *err)
{
	const struct oci_config *config = d->config;
	json_auto_t *container = json_object();
	json_auto_t *whole = json_object();
	json_t *limits = describe_limits(&config->resources, err);
	json_t *process;

	if (!limits || json_put(container, "cgroup", limits, err) < 0 ||
	    json_put_string(container, "id", d->guest, err) < 0 ||
	    put_device_rules(container, config, err) < 0 ||
	    put_container_root(container, d, err) < 0 || put_names(container, config, err) < 0 ||
	    put_namespaces(container, d, err) < 0 || put_mounts(container, d, err) < 0 ||
	    put_words(container, "maskedPaths", config->masked_paths, err) < 0 ||
	    put_words(container, "readonlyPaths", config->readonly_paths, err) < 0 ||
	    (config->sysctl &&
	     json_put(container, "sysctl", json_deep_copy(config->sysctl), err) < 0))
		return NULL;
	process = describe_process(&config->process, config->seccomp, err);
	if (process && config->personality >= 0)
		json_object_set_new(process, "personality", json_integer(config->personality));
	if (!process || json_put(whole, "process", process, err) < 0 ||
	    json_put(whole, "container", json_incref(container), err) < 0)
		return NULL;
	return json_incref(whole);
}
