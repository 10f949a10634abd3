/* SPDX-License-Identifier: MIT */
/*
 * What a config.json of the OCI runtime specification says, as plain structs. Strings and json_t
 * that are not said to be owned are borrowed from the document, which must outlive the struct.
 * Wrong types are ERR_INVALID with the JSON path. Here is decoded what is used; what becomes of
 * each field, and which values are refused, is in fields.h.
 */
#ifndef OCI_CONFIG_CONFIG_H
#define OCI_CONFIG_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* A JSON path of a config, cut at the end if it is longer. */
#define OCI_PATH 512

/* Where a person is told what did not become an error. May be NULL, and so may tell. */
struct oci_notes {
	/* warning: else it is of interest to whoever debugs */
	void (*tell)(void *arg, bool warning, const char *text);
	void *arg;
};
void oci_note(const struct oci_notes *notes, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Loads as json_load_strict(), with two differences, since engines are written in Go: null is as
 * absent, and integers of 64 bits without a sign are had (RLIM_INFINITY is one; jansson knows none
 * above INT64_MAX). The decoders want documents that were loaded by this.
 */
json_t *oci_load(const void *data, size_t len, struct error *err);
/* As json_get_int(), of such a document. */
int oci_get_uint64(const json_t *object, const char *path, const char *key, enum json_need need,
		   uint64_t *out, struct error *err);

enum oci_capability_set {
	OCI_BOUNDING,
	OCI_EFFECTIVE,
	OCI_INHERITABLE,
	OCI_PERMITTED,
	OCI_AMBIENT,
	OCI_CAPABILITY_SETS
};

struct oci_process {
	const char **args, **env; /* NULL-terminated, owned; args has one at least */
	const char *cwd;	  /* absolute */
	bool terminal;
	unsigned rows, columns; /* 0: not said */
	uint32_t uid, gid;
	uint32_t *groups; /* owned */
	size_t ngroups;
	int umask;				    /* -1: none is said */
	uint64_t capabilities[OCI_CAPABILITY_SETS]; /* bit n: CAP number n; not said: none */
	bool no_new_privileges;
	bool has_oom_score_adj;
	int oom_score_adj;
	json_t *rlimits; /* as docs/agent-protocol.md has them; owned; NULL: none */
};

/* The object at path ("process", or "" where a file holds a process alone: `exec --process`). */
int oci_process_decode(const json_t *process, const char *path, const struct oci_notes *notes,
		       struct oci_process *out, struct error *err);
/* Accepts a zeroed one; leaves it zeroed. */
void oci_process_free(struct oci_process *process);

/* "CAP_CHOWN" for 0; NULL above the last that is known. */
const char *oci_capability_name(unsigned number);
/* -1 for a name that is not known. */
int oci_capability_number(const char *name);

struct oci_mount {
	const char *destination, *source, *type; /* source and type: NULL where not said */
	bool is_bind, recursive;
	/* A bind on /dev/shm. Memory of the host would be shared with nobody by virtiofs: the guest
	 * makes a tmpfs of its own there. */
	bool is_shm;
	bool read_only;	     /* also MS_RDONLY of flags */
	unsigned long flags; /* MS_*, of those that mount(2) sets; no MS_BIND, MS_REC */
	/* MS_PRIVATE or MS_UNBINDABLE, where nothing is bound also MS_SHARED or MS_SLAVE; with
	 * MS_REC or not; else 0 */
	unsigned long propagation;
	char *data;	      /* the other options, "a,b=c"; owned; "" for none */
	const char **options; /* all of them as they are written; NULL-terminated, owned */
};
/* The options with a meaning here, in the order of their names; NULL behind the last. */
const char *oci_mount_option(size_t index);

enum oci_namespace_type {
	OCI_NAMESPACE_PID,
	OCI_NAMESPACE_NETWORK,
	OCI_NAMESPACE_IPC,
	OCI_NAMESPACE_UTS,
	OCI_NAMESPACE_MOUNT,
	OCI_NAMESPACE_CGROUP,
	OCI_NAMESPACE_USER,
	OCI_NAMESPACE_TIME,
	OCI_NAMESPACE_TYPES
};
extern const char *const oci_namespace_names[OCI_NAMESPACE_TYPES];
struct oci_namespace {
	enum oci_namespace_type type;
	const char *path; /* absolute; NULL: a new one */
};

/* What is not said (for memory, shares, quota, period and pids also what is 0: runc's meaning). */
#define OCI_UNSAID INT64_MIN
struct oci_resources {
	/* bytes; -1: unlimited. swap is of memory and swap together. */
	int64_t memory_limit, memory_swap, memory_reservation;
	int64_t cpu_shares, cpu_period; /* cgroup v1's 2..262144; microseconds */
	int64_t cpu_quota;		/* microseconds of each period; -1: unlimited */
	const char *cpus, *mems;	/* lists as "0-3,7"; NULL: not said */
	int64_t pids_limit;		/* -1: unlimited */
};
/* A rule of linux.resources.devices: what the container may do with devices. */
#define OCI_DEVICE_RULES_MAX 256
struct oci_device_rule {
	bool allow;
	char type;	      /* 'a', 'b' or 'c' */
	int64_t major, minor; /* -1: any */
	const char *access;   /* of the letters r, w and m */
};
/* A device that the container is to have. */
struct oci_device {
	const char *path, *type; /* type: "" where not said */
	int64_t major, minor;	 /* 0 where not said */
};
/* The object at path ("linux.resources", or "" where a file holds it alone: `update`). */
int oci_resources_decode(const json_t *resources, const char *path, struct oci_resources *out,
			 struct error *err);

enum oci_hook_kind {
	OCI_PRESTART,
	OCI_CREATE_RUNTIME,
	OCI_CREATE_CONTAINER,
	OCI_START_CONTAINER,
	OCI_POSTSTART,
	OCI_POSTSTOP,
	OCI_HOOK_KINDS
};
extern const char *const oci_hook_names[OCI_HOOK_KINDS];
struct oci_hook {
	const char *path;	  /* absolute */
	const char **args, **env; /* NULL-terminated, owned; no args: the path alone is meant */
	unsigned timeout;	  /* seconds; 0: none */
};
struct oci_hooks {
	struct oci_hook *items;
	size_t count;
};

struct oci_config {
	const char *version;
	const char *root_path; /* as written: relative to the bundle or absolute */
	bool root_readonly;
	const char *hostname, *domainname; /* NULL: not said */
	struct oci_process process;
	struct oci_mount *mounts;
	size_t nmounts;
	struct oci_namespace *namespaces; /* of each type one at most */
	size_t nnamespaces;
	const char **masked_paths, **readonly_paths; /* absolute; NULL-terminated, owned */
	const json_t *sysctl;			     /* strings by name; NULL: none */
	struct oci_resources resources;
	struct oci_device_rule *device_rules; /* owned; a later rule goes before an earlier one */
	size_t ndevice_rules;
	struct oci_device *devices; /* owned */
	size_t ndevices;
	const char *cgroups_path; /* NULL: not said */
	const json_t *seccomp;	  /* for seccomp.h; NULL: none */
	struct oci_hooks hooks[OCI_HOOK_KINDS];
	const json_t *annotations; /* strings by name; NULL: none */
	/* PER_LINUX or PER_LINUX32 of personality(2); -1: not said */
	int personality;
	const char *rootfs_propagation; /* NULL: not said */
};

int oci_config_decode(const json_t *document, const struct oci_notes *notes, struct oci_config *out,
		      struct error *err);
/* The hooks alone, of a document that has them as a config has. */
int oci_hooks_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Accepts a zeroed one; leaves it zeroed. */
void oci_config_free(struct oci_config *config);

/* NULL: the config has none of the type. */
const struct oci_namespace *oci_config_namespace(const struct oci_config *config,
						 enum oci_namespace_type type);
/* The text of an annotation, or NULL. */
const char *oci_config_annotation(const struct oci_config *config, const char *name);

#endif
