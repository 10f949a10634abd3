/* SPDX-License-Identifier: MIT */
/*
 * The request of the protocol, decoded and checked: one JSON document (docs/protocol.md). Decoding
 * is strict: an unknown field is an error, and the message names the field. Otherwise a typo could
 * weaken the isolation unnoticed. Decoding does not look at any file of the host.
 */
#ifndef CONTRACT_REQUEST_H
#define CONTRACT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/architecture.h"
#include "base/error.h"
#include "base/prefix.h"
#include "contract/state.h"

/* A config can ask only for one of the first three values. ACCELERATOR_PLATFORM is reported for a
 * backend whose machines are run by the host's operating system. */
enum accelerator {
	ACCELERATOR_AUTO,
	ACCELERATOR_KVM,
	ACCELERATOR_TCG,
	ACCELERATOR_PLATFORM,
	ACCELERATOR_COUNT
};
enum network_mode { NETWORK_NAT, NETWORK_ISOLATED, NETWORK_BRIDGED };
extern const char *const accelerator_names[ACCELERATOR_COUNT];
/* How the VMM is confined. If only the operating system confines the VMM, the backend reports
 * "platform" instead of one of these names. */
enum confinement { CONFINEMENT_CELL, CONFINEMENT_SECCOMP };
extern const char *const confinement_names[2];
/* The confinement that answers report if the VMM's system calls are only logged. No config can ask
 * for this confinement. */
#define CONFINEMENT_UNFILTERED "unfiltered"
extern const char *const network_mode_names[3];

/* The modes in which a guest caches a shared directory. "auto": names and attributes are cached for
 * a second, and the contents of a file until the file is opened again. "always": everything is
 * cached, and the guest does not see changes that other programs make. "none": nothing is
 * cached. */
enum share_cache { SHARE_CACHE_AUTO, SHARE_CACHE_ALWAYS, SHARE_CACHE_NONE };
extern const char *const share_cache_names[3];
/* How a shared directory is served. */
struct share_terms {
	enum share_cache cache;
	int64_t timeout_seconds; /* the number of seconds for which names and attributes are cached;
				  * 0: the default for the value of `cache` */
	bool locks; /* true: a lock of a process of the guest also locks the host's file */
};
#define SHARE_TIMEOUT_MAX 86400

/*
 * What an entry of config.bundles names, of which prepare makes a disk. An archive: the guest finds
 * it unpacked, and cannot change it. A directory for a review: the guest finds its files and may
 * change them, but the changes go to a second layer on the machine's root disk. They reach the host
 * only if a person takes them.
 */
enum bundle_kind { BUNDLE_ARCHIVE, BUNDLE_REVIEW };
extern const char *const bundle_kind_names[2]; /* "bundle" and "review" */
/* Returns the kind of an entry in canonical form. */
enum bundle_kind bundle_kind(const json_t *bundle);

/* The largest numbers of bytes and operations that a machine may transfer in a second; 0: no
 * limit. */
struct machine_rates {
	int64_t disk_bytes, disk_ops; /* the limits of all writable disks of the machine together */
	int64_t net_bytes;	      /* the limit of each direction of the network */
};
#define MACHINE_RATE_MAX INT64_C(1000000000000)

struct identity {
	const char *request_id;
	const char *runtime_id; /* the name of the workspace, checked by runtime_id_check() */
	const char *role;	/* the role of the workspace: "workload" or "enforcer" */
	const char *backend;
	const json_t *json; /* the identity as it was given, which answers repeat */
};

/* The files that a macOS guest has instead of a kernel. */
struct macos_paths {
	const char *hardware_model, *auxiliary_storage, *machine_identifier;
};

/* A config. Strings and arrays belong to `normalised`. Empty arrays and objects are NULL. */
struct config {
	/* The members of the fields that have one member each. Their rows describe them. */
#define CONFIG_MEMBER_TEXT(name) const char *name;
#define CONFIG_MEMBER_NUMBER(name) int64_t name;
#define CONFIG_MEMBER_FLAG(name) bool name;
#define CONFIG_MEMBER_GIVEN(name) bool name;
#define CONFIG_MEMBER_CHOICE(name) enum name name;
#define CONFIG_MEMBER_JSON(name) const json_t *name;
#define CONFIG_FIELD(KIND, member, ...) CONFIG_MEMBER_##KIND(member)
#include "contract/config_fields.def"
	struct macos_paths macos; /* the files of a macOS guest, for which `kernel_path` is NULL;
				   * all NULL for a Linux guest */
	enum architecture architecture; /* default: that of the host */
	enum network_mode network_mode; /* default nat */
	const char *network_interface;	/* the bridge of the host; NULL unless the mode is
					 * bridged */
	const json_t *network_allow;	/* prefixes that the guest may reach in addition: an array
					 * or NULL */
	const json_t *network_egress;	/* an object with names and prefixes; NULL: the guest may
					 * reach all public addresses */
	const json_t *port_forwards;	/* the published ports: an array or NULL */
	struct machine_rates limits;
	bool cgroup_limits_required; /* the machine runs only if its memory and processes can be
				      * limited */
	/* The canonical config: every default is filled in, absent options and empty lists are left
	 * out. The command prepare records this config, and start compares it with the record. For
	 * a command that needs only the state directory, the canonical config is only {stateDir}.
	 * cpuCount is missing if the request does not set the number. */
	json_t *normalised;
};

struct request {
	json_t *document; /* the document, which owns everything to which the other members point */
	enum command command;
	struct identity identity; /* the identity; all members are NULL for the command `host` */
	struct config config;	  /* the config; only state_dir is set for a command that needs only
				   * the state directory */
};

struct host_bounds {
	int64_t memory_mib; /* the most memory that a guest may have */
	int64_t cpus;	    /* the most processors that a guest may have */
	/* true: the backend has no network card. If a request has no network mode, the mode is then
	 * isolated. */
	bool isolated_only;
};
/* Returns the limits of this host, as the system reports them now. isolated_only is false; the
 * backend sets it. */
struct host_bounds host_bounds(void);
/* Check the memory and the number of processors of a machine with the same rules as for a config.
 * These functions are for a caller that has no config. `bounds` is as for request_decode(). */
int config_check_memory(int64_t mib, const struct host_bounds *bounds, struct error *err);
int config_check_cpus(int64_t cpus, const struct host_bounds *bounds, struct error *err);

/*
 * Decodes one request (`len` bytes). `backend` is the backend of this supervisor: a request for
 * another backend is refused. If `recorded` is true, the workspace's recorded config will be used,
 * and the config of the request may have only the fields that each request sets. `bounds` may be
 * NULL: then the limits of this host do not apply. On failure *out is untouched. If there are
 * several errors, the first error is reported, in this order: document, command, identity, config.
 */
int request_decode(const void *data, size_t len, const char *backend, bool recorded,
		   const struct host_bounds *bounds, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a zeroed request */

/* Decodes a recorded config (workspace.json). Unknown fields are ignored, and defaults are filled
 * in. *out does not refer to `json`. The caller frees *out with config_free(). */
int config_from_record(json_t *json, struct config *out, struct error *err);
void config_free(struct config *config);
/* Replaces the config of a request by a recorded config, but keeps the fields that each request
 * sets. The request must have been decoded with `recorded` set. ERR_INVALID if the config asks for
 * more than this host has. */
int request_take_recorded(struct request *request, const struct config *recorded,
			  const struct host_bounds *bounds, struct error *err);
/* Checks config.network alone. Returns its canonical form as a new reference. */
json_t *network_decode(const json_t *network, struct error *err);
/* Checks whether a guest may be allowed to reach the addresses of a prefix; `what` names the prefix
 * in messages. Private addresses are not refused. */
typedef int prefix_check_fn(struct prefix prefix, const char *what, struct error *err);
prefix_check_fn config_check_prefix;
/* Checks a prefix of config.network.egress like config_check_prefix(), but also refuses private
 * addresses. */
prefix_check_fn config_check_egress_prefix;
/* Checks one entry of config.shares alone; `what` names the entry in messages. Returns its
 * canonical form as a new reference. */
json_t *share_decode(const json_t *share, const char *what, struct error *err);
/* Returns how a share in canonical form is served. */
struct share_terms share_terms(const json_t *share);
/* Puts the number of processors into the canonical config if the request does not set it. Under KVM
 * the machine gets two processors, or one if the host has only one. Under TCG the machine gets one
 * processor, because a second processor would only take time from the first. */
int config_settle_cpus(const struct config *config, enum accelerator accelerator,
		       const struct host_bounds *bounds, struct error *err);
/* Checks that the two configs are equal. Otherwise fails with ERR_CONFLICT, which names the JSON
 * path of the first field in which they differ. stateDir is not compared, because the record was
 * found in the given state directory. The number of processors is not compared if `given` does not
 * set it. Fields that each request sets are not compared. */
int config_compare(const struct config *given, const struct config *recorded, struct error *err);

#endif
