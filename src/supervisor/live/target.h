/* SPDX-License-Identifier: MIT */
/*
 * A host:port that a guest's connections are led to. A name is looked up when a connection needs it
 * and not before, by a process of its own, since the C library's look-up would hold up the loop;
 * one process at a time for each target, and its answer serves for LIMIT_RESOLVED_MS.
 */
#ifndef SUPERVISOR_TARGET_H
#define SUPERVISOR_TARGET_H

#include "base/broker.h"
#include "base/connecting.h"

struct target;
struct target_attempt;

/* text as the contract has checked it: "name:port", "192.0.2.1:port", "[2001:db8::1]:port". */
struct target *target_new(struct loop *loop, const char *text, struct error *err);
const char *target_text(const struct target *target);
uint16_t target_port(const struct target *target);
/* The broker's part of a look-up; its data is whatever knows the targets. */
extern const struct broker_duty target_duty;
int target_serve(const struct target *target, struct broker_message *out, struct error *err);
/* deadline_ns of the whole, look-up included. The error names the target. */
struct target_attempt *target_reach(struct target *target, uint64_t deadline_ns, reached_fn *done,
				    void *data, struct error *err);
void target_give_up(struct target_attempt *attempt); /* accepts NULL */
/* After the last attempt is over. Accepts NULL. */
void target_free(struct target *target);

#endif
