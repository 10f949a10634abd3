/* SPDX-License-Identifier: MIT */
/* Files between the host and a running machine, by our helper in every guest (guest/files.c). */
#ifndef API_TRANSFER_H
#define API_TRANSFER_H

#include "api/api.h"
#include "base/tree/tree_stream.h"

struct transfer {
	const struct workspace *ws;	       /* whose vsock.sock is dialled */
	const char *user;		       /* NULL: the guest's default */
	const char *root;		       /* below which paths of the guest are resolved */
	const struct microagent_copy *options; /* of copies; of listings `cancel` alone, or NULL */
};

/* path of the guest to a target of the host. links_within: the same path as the guest itself has
 * it, see tree_receive(). */
int transfer_out(const struct transfer *transfer, const char *path, const char *links_within,
		 const struct tree_target *target, struct error *err);
/* The same for a declared output, which root of the guest reads: guest/files/output.h. */
int transfer_output(const struct transfer *transfer, const char *path, const char *links_within,
		    const struct tree_target *target, struct error *err);
/* from of the host, see microagent_copy.within, to path of the guest; in a directory it is called
 * name. */
int transfer_in(const struct transfer *transfer, const char *from, const char *path,
		const char *name, struct error *err);
/* Appends to entries what the helper says to verb ("list", "stat"), see microagent_list_files(). */
int transfer_listing(const struct transfer *transfer, const char *verb, const char *path,
		     json_t *entries, struct error *err);
/* files.c: the entries by name, a new array. */
json_t *listing_sorted(const json_t *entries, struct error *err);
/* The entry of a listing of one file; a new reference. */
json_t *listing_only(const json_t *entries, struct error *err);
/* Freezes the file system that path of the guest is on for as long as work() takes. */
int transfer_frozen(const struct transfer *transfer, const char *path,
		    int (*work)(void *data, struct error *err), void *data, struct error *err);

#endif
