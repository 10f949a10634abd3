/* SPDX-License-Identifier: MIT */
/*
 * Decodes the part of a request about a container, which is to be made, or in which a command is to
 * be run. The host has read the OCI config, so the request has values for this kernel: numbers of
 * mount(2) and capset(2), names of cgroup files, a compiled filter. The functions are pure.
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

/* The exact properties of the program's process. Strings and arrays are borrowed from the document,
 * except those that contained_free() frees. */
struct contained_process {
	const char **env; /* ends with NULL, and has room for one more variable */
	uint32_t uid, gid;
	uint32_t *groups;
	size_t ngroups;
	int umask;
	uint64_t capabilities[CAPABILITY_SETS]; /* bit n: capability n */
	bool no_new_privileges;
	bool has_oom_score_adj;
	int oom_score_adj;
	int personality;    /* for personality(2); -1: unchanged */
	struct buf seccomp; /* a classic BPF program; empty: none */
	uint32_t seccomp_flags;
};

struct contained_mount {
	const char *destination, *type, *source, *data;
	unsigned long flags, propagation;
};

/* A namespace of another container, which the new container joins. */
struct contained_join {
	const char *id; /* NULL: none */
	int flag;	/* CLONE_NEW... */
};
#define CONTAINED_JOINS 3

/* A rule for the devices of a cgroup. The last rule that applies to an access decides. Kinds and
 * accesses are those of linux/bpf.h. */
#define CONTAINED_DEVICES_MAX 256
#define DEVICE_ANY (-1)
struct device_rule {
	bool allow;
	int kind;	   /* BPF_DEVCG_DEV_BLOCK or BPF_DEVCG_DEV_CHAR; 0: both */
	int major, minor;  /* DEVICE_ANY: every number */
	unsigned accesses; /* BPF_DEVCG_ACC_MKNOD, _READ and _WRITE */
};

/* A container that is to be made. */
struct contained_plan {
	const char *root; /* absolute, in the guest */
	bool overlay;	  /* writes to the root stay in this machine, in an overlay */
	bool read_only;
	const char *hostname, *domainname;
	/* CLONE_NEW... flags of the container's own namespaces, always with CLONE_NEWNS */
	int namespaces;
	struct contained_join joins[CONTAINED_JOINS];
	struct contained_mount *mounts;
	size_t nmounts;
	const char **masked, **read_only_paths; /* end with NULL */
	json_t *sysctl, *cgroup;		/* objects of strings; NULL: none */
	struct device_rule *devices;
	size_t ndevices;
};

struct contained {
	const char *id;
	bool make; /* the container is made, by `plan`; else a command is run in an existing one */
	struct contained_process process;
	struct contained_plan plan;
};

/* Decodes a request. Sets *out to NULL if the request is about no container. */
int contained_decode(json_t *request, struct contained **out, struct error *err);
void contained_free(struct contained *contained); /* accepts NULL */

#endif
