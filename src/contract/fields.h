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

/* When a difference from what prepare recorded is a divergence. */
enum compared {
	COMPARED_NEVER,		/* it is told, and compared with nothing */
	COMPARED_UNTIL_STARTED, /* a guest that has been started writes to it */
	COMPARED_ALWAYS,
};
struct verification_row {
	const char *name; /* NULL ends the table */
	const char *meaning;
	enum compared compared;
};
/* The members of a verification block, but for ok. */
extern const struct verification_row verification_fields[];
/* name: of a row of verification_fields. */
enum compared verification_compares(const char *name);

/* What holds of every backend that does a thing at all: a word for each rule, and the rule. */
extern const struct field_row parity_rules[];

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer; NULL at the end. */
extern const char *const mediation_keys[];

/* The directories that any running machine can be given, all at once: functions of a PCI slot. */
#define PLUGS_MAX 8

/* What a backend was run on by its authors. */
struct contract_trial {
	bool real;	  /* the VMM itself, and not a stand-in that has its interface */
	const char *what; /* NULL ends a list */
};

/* Every backend that the contract knows, whether built or not; a NULL name at the end. What a
 * session is made of depends on what each says of itself, in its refusals too. */
struct contract_backend {
	const char *name;
	const char *system; /* that it runs on */
	int plugs;	    /* directories that a running machine can be given (config.hotplug) */
	bool usual;	   /* of those of a system, the one that is taken where none is asked for */
	bool layers;	   /* a disk may be a qcow2 layer over another (config.rootfsBase) */
	bool packed;	   /* it boots packed kernels (bzImage) */
	bool templates;	   /* a machine can be saved, and others restored from it */
	bool experimental; /* it may lack commands of the contract */
	const struct contract_trial *trials;
};
extern const struct contract_backend contract_backends[];

/* NULL: the contract does not know it. */
const struct contract_backend *contract_backend_find(const char *name);

#endif
