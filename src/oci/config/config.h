/* SPDX-License-Identifier: MIT */
/*
 * The contents of a config.json of the OCI runtime specification, as plain structs. Members that
 * are marked as owned are freed with the struct. All other strings and json_t belong to the
 * document, which must outlive the struct. A value of a wrong type gives ERR_INVALID with the JSON
 * path of the value. Only the fields that this program uses are decoded. fields.h tells how each
 * field is treated, and which values are refused.
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

/* An object that receives notes about things that are not errors. The notes are dropped if a
 * pointer to this struct is NULL, or if the member `tell` is NULL. */
struct oci_notes {
	/* Receives a note. If `warning` is true, the note is for every user. Otherwise it is for
	 * debugging. */
	void (*tell)(void *arg, bool warning, const char *text);
	void *arg;
};
void oci_note(const struct oci_notes *notes, bool warning, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Loads a document like json_load_strict(), with two differences, which are needed since engines
 * are written in Go. A null counts as absent. Unsigned integers of 64 bits, such as RLIM_INFINITY,
 * are accepted, although jansson has no integers above INT64_MAX. The decoders need a document that
 * was loaded by this function. The caller releases the document.
 */
json_t *oci_load(const void *data, size_t len, struct error *err);
/* Reads object[key], a number from 0 to UINT64_MAX, like json_get_int(). The object must come from
 * oci_load(). */
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
	const char **args, **env; /* owned arrays that end with NULL; args has at least one word */
	const char *cwd;	  /* an absolute path in the container */
	bool terminal;
	unsigned rows, columns; /* size of the terminal; 0: not given */
	uint32_t uid, gid;
	uint32_t *groups; /* owned array of ngroups group ids */
	size_t ngroups;
	int umask; /* the process's umask; -1: not given */
	/* sets of capabilities; bit n stands for capability n */
	uint64_t capabilities[OCI_CAPABILITY_SETS];
	bool no_new_privileges;
	bool has_oom_score_adj;
	int oom_score_adj;
	json_t *rlimits; /* owned limits in the form of docs/agent-protocol.md; NULL: none */
};

/* Decodes the object `process`. `path` is the JSON path of the object in errors: "process", or ""
 * if the document is only a process (`exec --process`). */
int oci_process_decode(const json_t *process, const char *path, const struct oci_notes *notes,
		       struct oci_process *out, struct error *err);
/* Frees the members that are owned, and sets all members to zero. Accepts a zeroed struct. */
void oci_process_free(struct oci_process *process);

/* Returns the name of the capability `number`, such as "CAP_CHOWN" for 0. Returns NULL for a number
 * that this program does not know. */
const char *oci_capability_name(unsigned number);
/* Returns the number of the capability `name`; -1 for an unknown name. */
int oci_capability_number(const char *name);

struct oci_mount {
	/* source and type are NULL if the config does not have them */
	const char *destination, *source, *type;
	bool is_bind, recursive;
	/* true: the mount is a bind on /dev/shm. Processes of the host and of the guest cannot
	 * share memory through virtiofs. So the guest makes a tmpfs on /dev/shm instead. */
	bool is_shm;
	bool read_only;	     /* true: `flags` has MS_RDONLY */
	unsigned long flags; /* MS_* flags for mount(2), without MS_BIND and MS_REC */
	/* The flag for the propagation of mounts, with or without MS_REC: MS_PRIVATE or
	 * MS_UNBINDABLE. It can be MS_SHARED or MS_SLAVE only if the mount is not a bind. 0: the
	 * config asks for no propagation. */
	unsigned long propagation;
	/* owned text of the options that are not flags, such as "a,b=c"; "": none */
	char *data;
	/* owned array of all options in their original form; ends with NULL */
	const char **options;
};
/* Returns the name of a mount option that this program knows. `index` is the position of the option
 * in the list of all these options, which is sorted by name. Returns NULL if `index` is past the
 * end of the list. */
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
	/* the absolute path of an existing namespace; NULL: the container gets a new namespace */
	const char *path;
};

/* The value of a limit that is not given. For memory, shares, quota, period and pids, the decoder
 * treats 0 as not given, as runc does. */
#define OCI_UNSAID INT64_MIN
struct oci_resources {
	/* Limits in bytes; -1: unlimited. memory_swap limits memory and swap together. */
	int64_t memory_limit, memory_swap, memory_reservation;
	/* cpu_shares: 2 to 262144, as in cgroup v1; cpu_period: in microseconds */
	int64_t cpu_shares, cpu_period;
	int64_t cpu_quota; /* microseconds of CPU time in each period; -1: unlimited */
	/* lists of CPUs and of memory nodes, such as "0-3,7"; NULL: not given */
	const char *cpus, *mems;
	int64_t pids_limit; /* the most processes and threads; -1: unlimited */
};
/* A rule of linux.resources.devices. It allows or forbids some uses of some devices. */
#define OCI_DEVICE_RULES_MAX 256
struct oci_device_rule {
	bool allow;
	char type;	      /* 'b' (block devices), 'c' (character devices) or 'a' (both) */
	int64_t major, minor; /* -1: any number */
	/* some of the letters r (read), w (write) and m (make a device node) */
	const char *access;
};
/* A device that the container gets. */
struct oci_device {
	const char *path, *type; /* type is "" if the config does not have it */
	int64_t major, minor;	 /* the numbers of the device; 0: not given */
};
/* Decodes the object `resources`. `path` is the JSON path of the object in errors:
 * "linux.resources", or "" if the document is only this object (`update`). */
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
	const char *path; /* the absolute path of the hook's program on the host */
	/* owned arrays that end with NULL; if args is empty, the hook gets only its path as
	 * args[0] */
	const char **args, **env;
	unsigned timeout; /* the hook's time limit in seconds; 0: no limit */
};
struct oci_hooks {
	struct oci_hook *items;
	size_t count;
};

struct oci_config {
	const char *version;
	/* the root of the container: an absolute path, or a path relative to the bundle */
	const char *root_path;
	bool root_readonly;
	/* the names of the container's UTS namespace; NULL: not given */
	const char *hostname, *domainname;
	struct oci_process process;
	struct oci_mount *mounts;
	size_t nmounts;
	/* owned array, which has at most one namespace of each type */
	struct oci_namespace *namespaces;
	size_t nnamespaces;
	/* owned arrays of absolute paths; they end with NULL */
	const char **masked_paths, **readonly_paths;
	/* the settings by their names, with strings as values; NULL: none */
	const json_t *sysctl;
	struct oci_resources resources;
	/* owned array; a later rule overrides an earlier one */
	struct oci_device_rule *device_rules;
	size_t ndevice_rules;
	struct oci_device *devices; /* owned array */
	size_t ndevices;
	const char *cgroups_path; /* the container's cgroup on the host; NULL: not given */
	/* the system call filter, for oci_seccomp_compile(); NULL: none */
	const json_t *seccomp;
	struct oci_hooks hooks[OCI_HOOK_KINDS];
	/* the annotations by their names, with strings as values; NULL: none */
	const json_t *annotations;
	/* The value for personality(2): PER_LINUX or PER_LINUX32. -1: not given. */
	int personality;
	/* the propagation of mounts in the container's root; NULL: not given */
	const char *rootfs_propagation;
};

int oci_config_decode(const json_t *document, const struct oci_notes *notes, struct oci_config *out,
		      struct error *err);
/* Decodes only the hooks of a document. The document has its hooks in the member "hooks", as a
 * config does. */
int oci_hooks_decode(const json_t *document, struct oci_config *out, struct error *err);
/* Frees the members that are owned, and sets all members to zero. Accepts a zeroed struct. */
void oci_config_free(struct oci_config *config);

/* Returns the config's namespace of this type; NULL if the config has none. */
const struct oci_namespace *oci_config_namespace(const struct oci_config *config,
						 enum oci_namespace_type type);
/* Returns the text of an annotation; NULL if there is none. */
const char *oci_config_annotation(const struct oci_config *config, const char *name);

#endif
