/* SPDX-License-Identifier: MIT */
/*
 * perf: where the time and the memory of machines on this host go. Each measure makes machines in a
 * state directory of its own (perf_place), fills rows with samples (perf_report), and has them
 * printed as a table, as JSON or as a picture.
 */
#ifndef CLI_PERF_H
#define CLI_PERF_H

#include "cli/cli.h"
#include "cli/terminal/signals.h"
#include "microagent_session.h"

/* --- figures --------------------------------------------------------------------------------- */

#define PERF_COUNT_MAX 1000

struct perf_samples {
	double *values;
	size_t count;
};

/* What a row is: of one moment after the other, or a sum that ends them. */
enum perf_kind { PERF_STAGE, PERF_WHOLE };

struct perf_row {
	char name[32];
	const char *what; /* for people; static */
	enum perf_kind kind;
	struct perf_samples samples; /* milliseconds; of a process: private MiB */
	struct perf_samples shared;  /* of a process alone: MiB that others have too */
};

struct perf_report {
	const char *measure; /* "boot" */
	const char *of;	     /* "start of a session": what there are `count` of */
	char base[48];
	int64_t count;
	json_t *machine; /* facts of the last one: microagent_last_start() */
	struct perf_row rows[24];
	size_t row_count;
	bool memory; /* rows are processes, in MiB */
};

void perf_report_free(struct perf_report *report); /* accepts a zeroed one */
/* Adds a sample to the row of that name, which is made where it is missing; shared < 0: none. */
int perf_add(struct perf_report *report, const char *name, const char *what, enum perf_kind kind,
	     double value, double shared, struct error *err);

struct perf_spread {
	double median, least, most;
};
/* Of one sample at least. */
struct perf_spread perf_spread_of(const struct perf_samples *samples);

/* Table or JSON on stdout; picture: the file that was drawn, or NULL. */
int perf_print(const struct cli *cli, const struct perf_report *report, const char *picture,
	       struct error *err);
/* One picture, SVG, in place of what is there by that name. */
int perf_draw(const struct perf_report *report, const char *path, struct error *err);

/* --- machines -------------------------------------------------------------------------------- */

/* A state directory below the user's that nothing stays of. */
struct perf_place {
	struct cli cli; /* as for commands on it */
	char *path;
	int dir, lock;		     /* where places are, and this one, which is locked */
	struct microagent *agent;    /* on it */
	struct microagent *sessions; /* on the sessions in it, as workspaces */
	char base[48];		     /* NAME-vN */
	bool own_base;		     /* made for this */
	const char *network;	     /* of its sessions; NULL: as sessions have it */
	bool cold;		     /* they are booted, whatever the base has */
	struct signals signals;
	struct progress *progress;
};
#define PERF_PLACE_NONE                                        \
	{                                                      \
		.dir = -1, .lock = -1, .signals = SIGNALS_NONE \
	}

/* base: one of the user's, or NULL: one is made of busybox. What a killed one has left goes first.
 * network and cold may be set before, and progress is. */
int perf_place_open(struct perf_place *place, const struct cli *cli, const char *base,
		    struct error *err);
/* Whatever happened: machines, pools, own bases, directory. */
int perf_place_close(struct perf_place *place, struct error *err);
/* ERR_UNAVAILABLE once a signal has come. */
int perf_go_on(struct perf_place *place, struct error *err);

struct perf_session {
	struct microagent_session *session;
	char id[160];		    /* as a workspace */
	uint64_t began_ns, made_ns; /* before and after its making */
};
int perf_session_make(struct perf_place *place, struct perf_session *out, struct error *err);
int perf_session_end(struct perf_session *session, struct error *err);
/* One exec of /bin/true in it. */
int perf_time_exec(struct perf_place *place, const struct perf_session *session,
		   struct microagent_exec_times *out, struct error *err);

/* --- measures -------------------------------------------------------------------------------- */

typedef int perf_measure_fn(struct perf_place *place, struct perf_report *report,
			    struct error *err);
perf_measure_fn perf_boot, perf_restore, perf_exec, perf_claim, perf_footprint;

#endif
