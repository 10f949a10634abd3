/* SPDX-License-Identifier: MIT */
/* Names and meanings of the contract's fields, for the contract document and for who decodes them.
 */
#ifndef CONTRACT_FIELDS_H
#define CONTRACT_FIELDS_H

#include <stdbool.h>

struct field_row {
	const char *name; /* NULL ends a table */
	const char *meaning;
};

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer; NULL at the end. */
extern const char *const mediation_keys[];

/* The directories that any running machine can be given, all at once: functions of a PCI slot. */
#define PLUGS_MAX 8

/* Every backend that the contract knows, whether built or not; a NULL name at the end. What a
 * session is made of depends on what each says of itself, in its refusals too. */
struct contract_backend {
	const char *name;
	const char *system; /* that it runs on */
	int plugs;	    /* directories that a running machine can be given (config.hotplug) */
	bool usual;	/* of those of a system, the one that is taken where none is asked for */
	bool layers;	/* a disk may be a qcow2 layer over another (config.rootfsBase) */
	bool packed;	/* it boots packed kernels (bzImage) */
	bool templates; /* a machine can be saved, and others restored from it */
};
extern const struct contract_backend contract_backends[];

/* NULL: the contract does not know it. */
const struct contract_backend *contract_backend_find(const char *name);

#endif
