/* SPDX-License-Identifier: MIT */
/*
 * The request as decoded and validated: one JSON document, seeds 000, 002 and 003 for the shared
 * part, DESIGN's further keys beside it. Decoding is strict: unknown fields are refused by name,
 * because a typo must not silently weaken isolation. Pure: looks at no file.
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

/* A config asks for one of the first three. PLATFORM: what the host's system has, and no other. */
enum accelerator {
	ACCELERATOR_AUTO,
	ACCELERATOR_KVM,
	ACCELERATOR_TCG,
	ACCELERATOR_PLATFORM,
	ACCELERATOR_COUNT
};
enum network_mode { NETWORK_NAT, NETWORK_ISOLATED, NETWORK_BRIDGED };
extern const char *const accelerator_names[ACCELERATOR_COUNT];
/* Of the VMM. A backend whose VMM is confined by its system alone calls that "platform". */
enum confinement { CONFINEMENT_CELL, CONFINEMENT_SECCOMP };
extern const char *const confinement_names[2];
/* In place of such a name, where the VMM's calls are only logged: no config asks for it. */
#define CONFINEMENT_UNFILTERED "unfiltered"
extern const char *const network_mode_names[3];

/* What the guest keeps of a shared directory. auto: names and attributes for a second, and what it
 * has read until a file is opened anew; always: all of it, since nobody else changes anything
 * there; none: nothing. */
enum share_cache { SHARE_CACHE_AUTO, SHARE_CACHE_ALWAYS, SHARE_CACHE_NONE };
extern const char *const share_cache_names[3];
/* How a shared directory is served. */
struct share_terms {
	enum share_cache cache;
	int64_t timeout_seconds; /* of names and attributes; 0: as the policy has it */
	bool locks; /* locks of the guest's processes are taken on the host's files too */
};
#define SHARE_TIMEOUT_MAX 86400

/* What the whole machine may do in a second; 0: what it can. */
struct machine_rates {
	int64_t disk_bytes, disk_ops; /* of all its writable disks together */
	int64_t net_bytes;	      /* each way */
};
#define MACHINE_RATE_MAX INT64_C(1000000000000)

struct identity {
	const char *request_id;
	const char *runtime_id; /* a safe basename, not reserved */
	const char *role;	/* "workload" or "enforcer" */
	const char *backend;
	const json_t *json; /* as given, for answers */
};

/* Strings and arrays are borrowed from `normalised`. Arrays and objects that are empty are NULL. */
/* What a macOS guest has in the place of a kernel. */
struct macos_paths {
	const char *hardware_model, *auxiliary_storage, *machine_identifier;
};

struct config {
	const char *kernel_path;  /* NULL: of a macOS guest */
	const char *initrd_path;  /* default kernel_path + ".initrd" */
	const char *rootfs_path;  /* NULL: the RAM disk of initrd_path is the root */
	const char *rootfs_base;  /* rootfs_path is a layer over this raw disk; NULL: it is raw */
	struct macos_paths macos; /* all NULL: the guest is a Linux; kernel_path else */
	const char *state_dir;	  /* absolute */
	int64_t memory_mib;	  /* default 512 */
	int64_t cpu_count;	  /* 0: the request leaves it open; see config_settle_cpus() */
	enum architecture architecture; /* default: the host's */
	enum accelerator accelerator;
	enum network_mode network_mode; /* default nat */
	const char *network_interface;	/* NULL unless bridged */
	const json_t *command;		/* array of strings or NULL: no workload */
	const json_t *env;		/* object of strings or NULL */
	const char *user;		/* NULL: the guest's default */
	const char *cwd;		/* absolute, in the guest; NULL: the user's home */
	const char *hostname;		/* NULL: derived from runtimeID */
	int64_t timeout_seconds;	/* of the workload; 0: none */
	const json_t *network_allow;	/* array of prefixes or NULL */
	const json_t *network_egress;	/* object or NULL: whatever is not shut is open */
	const json_t *port_forwards;	/* array or NULL */
	const json_t *disks;
	const json_t *vsock_listeners;
	const json_t *mediation; /* object or NULL */
	const json_t *shares;
	const json_t *bundles;
	const json_t *outputs;
	const json_t *image; /* {imageRef, resolvedRef, imageDigest} or NULL */
	const char *cgroup;
	bool cgroup_limits_required; /* the machine runs with limits of memory and processes, or not */
	/* Default: in a cell, or not at all. Said by who starts it: not compared with the record.
	 */
	enum confinement confinement;
	struct machine_rates limits;
	bool hotplug;	    /* the machine may get a shared directory while it runs */
	bool console_shell; /* root's, on the serial console; never of a session */
	/* The canonical config with every default filled in, absent options and empty lists left
	 * out: what prepare records and start compares. {stateDir} where the command needs no more.
	 * cpuCount is missing where the request leaves it open. */
	json_t *normalised;
};

struct request {
	json_t *document; /* owns everything the others point into */
	enum command command;
	struct identity identity; /* all NULL for `host` */
	struct config config;	  /* only state_dir where the command needs no more */
};

struct host_bounds {
	int64_t memory_mib; /* most a guest may have */
	int64_t cpus;
	/* The backend gives no network card: a request without a mode means isolated. */
	bool isolated_only;
};
/* Those of this host, as the system tells of it now; isolated_only is the backend's to say. */
struct host_bounds host_bounds(void);
/* What decoding a config says of the two, for who has no config yet. bounds as there. */
int config_check_memory(int64_t mib, const struct host_bounds *bounds, struct error *err);
int config_check_cpus(int64_t cpus, const struct host_bounds *bounds, struct error *err);

/*
 * Decodes one request (len bytes). backend is the executable's own name: another identity.backend
 * is refused. recorded: the config is the one that the workspace has, and the request's own only says
 * what each request says anew. bounds may be NULL: then only the contract limits the guest. On
 * failure out is untouched. The first error wins, in this order: document, command, identity, config.
 */
int request_decode(const void *data, size_t len, const char *backend, bool recorded,
		   const struct host_bounds *bounds, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a zeroed one */

/* Decodes a recorded config (workspace.json) with unknown fields ignored and defaults filled in.
 * The struct owns its own canonical document, so json may be dropped; release with config_free().
 */
int config_from_record(json_t *json, struct config *out, struct error *err);
void config_free(struct config *config);
/* Makes a recorded config the request's: what the request says anew replaces what is recorded. The
 * request's config was decoded with recorded. ERR_INVALID where this host has no room for it. */
int request_take_recorded(struct request *request, const struct config *recorded,
			  const struct host_bounds *bounds, struct error *err);
/* config.network as a request has it, checked alone: the canonical one, a new reference. */
json_t *network_decode(const json_t *network, struct error *err);
/* Whether a guest may be given the addresses; what names them in errors. Private ones are another
 * matter. */
typedef int prefix_check_fn(struct prefix prefix, const char *what, struct error *err);
prefix_check_fn config_check_prefix;
/* The same of config.network.egress, which opens nothing that is private either. */
prefix_check_fn config_check_egress_prefix;
/* One entry as config.shares has them, checked alone; what names it in errors. A new reference. */
json_t *share_decode(const json_t *share, const char *what, struct error *err);
/* Of a decoded one. */
struct share_terms share_terms(const json_t *share);
/* Puts the number of CPUs into what is recorded, if the request leaves it open: two under KVM (or
 * as many as there are), one under TCG, where a second one takes its time from the first. */
int config_settle_cpus(const struct config *config, enum accelerator accelerator,
		       const struct host_bounds *bounds, struct error *err);
/* ERR_CONFLICT naming the JSON path of the first field in which they differ. stateDir is not
 * compared: the record was found in it; nor are CPUs whose number is left open. */
int config_compare(const struct config *given, const struct config *recorded, struct error *err);

#endif
