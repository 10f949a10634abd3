/* SPDX-License-Identifier: MIT */
/*
 * A target: a host:port to which connections of a guest lead. If the host is a name, the name is
 * looked up only when a connection needs it. Each look-up runs in its own process, since the
 * look-up of the C library would block the loop. Each target has at most one such process at a
 * time. The addresses that a look-up finds are used for LIMIT_RESOLVED_MS.
 */
#ifndef SUPERVISOR_TARGET_H
#define SUPERVISOR_TARGET_H

#include "base/broker.h"
#include "base/connecting.h"

struct target;
struct target_attempt;

/* Makes a target from a text that was checked when the request was read (contract/): "name:port",
 * "192.0.2.1:port" or "[2001:db8::1]:port". */
struct target *target_new(struct loop *loop, const char *text, struct error *err);
const char *target_text(const struct target *target);
uint16_t target_port(const struct target *target);
/* The broker's duty to look up names. The duty's data is the struct that has the targets. */
extern const struct broker_duty target_duty;
int target_serve(const struct target *target, struct broker_message *out, struct error *err);
/* Begins to connect to the target. Later calls `done` with the result. deadline_ns (monotonic) is
 * the deadline of the whole attempt, including the look-up. The message of an error names the
 * target. */
struct target_attempt *target_reach(struct target *target, uint64_t deadline_ns, reached_fn *done,
				    void *data, struct error *err);
void target_give_up(struct target_attempt *attempt); /* cancels the attempt; accepts NULL */
/* Frees the target. All attempts of the target must be over before the call. Accepts NULL. */
void target_free(struct target *target);

#endif
