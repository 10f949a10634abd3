/* SPDX-License-Identifier: MIT */
/*
 * Inside the contract only: how a config is read. Decoding makes a second, canonical document of
 * the given one: keys in a fixed order, every default filled in, empty lists left out, paths
 * cleaned. Two configs that mean the same become equal documents, which is what start compares.
 * Nothing is written through to the caller before the whole config has been accepted.
 */
#ifndef CONTRACT_DECODE_H
#define CONTRACT_DECODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "contract/request.h"

/* A JSON path such as "config.network.portForwards[17]". */
#define DECODE_PATH 96

struct config_decode {
	const json_t *in;		  /* the config as given */
	json_t *out;			  /* the canonical one, growing section by section */
	bool strict;			  /* unknown fields are refused (requests), or ignored */
	const struct host_bounds *bounds; /* NULL: this host has no say (records) */
	json_t *mountpoints;		  /* mountpoint: JSON path of the entry that has it */
};

/* One field each, as its row of config_fields says. */
int decode_macos(struct config_decode *d, struct error *err);
int decode_kernel_path(struct config_decode *d, struct error *err);
int decode_rootfs_path(struct config_decode *d, struct error *err);
int decode_rootfs_base(struct config_decode *d, struct error *err);
int decode_state_dir(struct config_decode *d, struct error *err);
int decode_memory(struct config_decode *d, struct error *err);
int decode_cpus(struct config_decode *d, struct error *err);
int decode_disks(struct config_decode *d, struct error *err);
int decode_vsock_listeners(struct config_decode *d, struct error *err);
int decode_network(struct config_decode *d, struct error *err);
int decode_mediation(struct config_decode *d, struct error *err);
int decode_initrd(struct config_decode *d, struct error *err);
int decode_architecture(struct config_decode *d, struct error *err);
int decode_console(struct config_decode *d, struct error *err);
int decode_limits(struct config_decode *d, struct error *err);
int decode_cgroup(struct config_decode *d, struct error *err);
int decode_cgroup_limits(struct config_decode *d, struct error *err);
int decode_command(struct config_decode *d, struct error *err);
int decode_env(struct config_decode *d, struct error *err);
int decode_shares(struct config_decode *d, struct error *err);
int decode_bundles(struct config_decode *d, struct error *err);
int decode_outputs(struct config_decode *d, struct error *err);
int decode_image(struct config_decode *d, struct error *err);
/* Whether a text is what config.user, cwd and hostname can be; ERR_INVALID. */
int check_user(const char *user, struct error *err);
int check_cwd(const char *cwd, struct error *err);
int check_hostname(const char *name, struct error *err);

/* Decodes in (an object) whole; on success *out is the canonical document. */
int config_normalise(const json_t *in, bool strict, const struct host_bounds *bounds, json_t **out,
		     struct error *err);

/* Reads and checks the identity; out borrows from it. */
int identity_decode(json_t *json, const char *backend, struct identity *out, struct error *err);

/*
 * Text fields. All are refused when they hold control bytes, and required ones when empty. *text is
 * borrowed, and left as it was when an optional field is missing or empty.
 */
int decode_text(const json_t *object, const char *path, const char *key, enum json_need need,
		const char **text, struct error *err);
/* Refuses an empty text where its absence would give the guest more. */
int decode_not_empty(const json_t *object, const char *path, const char *key, struct error *err);
/* The same, and one of count names; *index says which. */
int decode_choice(const json_t *object, const char *path, const char *key, enum json_need need,
		  const char *const *names, size_t count, size_t *index, struct error *err);
/* Required, and absolute without "..": a new cleaned string. Of the guest, and of the host, whose
 * system says what is absolute. */
char *decode_absolute(const json_t *object, const char *path, const char *key, struct error *err);
char *decode_absolute_of_host(const json_t *object, const char *path, const char *key,
			      struct error *err);
/* The same, and "host:port" or "[v6]:port". */
int decode_host_port(const json_t *object, const char *path, const char *key, enum json_need need,
		     const char **text, struct error *err);
/* Decodes a mountpoint, puts it into out, and refuses one that another entry has. */
int decode_mountpoint(struct config_decode *d, const json_t *item, const char *path, json_t *out,
		      struct error *err);
/* ERR_INVALID when seen has key already, saying at which path; else remembers it. */
int decode_unique(json_t *seen, const char *key, const char *path, const char *what,
		  struct error *err);

/* in[key], an optional array of IPv4 prefixes, each of which stands the check: the canonical list,
 * which has each once, into out unless empty. path is that of in. */
int decode_prefixes(const struct config_decode *d, const json_t *in, const char *path,
		    const char *key, prefix_check_fn *check, json_t *out, struct error *err);
/* config.network.egress, of network. */
int decode_egress(const struct config_decode *d, const json_t *network, enum network_mode mode,
		  json_t *out, struct error *err);

/* One entry of a list: item is an object with known keys only, out the canonical entry to fill. */
typedef int decode_item_fn(struct config_decode *d, const json_t *item, const char *path,
			   json_t *seen, json_t *out, struct error *err);
/* Walks in[key], an optional array of objects; puts the canonical list into target unless empty.
 * path is that of in; seen is shared by the entries of this list. */
int decode_list(struct config_decode *d, const json_t *in, const char *path, const char *key,
		const char *const *keys, decode_item_fn *fn, json_t *target, struct error *err);

#endif
