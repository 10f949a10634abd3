/* SPDX-License-Identifier: MIT */
/*
 * The functions that read a config; only files of src/contract use them. Decoding makes a second,
 * canonical document from the given document: keys in a fixed order, every default filled in, empty
 * lists left out, paths cleaned. So two configs with the same meaning become equal documents; the
 * command start compares these documents. The caller gets the document only if the whole config is
 * valid.
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
	const json_t *in;		  /* the config that is decoded */
	json_t *out;			  /* the canonical config, which grows field by field */
	bool strict;			  /* true for a request, in which unknown fields are
					   * refused; false for a record, in which they are
					   * ignored */
	const struct host_bounds *bounds; /* the limits of this host; NULL for a record, to which
					   * they do not apply */
	json_t *mountpoints;		  /* an object that has, for each mountpoint, the JSON path
					   * of the entry with this mountpoint */
};

/* Functions that each decode one field of a config. They are called through the rows of
 * config_fields. */
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
/* Check that a text is valid as config.user, config.cwd and config.hostname. Otherwise the
 * functions fail with ERR_INVALID. */
int check_user(const char *user, struct error *err);
int check_cwd(const char *cwd, struct error *err);
int check_hostname(const char *name, struct error *err);

/* Decodes the whole config `in`, a JSON object. On success *out is the canonical document. */
int config_normalise(const json_t *in, bool strict, const struct host_bounds *bounds, json_t **out,
		     struct error *err);

/* Reads and checks the identity of a request. `backend` is the only valid value of
 * identity.backend. The texts in *out belong to `json`. */
int identity_decode(json_t *json, const char *backend, struct identity *out, struct error *err);

/*
 * Decodes a text field. ERR_INVALID if the text has control bytes, or if the field is required and
 * the text is empty. *text belongs to `object`. *text is unchanged if an optional field is missing
 * or empty.
 */
int decode_text(const json_t *object, const char *path, const char *key, enum json_need need,
		const char **text, struct error *err);
/* Refuses an empty text. In other fields an empty text counts as an absent field. This function is
 * for fields whose absence would give the guest more rights. */
int decode_not_empty(const json_t *object, const char *path, const char *key, struct error *err);
/* Decodes a text that must be one of `count` names; *index becomes the index of the name. */
int decode_choice(const json_t *object, const char *path, const char *key, enum json_need need,
		  const char *const *names, size_t count, size_t *index, struct error *err);
/* Decode a required path, which must be absolute and without "..". Return the path, cleaned, as a
 * string that the caller frees. decode_absolute() takes a path of the guest.
 * decode_absolute_of_host() takes a path of the host; the system of the host decides which paths
 * are absolute. */
char *decode_absolute(const json_t *object, const char *path, const char *key, struct error *err);
char *decode_absolute_of_host(const json_t *object, const char *path, const char *key,
			      struct error *err);
/* Decodes a text that is "host:port" or "[v6]:port". */
int decode_host_port(const json_t *object, const char *path, const char *key, enum json_need need,
		     const char **text, struct error *err);
/* Decodes the mountpoint of an entry and puts it into `out`. ERR_INVALID if another entry has the
 * same mountpoint. */
int decode_mountpoint(struct config_decode *d, const json_t *item, const char *path, json_t *out,
		      struct error *err);
/* Puts `key` into the object `seen`, with `path` as its value. ERR_INVALID if `seen` has the key
 * already; the message has the path of the earlier entry. `what` is the word for such keys in the
 * message. */
int decode_unique(json_t *seen, const char *key, const char *path, const char *what,
		  struct error *err);

/* Decodes in[key], an optional array of IPv4 prefixes, each of which must pass `check`. Puts the
 * canonical list, without repetitions, into `out` unless the list is empty. `path` is the path of
 * `in`. */
int decode_prefixes(const struct config_decode *d, const json_t *in, const char *path,
		    const char *key, prefix_check_fn *check, json_t *out, struct error *err);
/* Decodes config.network.egress from `network`. */
int decode_egress(const struct config_decode *d, const json_t *network, enum network_mode mode,
		  json_t *out, struct error *err);

/* Decodes one entry of a list. `item` is an object that has only known keys. `out` is the canonical
 * entry, which the function fills. */
typedef int decode_item_fn(struct config_decode *d, const json_t *item, const char *path,
			   json_t *seen, json_t *out, struct error *err);
/* Decodes in[key], an optional array of objects, with `fn` for each object. Puts the canonical list
 * into `target`, unless the list is empty. `path` is the JSON path of `in`. `fn` gets the same
 * object `seen` for all entries of the list. */
int decode_list(struct config_decode *d, const json_t *in, const char *path, const char *key,
		const char *const *keys, decode_item_fn *fn, json_t *target, struct error *err);

#endif
