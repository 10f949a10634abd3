/* SPDX-License-Identifier: MIT */
/* Names and meanings of the contract's fields, for the contract document and for who decodes them.
 */
#ifndef CONTRACT_FIELDS_H
#define CONTRACT_FIELDS_H

struct field_row {
	const char *name; /* NULL ends a table */
	const char *meaning;
};

extern const struct field_row readiness_fields[];
extern const struct field_row result_fields[];
extern const struct field_row artifact_fields[];

/* The keys of config.mediation and of the block `mediation` of an answer; NULL at the end. */
extern const char *const mediation_keys[];

/* Every backend that the contract knows, whether built or not; NULL at the end. */
extern const char *const contract_backends[];

#endif
