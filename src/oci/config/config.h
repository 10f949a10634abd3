/* SPDX-License-Identifier: MIT */
/*
 * The contents of a config.json of the OCI runtime specification, as plain structs. Members that
 * are marked as owned are freed with the struct. All other strings and json_t belong to the
 * document, which must outlive the struct. A value of a wrong type gives ERR_INVALID with its JSON
 * path. Only the fields that are used are decoded. fields.h says what happens with each field, and
 * which values are refused.
 */
#ifndef OCI_CONFIG_CONFIG_H
#define OCI_CONFIG_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* Room for a JSON path of a config. A longer path is cut at its end. */
#define OCI_PATH 512

/* The receiver of notes about things that are not errors. A pointer to this struct may be NULL, and
 * so may the member `tell`. */
struct oci_notes {
	/* Receives a note. If `warning` is true, the note is for every user. Otherwise it is for
	 * debugging. */
	void (*tell)(void *arg, bool warning, const char *text);
	void *arg;
};
void oci_note(const struct oci_notes *notes, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Loads a document like json_load_strict(), with two differences, since engines are written in Go.
 * A null counts as absent. Unsigned integers of 64 bits are accepted (RLIM_INFINITY is one),
 * although jansson has no integers above INT64_MAX. The decoders need a document that was loaded by
 * this function.
 */
json_t *oci_load(const void *data, size_t len, struct error *err);
/* Reads a number like json_get_int(), from a document of oci_load(). */
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
	const char **args, **env; /* owned, end with NULL; args has at least one */
	const char *cwd;	  /* absolute */
	bool terminal;
	unsigned rows, columns; /* 0: not given */
	uint32_t uid, gid;
	uint32_t *groups; /* owned */
	size_t ngroups;
	int umask;				    /* -1: not given */
	uint64_t capabilities[OCI_CAPABILITY_SETS]; /* bit n stands for capability n */
	bool no_new_privileges;
	bool has_oom_score_adj;
	int oom_score_adj;
	json_t *rlimits; /* as in docs/agent-protocol.md; owned; NULL: none */
};

/* Decodes the object `process`. `path` is its JSON path for errors: "process", or "" if a file
 * holds only a process (`exec --process`). */
int oci_process_decode(const json_t *process, const char *path, const struct oci_notes *notes,
		       struct oci_process *out, struct error *err);
/* Frees the contents. Accepts a zeroed struct, and leaves a zeroed one. */
void oci_process_free(struct oci_process *process);

/* Returns a capability's name, such as "CAP_CHOWN" for 0; NULL above the last known number. */
const char *oci_capability_name(unsigned number);
/* Returns a capability's number; -1 for an unknown name. */
int oci_capability_number(const char *name);

struct oci_mount {
	const char *destination, *source, *type; /* source and type: NULL if not given */
	bool is_bind, recursive;
	/* The mount is a bind on /dev/shm. Processes of the host and of the guest cannot share such
	 * memory through virtiofs, so the guest makes its own tmpfs on /dev/shm. */
	bool is_shm;
	bool read_only;	     /* `flags` has MS_RDONLY too */
	unsigned long flags; /* MS_* flags for mount(2), without MS_BIND and MS_REC */
	/* MS_PRIVATE or MS_UNBINDABLE, or, if the mount is not a bind, MS_SHARED or MS_SLAVE; each
	 * with or without MS_REC. 0: the config asks for no propagation. */
	unsigned long propagation;
	char *data;	      /* the options that are not flags, "a,b=c"; owned; "": none */
	const char **options; /* all options as written; owned, ends with NULL */
};
/* Returns the name of an option of mounts, for a list of all options that this program knows.
 * `index` is the place in the list, which is sorted by name. Returns NULL after the last option. */
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
	const char *path; /* absolute; NULL: a new namespace */
};

/* A limit has this value if it is not given. For memory, shares, quota, period and pids, the
 * decoder takes 0 as not given too, as runc does. */
#define OCI_UNSAID INT64_MIN
struct oci_resources {
	/* Bytes; -1: unlimited. memory_swap limits memory and swap together. */
	int64_t memory_limit, memory_swap, memory_reservation;
	int64_t cpu_shares, cpu_period; /* shares of cgroup v1: 2..262144; microseconds */
	int64_t cpu_quota;		/* microseconds of each period; -1: unlimited */
	const char *cpus, *mems;	/* lists such as "0-3,7"; NULL: not given */
	int64_t pids_limit;		/* -1: unlimited */
};
/* A rule of linux.resources.devices: which devices the container may use, and how. */
#define OCI_DEVICE_RULES_MAX 256
struct oci_device_rule {
	bool allow;
	char type;	      /* 'a', 'b' or 'c' */
	int64_t major, minor; /* -1: any */
	const char *access;   /* some of the letters r, w and m */
};
/* A device that the container gets. */
struct oci_device {
	const char *path, *type; /* type: "" if not given */
	int64_t major, minor;	 /* 0 if not given */
};
/* Decodes the object `resources`. `path` is its JSON path for errors: "linux.resources", or "" if a
 * file holds only this object (`update`). */
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
	const char **args, **env; /* owned, end with NULL; empty args: only the path is passed */
	unsigned timeout;	  /* seconds; 0: no bound */
};
struct oci_hooks {
	struct oci_hook *items;
	size_t count;
};

struct oci_config {
	const char *version;
	const char *root_path; /* as written: absolute, or relative to the bundle */
	bool root_readonly;
	const char *hostname, *domainname; /* NULL: not given */
	struct oci_process process;
	struct oci_mount *mounts;
	size_t nmounts;
	struct oci_namespace *namespaces; /* at most one of each type */
	size_t nnamespaces;
	const char **masked_paths, **readonly_paths; /* absolute; owned, end with NULL */
	const json_t *sysctl;			     /* strings by name; NULL: none */
	struct oci_resources resources;
	struct oci_device_rule *device_rules; /* owned; a later rule overrides an earlier one */
	size_t ndevice_rules;
	struct oci_device *devices; /* owned */
	size_t ndevices;
	const char *cgroups_path; /* NULL: not given */
	const json_t *seccomp;	  /* the object for oci_seccomp_compile(); NULL: none */
	struct oci_hooks hooks[OCI_HOOK_KINDS];
	const json_t *annotations; /* strings by name; NULL: none */
	/* PER_LINUX or PER_LINUX32, for personality(2); -1: not given */
	int personality;
	const char *rootfs_propagation; /* NULL: not given */
};

int oci_config_decode(const json_t *document, const struct oci_notes *notes, struct oci_config *out,
		      struct error *err);
/* Decodes only the hooks of a document, which has its hooks at the same JSON path as a config. */
int oci_hooks_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Frees the contents. Accepts a zeroed struct, and leaves a zeroed one. */
void oci_config_free(struct oci_config *config);

/* Returns the namespace of this type; NULL if the config names none. */
const struct oci_namespace *oci_config_namespace(const struct oci_config *config,
						 enum oci_namespace_type type);
/* Returns the text of an annotation; NULL if there is none. */
const char *oci_config_annotation(const struct oci_config *config, const char *name);

#endif
