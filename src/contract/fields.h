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

/* When a difference between a file and the record of prepare is an error. */
enum compared {
	COMPARED_NEVER,		/* never: the member is only reported */
	COMPARED_UNTIL_STARTED, /* until the first start, since the guest then writes to the file */
	COMPARED_ALWAYS,
};
struct verification_row {
	const char *name; /* NULL ends the table */
	const char *meaning;
	enum compared compared;
};
/* The members of a verification block, except ok. */
extern const struct verification_row verification_fields[];
/* Returns how a member is compared. `name` must be in a row of verification_fields. */
enum compared verification_compares(const char *name);

/* The rules for all backends. A backend may lack a feature, but if it has the feature, the rule
 * holds. Each row has a word for a rule, and the rule in a sentence. */
extern const struct field_row parity_rules[];

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer; NULL at the end. */
extern const char *const mediation_keys[];

/* The largest number of directories that a running machine can be given, all at once. It is the
 * number of functions that a PCI slot has. */
#define PLUGS_MAX 8

/* One of the systems on which a backend was tested. */
struct contract_trial {
	bool real;	  /* the test ran on the VMM itself, and not on a stand-in for it */
	const char *what; /* NULL ends a list */
};

/* The facts about a backend that the library must know before it asks the supervisor of the
 * backend. There is a row for every backend of the contract, whether it is on this host or not; a
 * NULL name is at the end. */
struct contract_backend {
	const char *name;
	const char *system; /* the operating system on which the backend runs */
	int plugs;	    /* number of directories that a running machine can be given
			     * (config.hotplug) */
	bool usual;	    /* the default among the backends of its system */
	bool layers;	    /* a disk may be a qcow2 layer over another disk (config.rootfsBase) */
	bool packed;	    /* the backend boots packed kernels (bzImage) */
	bool templates;	    /* a machine can be saved, and other machines be restored from it */
	bool experimental;  /* the backend may lack commands of the contract */
	const struct contract_trial *trials;
};
extern const struct contract_backend contract_backends[];

/* Returns the row of a backend; NULL if the contract does not know it. */
const struct contract_backend *contract_backend_find(const char *name);

#endif
