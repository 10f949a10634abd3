/* SPDX-License-Identifier: MIT */
/*
 * The table of a config's fields, whose rows are in config_fields.def. A row says how a field is
 * read, which member of struct config has its value, and which rules apply to the field.
 */
#ifndef CONTRACT_CONFIG_FIELDS_H
#define CONTRACT_CONFIG_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/request.h"

struct config_decode;

/* The type of the member of struct config at a row's offset. */
enum config_kind {
	CONFIG_TEXT,   /* the member is a const char *, which is NULL when the field is absent */
	CONFIG_NUMBER, /* the member is an int64_t, which is 0 when the field is absent */
	CONFIG_FLAG,   /* bool */
	CONFIG_GIVEN,  /* the member is a bool, which says whether the field is present */
	CONFIG_CHOICE, /* the member is an enum: the index of one of the row's words */
	CONFIG_JSON,   /* the member is a const json_t *, which is NULL when the field is absent */
	CONFIG_OWN,    /* the field has several members, which the row's function `bind` fills */
};

/* The effect of a field on saving and restoring a machine (base warm, fork). */
enum config_saved {
	SAVED_EITHER,  /* the field does not matter */
	SAVED_WITH,    /* only a machine that has the field can be saved */
	SAVED_WITHOUT, /* only a machine that lacks the field can be saved */
	/* Only a machine that lacks the field can be saved. A restored machine can have the field,
	 * an array of at most PLUGS_MAX items, because they are plugged in when it runs. */
	SAVED_PLUGGED,
};

struct config_field {
	const char *key; /* the key in the JSON object config; NULL ends the table */
	enum config_kind kind;
	size_t offset;
	/* Reads the field from d->in and puts its canonical form into d->out. NULL: the field is
	 * read as `kind` and the members below say. */
	int (*decode)(struct config_decode *d, struct error *err);
	/* Fills the members of a field of the kind CONFIG_OWN. `value` is the canonical form, or
	 * NULL if the field is absent. */
	void (*bind)(const json_t *value, struct config *out);
	size_t longest; /* for CONFIG_TEXT: the most bytes that a text may have; 0: no limit */
	/* for CONFIG_TEXT: checks a text that was given; NULL: any text is valid. */
	int (*check)(const char *text, struct error *err);
	const char *pattern; /* for CONFIG_TEXT: the rule of `check` as a regular expression of the
			      * schema; NULL: the schema allows any text */
	const char *const *words; /* for CONFIG_CHOICE: the words that are valid; the first word is
				   * the default */
	size_t nwords;
	int64_t most;	  /* for CONFIG_NUMBER: the largest value; the smallest is 0 */
	bool has_default; /* true: the canonical form always has the field */
	bool host_file;	  /* true: the field is a path of the host, which is recorded as an absolute
			   * path */
	bool said_anew;	  /* each request sets the field, so the field is not compared with the
			   * record */
	/* Every backend has the field, which is therefore no feature and has no `sample`. */
	bool every_backend;
	enum config_saved saved;
	const char *unsaved; /* the reason why a machine with this field cannot be saved, for
			      * messages: "a second disk" */
	/* The JSON of a value that asks for the feature of this field, which is also the field's
	 * example in the schema. A trial with this value shows whether a backend has the feature.
	 * "@" stands for the drive of an absolute path. NULL: every backend has the field, or
	 * refusals.c asks for its features. */
	const char *sample;
	/* For a field that only QEMU's backend supports: the sentence with which all other backends
	 * refuse the field. NULL: each backend decides by its own checks whether it supports the
	 * field. */
	const char *qemu_alone;
	/* The first paragraph of the field's entry in microagent-request(5), in the markup of scdoc.
	 * scripts/config-texts.py writes it there and into the schema, and that of a MACHINE_FIELD
	 * into microagent.h and to the field's option too. NULL: all these are written by hand. A
	 * field that is read by its kind has a description. */
	const char *description;
};
/* The fields, in the order of config_fields.def. */
extern const struct config_field config_fields[];

/* Checks that a config has only fields that exist. Otherwise fails with ERR_INVALID. */
int config_known_keys(const json_t *in, struct error *err);
/* Reads one field from d->in, checks it, and puts its canonical form into d->out. */
int config_field_decode(const struct config_field *field, struct config_decode *d,
			struct error *err);
/* Fills `out` from a canonical document. `out` takes over the reference to the document. */
void config_bind(json_t *normalised, struct config *out);

/* Returns the reason why a machine with this config cannot be saved, like "a second disk"; NULL if
 * the machine can be saved. If `restored` is set, the answer is about restoring instead of saving.
 * A network card and the disks of bundles prevent only saving, because a restored machine gets them
 * plugged in after its memory was restored. `config` is in canonical form. */
const char *config_saving_obstacle(const json_t *config, bool restored);

#endif
