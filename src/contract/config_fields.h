/* SPDX-License-Identifier: MIT */
/*
 * The table of a config's fields: a row says how a field is read, where its value stands in struct
 * config, and what else depends on it. CONTRIBUTING.md has the steps by which a field is added.
 */
#ifndef CONTRACT_CONFIG_FIELDS_H
#define CONTRACT_CONFIG_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/request.h"

struct config_decode;

/* What the member of struct config at a row's offset is. */
enum config_kind {
	CONFIG_TEXT,   /* const char *: NULL when the field is absent */
	CONFIG_NUMBER, /* int64_t, 0 when the field is absent */
	CONFIG_FLAG,   /* bool */
	CONFIG_GIVEN,  /* bool: whether the field is there */
	CONFIG_CHOICE, /* an enum: the index of one of the row's words */
	CONFIG_JSON,   /* const json_t *: NULL when the field is absent */
	CONFIG_OWN,    /* several members, which the row's bind fills */
};

/* What a field means for a machine whose memory is saved or restored (base warm, fork). */
enum config_saved {
	SAVED_EITHER,  /* nothing */
	SAVED_WITH,    /* only a machine that has it can be saved */
	SAVED_WITHOUT, /* only a machine that lacks it can be saved */
};

struct config_field {
	const char *key; /* in config; NULL ends the table */
	enum config_kind kind;
	size_t offset;
	/* Reads the field from d->in and puts its canonical form into d->out. NULL: as the kind
	 * says, by the members below. */
	int (*decode)(struct config_decode *d, struct error *err);
	/* Fills the members of a field of the kind CONFIG_OWN; value is canonical, or NULL. */
	void (*bind)(const json_t *value, struct config *out);
	/* Judges a text that is given; NULL: any text is right. */
	int (*check)(const char *text, struct error *err);
	const char *const *words; /* of a choice; the first is the default */
	size_t nwords;
	int64_t most;	  /* of a number, which is 0 or more */
	bool has_default; /* the canonical form always has it */
	bool host_file;	  /* its path is recorded as an absolute one */
	bool said_anew;	  /* each request says it: it is not compared with the record */
	enum config_saved saved;
	const char *unsaved; /* "a second disk": what stands in the way of saving */
	/* JSON of a value that asks for the feature which the field is; "@" stands for the drive of
	 * an absolute path. NULL: the field is no feature that a backend may lack. */
	const char *sample;
	/* What every other backend says of a field that QEMU's alone has: one sentence. NULL: each
	 * backend's own refusals say what becomes of the field. */
	const char *qemu_alone;
};
/* In the order in which errors win and canonical documents are written. */
extern const struct config_field config_fields[];

/* ERR_INVALID for a field of a config that does not exist. */
int config_known_keys(const json_t *in, struct error *err);
/* Reads one field from d->in, judges it, and puts its canonical form into d->out. */
int config_field_decode(const struct config_field *field, struct config_decode *d,
			struct error *err);
/* Fills out from a canonical document, whose reference becomes out's. */
void config_bind(json_t *normalised, struct config *out);

/* Why a machine of this config cannot be saved or restored, as "a second disk"; NULL: it can. A
 * machine that is restored may have a network card, which is plugged behind its memory. config is
 * canonical, or what a caller will send as one. */
const char *config_saving_obstacle(const json_t *config, bool restored);

#endif
