/* SPDX-License-Identifier: MIT */
/*
 * Decodes the part of a request that is about a container. The request asks to create a container,
 * or to run a command in an existing one. The host has read the OCI config, so the request has
 * values that the guest's kernel takes: numbers of mount(2) and capset(2), names of cgroup files,
 * and a compiled system call filter. The functions are pure. The members are (S is a text, N a
 * number, B true or false):
 *
 *   "process": {"env":[..], "uid":N, "gid":N, "groups":[..], "umask":N, "capabilities":{"bounding":
 *     MASK, "effective":.., "inheritable":.., "permitted":.., "ambient":..}, "noNewPrivileges":B,
 *     "oomScoreAdj":N, "seccomp":BASE64, "seccompFlags":N, "personality":N}
 *   "container": "ID", or {"id":S, "root":PATH, "overlay":B, "readonly":B, "hostname":S,
 *     "domainname":S, "namespaces":["pid",..], "join":{"ipc":"ID",..},
 *     "mounts":[{"destination":PATH, "type":S, "source":S, "flags":N, "propagation":N,
 *     "data":S},..], "maskedPaths":[..], "readonlyPaths":[..], "sysctl":{..},
 *     "cgroup":{FILE:VALUE,..}, "devices":[{"allow":B, "type":S, "major":N, "minor":N,
 *     "access":S},..]}
 */
#ifndef GUEST_CONTAINED_H
#define GUEST_CONTAINED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define CONTAINER_ID_MAX 64
#define CONTAINED_GROUPS_MAX 1024

enum capability_set {
	CAPABILITY_BOUNDING,
	CAPABILITY_EFFECTIVE,
	CAPABILITY_INHERITABLE,
	CAPABILITY_PERMITTED,
	CAPABILITY_AMBIENT,
	CAPABILITY_SETS
};

/* The properties of the process of a program in a container. The strings belong to the JSON of the
 * request. contained_free() frees the arrays. */
struct contained_process {
	/* The environment. The array ends with NULL, and has room for one more variable. */
	const char **env;
	uint32_t uid, gid;
	uint32_t *groups;
	size_t ngroups;
	int umask;
	/* One set for each kind of capability set. Bit n of a set stands for capability n. */
	uint64_t capabilities[CAPABILITY_SETS];
	bool no_new_privileges;
	bool has_oom_score_adj;
	int oom_score_adj;
	int personality; /* the argument of personality(2); -1: the personality is not changed */
	/* The system call filter, a classic BPF program. Empty if there is no filter. */
	struct buf seccomp;
	uint32_t seccomp_flags;
};

struct contained_mount {
	const char *destination, *type, *source, *data;
	unsigned long flags, propagation;
};

/* A namespace of another container, which the new container joins. */
struct contained_join {
	const char *id; /* the other container's id; NULL: the entry is not used */
	int flag;	/* the CLONE_NEW... flag of the namespace to join */
};
#define CONTAINED_JOINS 3

/* A rule for the devices of a cgroup. If several rules apply to an access, the last of them
 * decides. Kinds and accesses have the values that linux/bpf.h defines. */
#define CONTAINED_DEVICES_MAX 256
#define DEVICE_ANY (-1)
struct device_rule {
	bool allow;
	int kind;	   /* BPF_DEVCG_DEV_BLOCK or BPF_DEVCG_DEV_CHAR; 0: devices of both kinds */
	int major, minor;  /* the device's numbers; DEVICE_ANY: every number */
	unsigned accesses; /* flags BPF_DEVCG_ACC_MKNOD, BPF_DEVCG_ACC_READ, BPF_DEVCG_ACC_WRITE */
};

/* How a new container must be set up. */
struct contained_plan {
	const char *root; /* the absolute path of the container's root in the guest */
	/* If `overlay` is true, what the container writes to its root stays in the machine's
	 * memory, in an overlay. */
	bool overlay;
	bool read_only;
	const char *hostname, *domainname;
	/* CLONE_NEW... flags of the new namespaces that the container gets. CLONE_NEWNS is always
	 * set. */
	int namespaces;
	struct contained_join joins[CONTAINED_JOINS];
	struct contained_mount *mounts;
	size_t nmounts;
	const char **masked, **read_only_paths; /* two arrays of paths; each array ends with NULL */
	/* JSON objects whose values are strings. Each is NULL if the request does not have it. */
	json_t *sysctl, *cgroup;
	struct device_rule *devices;
	size_t ndevices;
};

struct contained {
	const char *id;
	/* true: the container must be created from `plan`; false: a command must run in an existing
	 * container. */
	bool make;
	struct contained_process process;
	struct contained_plan plan;
};

/* Decodes the container of a request. Sets *out to NULL if the request is about no container. */
int contained_decode(json_t *request, struct contained **out, struct error *err);
void contained_free(struct contained *contained); /* accepts NULL */

#endif
