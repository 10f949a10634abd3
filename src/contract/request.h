/* SPDX-License-Identifier: MIT */
/*
 * The decoded and validated request: one JSON document. Seeds 000, 002 and 003 describe the shared
 * part, DESIGN the further keys. Decoding is strict: unknown fields are refused by name, because a
 * typo must not silently weaken isolation. Decoding looks at no file.
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

/* A config asks for one of the first three. ACCELERATOR_PLATFORM is the accelerator of the host's
 * own system, where there is no other. */
enum accelerator {
	ACCELERATOR_AUTO,
	ACCELERATOR_KVM,
	ACCELERATOR_TCG,
	ACCELERATOR_PLATFORM,
	ACCELERATOR_COUNT
};
enum network_mode { NETWORK_NAT, NETWORK_ISOLATED, NETWORK_BRIDGED };
extern const char *const accelerator_names[ACCELERATOR_COUNT];
/* How the VMM is confined. Some VMMs are confined only by the operating system: their backends say
 * "platform" instead. */
enum confinement { CONFINEMENT_CELL, CONFINEMENT_SECCOMP };
extern const char *const confinement_names[2];
/* Reported instead of such a name if the VMM's system calls are only logged; no config asks for
 * it. */
#define CONFINEMENT_UNFILTERED "unfiltered"
extern const char *const network_mode_names[3];

/* What the guest caches of a shared directory. auto: names and attributes for a second, and
 * contents until a file is opened again; always: everything, since nothing else changes the
 * directory; none: nothing. */
enum share_cache { SHARE_CACHE_AUTO, SHARE_CACHE_ALWAYS, SHARE_CACHE_NONE };
extern const char *const share_cache_names[3];
/* How a shared directory is served. */
struct share_terms {
	enum share_cache cache;
	int64_t timeout_seconds; /* for names and attributes; 0: the default of the cache policy */
	bool locks; /* locks of the guest's processes are also taken on the host's files */
};
#define SHARE_TIMEOUT_MAX 86400

/* The limits of what the whole machine may transfer in a second; 0: no limit. */
struct machine_rates {
	int64_t disk_bytes, disk_ops; /* for all its writable disks together */
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

/* Strings and arrays are borrowed from `normalised`. Empty arrays and objects are NULL. */
/* The files that a macOS guest has instead of a kernel. */
struct macos_paths {
	const char *hardware_model, *auxiliary_storage, *machine_identifier;
};

struct config {
	const char *kernel_path;  /* NULL: a macOS guest */
	const char *initrd_path;  /* default kernel_path + ".initrd" */
	const char *rootfs_path;  /* NULL: the RAM disk of initrd_path is the root */
	const char *rootfs_base;  /* rootfs_path is a layer over this raw disk; NULL: it is raw */
	struct macos_paths macos; /* all NULL: a Linux guest; else kernel_path is NULL */
	const char *state_dir;	  /* absolute */
	int64_t memory_mib;	  /* default 512 */
	int64_t cpu_count;	  /* 0: the request leaves it open; see config_settle_cpus() */
	enum architecture architecture; /* default: the host's */
	enum accelerator accelerator;
	enum network_mode network_mode; /* default nat */
	const char *network_interface;	/* NULL unless bridged */
	const json_t *command;		/* array of strings or NULL: no workload */
	const json_t *env;		/* object of strings or NULL */
	const char *user;		/* NULL: the guest's default user */
	const char *cwd;		/* absolute, in the guest; NULL: the user's home */
	const char *hostname;		/* NULL: derived from runtimeID */
	int64_t timeout_seconds;	/* for the workload; 0: none */
	const json_t *network_allow;	/* array of prefixes or NULL */
	const json_t *network_egress;	/* object; NULL: everything is open that is not forbidden */
	const json_t *port_forwards;	/* array or NULL */
	const json_t *disks;
	const json_t *vsock_listeners;
	const json_t *mediation; /* object or NULL */
	const json_t *shares;
	const json_t *bundles;
	const json_t *outputs;
	const json_t *image; /* {imageRef, resolvedRef, imageDigest} or NULL */
	const char *cgroup;
	bool cgroup_limits_required; /* the machine runs only if its memory and processes can be
				      * limited */
	/* Default: in a cell; if there can be none, the machine does not run. Each start sets it,
	 * so it is not compared with the record. */
	enum confinement confinement;
	struct machine_rates limits;
	bool hotplug;	    /* the machine may get a shared directory while it runs */
	bool console_shell; /* a root shell on the serial console; never in a session */
	/* The canonical config: every default filled in, absent options and empty lists left out.
	 * prepare records it and start compares it. It is only {stateDir} for a command that needs
	 * no more. cpuCount is missing if the request leaves it open. */
	json_t *normalised;
};

struct request {
	json_t *document; /* owns everything to which the other members point */
	enum command command;
	struct identity identity; /* all NULL for `host` */
	struct config config;	  /* has only state_dir for a command that needs no more */
};

struct host_bounds {
	int64_t memory_mib; /* the most memory that a guest may have */
	int64_t cpus;
	/* The backend offers no network card: a request without a mode means isolated. */
	bool isolated_only;
};
/* Returns the limits of this host, as the system reports them now; the backend sets
 * isolated_only. */
struct host_bounds host_bounds(void);
/* Check the two numbers as decoding a config does, for a caller without a config. bounds is as in
 * request_decode(). */
int config_check_memory(int64_t mib, const struct host_bounds *bounds, struct error *err);
int config_check_cpus(int64_t cpus, const struct host_bounds *bounds, struct error *err);

/*
 * Decodes one request (len bytes). backend is the name of the executable: another identity.backend
 * is refused. If recorded is true, the workspace's recorded config is used, and the config of the
 * request has only the fields that each request sets. bounds may be NULL: then only the contract
 * limits the guest. On failure out is untouched. The first error is reported, in this order:
 * document, command, identity, config.
 */
int request_decode(const void *data, size_t len, const char *backend, bool recorded,
		   const struct host_bounds *bounds, struct request *out, struct error *err);
void request_free(struct request *request); /* accepts a zeroed one */

/* Decodes a recorded config (workspace.json), with unknown fields ignored and defaults filled in.
 * The struct owns a canonical document of its own, so json may be dropped; config_free() releases
 * it. */
int config_from_record(json_t *json, struct config *out, struct error *err);
void config_free(struct config *config);
/* Makes a recorded config the request's: only the fields that each request sets are kept from the
 * request. The request was decoded with recorded. ERR_INVALID if this host has no room for the
 * config. */
int request_take_recorded(struct request *request, const struct config *recorded,
			  const struct host_bounds *bounds, struct error *err);
/* Checks config.network of a request alone. Returns the canonical one, a new reference. */
json_t *network_decode(const json_t *network, struct error *err);
/* Checks whether a guest may be given the addresses; what names them in errors. It does not check
 * for private addresses. */
typedef int prefix_check_fn(struct prefix prefix, const char *what, struct error *err);
prefix_check_fn config_check_prefix;
/* Checks addresses of config.network.egress in the same way, and also refuses private ones. */
prefix_check_fn config_check_egress_prefix;
/* Checks one entry of config.shares alone; what names it in errors. Returns a new reference. */
json_t *share_decode(const json_t *share, const char *what, struct error *err);
/* Returns the terms of a decoded share. */
struct share_terms share_terms(const json_t *share);
/* Puts the number of CPUs into the record if the request leaves it open: two under KVM (or one if
 * the host has fewer than two), one under TCG, where a second one would take its time from the
 * first. */
int config_settle_cpus(const struct config *config, enum accelerator accelerator,
		       const struct host_bounds *bounds, struct error *err);
/* Fails with ERR_CONFLICT, naming the JSON path of the first field in which the two configs differ.
 * stateDir is not compared, because the record was found in it; nor are CPUs whose number is left
 * open. */
int config_compare(const struct config *given, const struct config *recorded, struct error *err);

#endif
