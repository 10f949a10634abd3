/* SPDX-License-Identifier: MIT */
#include "oci/config/fields.h"

#include <string.h>

#include "base/cleanup.h"

#define HONOURED(path, text)                          \
	{                                             \
		path, OCI_HONOURED, false, text, NULL \
	}
#define GUEST(path, text)                          \
	{                                          \
		path, OCI_GUEST, false, text, NULL \
	}
#define REFUSED(path, text, next)                    \
	{                                            \
		path, OCI_REFUSED, false, text, next \
	}
#define IGNORED(path, text)                          \
	{                                            \
		path, OCI_IGNORED, false, text, NULL \
	}
#define MISSED(path, text)                          \
	{                                           \
		path, OCI_IGNORED, true, text, NULL \
	}

#define NO_USERNS "the guest's containers have no user namespaces; the machine confines them"
#define WITHOUT_USERNS "run the container without a user namespace"
#define NO_TIME "the guest's containers have no time namespaces"
#define WITHOUT_TIME "run the container without a time namespace"
#define LABEL "policies of the host have no effect in a machine, which is the boundary itself"
#define BLOCKIO "the disks of a machine are files of the host, shared by virtiofs"

/* The table of fields, in the order of the specification. */
static const struct oci_field fields[] = {
	HONOURED("ociVersion", "1.0.0 and later of 1; another is refused"),
	HONOURED(
		"root.path",
		"shared with the machine as it is, or with io.microagent.rootfs=overlay to be read"),
	GUEST("root.readonly", "the guest mounts the root read-only"),
	GUEST("hostname",
	      "set in the UTS namespace; the containers of a pod have the sandbox's name"),
	GUEST("domainname",
	      "set in the UTS namespace; the containers of a pod have the sandbox's name"),

	HONOURED("process.terminal",
		 "a terminal of the container's devpts, connected to the console socket"),
	HONOURED("process.consoleSize.*", "the size of that terminal"),
	GUEST("process.args", "the program is looked up in the container"),
	IGNORED("process.commandLine", "used only on Windows"),
	GUEST("process.cwd", "made if it is missing"),
	GUEST("process.env", "passed on unchanged; HOME comes from /etc/passwd if it is missing"),
	GUEST("process.user.uid", "applied unchanged"),
	GUEST("process.user.gid", "applied unchanged"),
	GUEST("process.user.umask", "applied unchanged"),
	GUEST("process.user.additionalGids", "applied unchanged"),
	IGNORED("process.user.username", "used only on Windows"),
	GUEST("process.capabilities.*", "the five sets; unknown names are left out with a warning"),
	GUEST("process.rlimits.*", "may be above the guest's own hard limits"),
	GUEST("process.noNewPrivileges", "applied unchanged"),
	GUEST("process.oomScoreAdj", "applies among the guest's processes"),
	IGNORED("process.apparmorProfile", LABEL),
	IGNORED("process.selinuxLabel", LABEL),
	MISSED("process.scheduler.*", "the guest's processor time is shared by its cgroups"),
	MISSED("process.ioPriority.*", BLOCKIO),
	MISSED("process.execCPUAffinity.*", "the guest's processors are not those of the host"),

	GUEST("mounts[].destination", "resolved within the container's root"),
	HONOURED("mounts[].source",
		 "of a bind: shared with the machine; no device, socket, /dev, /proc or /sys"),
	GUEST("mounts[].type",
	      "bind, proc, sysfs, tmpfs, devpts, mqueue, cgroup; another is refused"),
	GUEST("mounts[].options",
	      "refused: shared or slave propagation of a bind, idmap, attributes of mount trees; tmpcopyup is ignored with a warning"),
	REFUSED("mounts[].uidMappings.*", "a machine has no mounts with mapped ids",
		"give the volume the ids that the container wants"),
	REFUSED("mounts[].gidMappings.*", "a machine has no mounts with mapped ids",
		"give the volume the ids that the container wants"),

	HONOURED("hooks.prestart.*", "run on the host, before the machine is made"),
	HONOURED("hooks.createRuntime.*", "run on the host, before the machine is made"),
	REFUSED("hooks.createContainer.*",
		"it is for the container's mounts, which the machine makes out of the host's sight",
		"use createRuntime, if what it does is for the host"),
	REFUSED("hooks.startContainer.*", "the guest runs the container's program alone",
		"do it in the program, or in createRuntime, if what it does is for the host"),
	HONOURED("hooks.poststart.*", "run on the host"),
	HONOURED("hooks.poststop.*", "run on the host"),

	HONOURED("annotations.*",
		 "io.microagent.* and those of pods have an effect; `state` prints all of them"),

	GUEST("linux.namespaces[].type",
	      "pid, network and ipc are required; user and time are refused"),
	HONOURED(
		"linux.namespaces[].path",
		"a network namespace is joined; a pid, ipc or uts namespace must be of the same pod"),
	REFUSED("linux.uidMappings.*", NO_USERNS, WITHOUT_USERNS),
	REFUSED("linux.gidMappings.*", NO_USERNS, WITHOUT_USERNS),
	REFUSED("linux.timeOffsets.*", NO_TIME, WITHOUT_TIME),
	GUEST("linux.devices.*",
	      "null, zero, full, random, urandom, tty, console, ptmx; others are refused"),
	REFUSED("linux.netDevices.*", "no interface of the host can be moved into a machine",
		"let the engine's network put it into the network namespace"),
	HONOURED("linux.cgroupsPath", "the cgroup of the machine's processes"),

	GUEST("linux.resources.devices.*",
	      "applied to the guest's devices; then the devices of /dev, and mknod, are allowed"),
	HONOURED("linux.resources.memory.limit",
		 "the machine's size, and the container's memory.max"),
	GUEST("linux.resources.memory.reservation", "memory.low"),
	GUEST("linux.resources.memory.swap", "memory.swap.max"),
	IGNORED("linux.resources.memory.kernel", "cgroup v2 has no such limit"),
	IGNORED("linux.resources.memory.kernelTCP", "cgroup v2 has no such limit"),
	MISSED("linux.resources.memory.swappiness", "cgroup v2 has no such setting"),
	MISSED("linux.resources.memory.disableOOMKiller", "cgroup v2 has no such setting"),
	IGNORED("linux.resources.memory.useHierarchy", "cgroup v2 always does this"),
	IGNORED("linux.resources.memory.checkBeforeUpdate",
		"a limit above the size of the machine is always refused"),
	GUEST("linux.resources.cpu.shares", "cpu.weight"),
	HONOURED("linux.resources.cpu.quota",
		 "the number of processors, and the container's cpu.max"),
	HONOURED("linux.resources.cpu.period",
		 "the number of processors, and the container's cpu.max"),
	MISSED("linux.resources.cpu.burst", "a machine has whole processors"),
	MISSED("linux.resources.cpu.realtimeRuntime", "cgroup v2 has no such setting"),
	MISSED("linux.resources.cpu.realtimePeriod", "cgroup v2 has no such setting"),
	MISSED("linux.resources.cpu.cpus", "the guest's processors are not those of the host"),
	MISSED("linux.resources.cpu.mems", "the guest's memory has one node"),
	MISSED("linux.resources.cpu.idle",
	       "the host cannot apply this policy to a part of a machine"),
	GUEST("linux.resources.pids.limit",
	      "pids.max; the machine's own processes are not counted"),
	MISSED("linux.resources.blockIO.*", BLOCKIO),
	MISSED("linux.resources.hugepageLimits.*", "the guest has no huge pages set aside"),
	MISSED("linux.resources.network.*",
	       "the packets of a machine belong to no cgroup of the container"),
	MISSED("linux.resources.rdma.*", "a machine has no RDMA device"),
	MISSED("linux.resources.unified.*",
	       "the names are those of the host's cgroups, and the container is in a cgroup of the guest"),

	IGNORED("linux.rootfsPropagation", "mounts in a machine are visible only in that machine"),
	GUEST("linux.seccomp.defaultAction", "compiled on the host; no SCMP_ACT_NOTIFY"),
	GUEST("linux.seccomp.defaultErrnoRet", "compiled on the host"),
	GUEST("linux.seccomp.architectures", "compiled on the host"),
	GUEST("linux.seccomp.flags", "handed to seccomp(2)"),
	REFUSED("linux.seccomp.listenerPath",
		"system calls of a machine cannot be answered by the host",
		"use a profile without SCMP_ACT_NOTIFY"),
	IGNORED("linux.seccomp.listenerMetadata", "means nothing without listenerPath"),
	GUEST("linux.seccomp.syscalls.*", "compiled on the host; unknown names are left out"),
	GUEST("linux.sysctl.*", "set in the machine's kernel"),
	GUEST("linux.maskedPaths", "applied unchanged"),
	GUEST("linux.readonlyPaths", "applied unchanged"),
	IGNORED("linux.mountLabel", LABEL),
	REFUSED("linux.intelRdt.*", "a machine's processors have no cache allocation",
		"set it for the cgroup of the machine, on the host"),
	REFUSED("linux.memoryPolicy.*", "a machine's memory has one node", "leave it out"),
	GUEST("linux.personality.domain", "LINUX or LINUX32"),
	REFUSED("linux.personality.flags", "the specification defines no flags", "leave it out"),

	REFUSED("vm.*", "the config of an engine cannot choose the kernel or the machine",
		"use the annotations io.microagent.*, where the engine allows them"),
	REFUSED("solaris.*", "it is for Solaris", "use a config for Linux"),
	REFUSED("windows.*", "it is for Windows", "use a config for Linux"),
	REFUSED("zos.*", "it is for z/OS", "use a config for Linux"),
	REFUSED("freebsd.*", "it is for FreeBSD", "use a config for Linux"),
};

static const char *const verdicts[] = {
	[OCI_HONOURED] = "honoured",
	[OCI_GUEST] = "guest",
	[OCI_REFUSED] = "refused",
	[OCI_IGNORED] = "ignored",
};

const struct oci_field *oci_field_at(size_t index)
{
	return index < ARRAY_SIZE(fields) ? &fields[index] : NULL;
}

static bool field_knows(const struct oci_field *field, const char *path)
{
	size_t len = strlen(field->path);
	bool subtree = len > 2 && strcmp(field->path + len - 2, ".*") == 0;

	if (subtree)
		len -= 2;
	if (strncmp(field->path, path, len) != 0)
		return false;
	path += len;
	return !*path || (subtree ? *path == '.' || *path == '[' : strcmp(path, "[]") == 0);
}

const struct oci_field *oci_field_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (field_knows(&fields[i], path))
			return &fields[i];
	return NULL;
}

int oci_fields_print(struct buf *out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct oci_field *field = &fields[i];

		if (buf_printf(out, err, "%-42s %-9s %s%s%s\n", field->path,
			       verdicts[field->verdict], field->text, field->next ? "; " : "",
			       field->next ? field->next : "") < 0)
			return -1;
	}
	return 0;
}
