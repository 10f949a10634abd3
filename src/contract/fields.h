/* SPDX-License-Identifier: MIT */
/* Names and meanings of the contract's fields, for the contract document and for the code that
 * decodes them. */
#ifndef CONTRACT_FIELDS_H
#define CONTRACT_FIELDS_H

#include <stdbool.h>

struct field_row {
	const char *name; /* NULL ends a table */
	const char *meaning;
};

/* When a difference from the record of prepare counts as a divergence. */
enum compared {
	COMPARED_NEVER,		/* the member is reported, but not compared */
	COMPARED_UNTIL_STARTED, /* a guest that was started writes to the file */
	COMPARED_ALWAYS,
};
struct verification_row {
	const char *name; /* NULL ends the table */
	const char *meaning;
	enum compared compared;
};
/* The members of a verification block, except ok. */
extern const struct verification_row verification_fields[];
/* Returns how a member is compared. name must be in a row of verification_fields. */
enum compared verification_compares(const char *name);

/* Rules that hold for every backend that supports a feature at all: a word for each rule, and the
 * rule. */
extern const struct field_row parity_rules[];

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer; NULL at the end. */
extern const char *const mediation_keys[];

/* The number of directories that any running machine can be given, all at once: the functions of a
 * PCI slot. */
#define PLUGS_MAX 8

/* What the authors of a backend have tested it on. */
struct contract_trial {
	bool real;	  /* the VMM itself, and not a stand-in with its interface */
	const char *what; /* NULL ends a list */
};

/* Every backend that the contract knows, whether built or not; a NULL name at the end. How a
 * session is made depends on what each backend reports about itself, also in its refusals. */
struct contract_backend {
	const char *name;
	const char *system; /* the operating system on which it runs */
	int plugs;	    /* directories that a running machine can be given (config.hotplug) */
	bool usual;	    /* the default among the backends of its system */
	bool layers;	    /* a disk may be a qcow2 layer over another (config.rootfsBase) */
	bool packed;	    /* it boots packed kernels (bzImage) */
	bool templates;	    /* a machine can be saved, and others restored from it */
	bool experimental;  /* it may lack commands of the contract */
	const struct contract_trial *trials;
};
extern const struct contract_backend contract_backends[];

/* Returns the row of a backend; NULL if the contract does not know it. */
const struct contract_backend *contract_backend_find(const char *name);

#endif
