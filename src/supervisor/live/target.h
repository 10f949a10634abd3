/* SPDX-License-Identifier: MIT */
/*
 * A host:port that a guest's connections lead to. A name is looked up only when a connection needs
 * it. A process of its own does it, since the C library's look-up would block the loop. There is
 * one such process at a time for each target, and its answer is used for LIMIT_RESOLVED_MS.
 */
#ifndef SUPERVISOR_TARGET_H
#define SUPERVISOR_TARGET_H

#include "base/broker.h"
#include "base/connecting.h"

struct target;
struct target_attempt;

/* Makes a target. text was checked by the contract: "name:port", "192.0.2.1:port",
 * "[2001:db8::1]:port". */
struct target *target_new(struct loop *loop, const char *text, struct error *err);
const char *target_text(const struct target *target);
uint16_t target_port(const struct target *target);
/* The broker's part of a look-up. Its data is the object that knows the targets. */
extern const struct broker_duty target_duty;
int target_serve(const struct target *target, struct broker_message *out, struct error *err);
/* Begins to connect to the target. deadline_ns is for the whole attempt, with the look-up. The
 * error names the target. */
struct target_attempt *target_reach(struct target *target, uint64_t deadline_ns, reached_fn *done,
				    void *data, struct error *err);
void target_give_up(struct target_attempt *attempt); /* accepts NULL */
/* Frees the target; only after its last attempt is over. Accepts NULL. */
void target_free(struct target *target);

#endif
