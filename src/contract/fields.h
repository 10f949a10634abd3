/* SPDX-License-Identifier: MIT */
/* Names and meanings of the contract's fields, for the contract document and for the code that
 * decodes them. */
#ifndef CONTRACT_FIELDS_H
#define CONTRACT_FIELDS_H

#include <stdbool.h>

struct field_row {
	const char *name; /* the name of the field; NULL in the row that ends a table */
	const char *meaning;
};

/* Tells when a difference between a file and the record that the command prepare made is an
 * error. */
enum compared {
	COMPARED_NEVER,		/* a difference is never an error: the member is only reported */
	COMPARED_UNTIL_STARTED, /* a difference is an error until the first start, after which the
				 * guest writes to the file */
	COMPARED_ALWAYS,
};
struct verification_row {
	const char *name; /* the name of the member; NULL in the row that ends the table */
	const char *meaning;
	enum compared compared;
};
/* The members of a verification block, except `ok`. */
extern const struct verification_row verification_fields[];
/* Returns how a member is compared. `name` must be in a row of verification_fields. */
enum compared verification_compares(const char *name);

/* The rules that hold for all backends. A rule about a feature holds for every backend that has the
 * feature. Each row has a word for a rule, and the rule in a sentence. */
extern const struct field_row parity_rules[];

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer. The last entry is
 * NULL. */
extern const char *const mediation_keys[];

/* The largest number of directories that a running machine can be given. The machine gets all of
 * them at once, as the functions of one PCI slot. A PCI slot has 8 functions. */
#define PLUGS_MAX 8

/* One of the systems on which a backend was tested. */
struct contract_trial {
	bool real;	  /* true: the test ran on the VMM itself; false: on a stand-in for the
			   * VMM */
	const char *what; /* the system on which the test ran; NULL in the row that ends a list */
};

/* The facts about a backend that the library must know before it asks the supervisor of the
 * backend. There is a row for every backend of the contract, even if this host does not have it.
 * The name in the row after the last backend is NULL. */
struct contract_backend {
	const char *name;
	const char *system; /* the operating system on which the backend runs */
	int plugs;	    /* number of directories that a running machine can be given
			     * (config.hotplug) */
	bool usual;	    /* true: the backend is the default on its system */
	bool layers;	    /* true: a disk may be a qcow2 layer over another disk
			     * (config.rootfsBase) */
	bool packed;	    /* true: the backend boots packed kernels (bzImage) */
	bool templates;	    /* true: a machine can be saved, and others can be restored from the
			     * saved machine */
	bool experimental;  /* true: the backend may lack commands of the contract */
	const struct contract_trial *trials;
};
extern const struct contract_backend contract_backends[];

/* Returns the row of a backend; NULL if the contract document has no such backend. */
const struct contract_backend *contract_backend_find(const char *name);

#endif
