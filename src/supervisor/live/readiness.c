/* SPDX-License-Identifier: MIT */
#include "supervisor/live/readiness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/response.h"
#include "supervisor/live/shell_probe.h"

/* A signal of readiness that is determined by a probe. */
struct probe {
	uint64_t begun_ns; /* the time (monotonic, ns) at which the present or last probe began */
	/* The time (monotonic, ns) at which the last probe ended; 0: there was no probe, or its
	 * result is not kept. */
	uint64_t ended_ns;
	bool running;
	json_t *signal; /* the result of the last probe */
};

struct readiness {
	struct loop *loop;
	int workspace_fd;
	char ready_at[CLOCK_TEXT]; /* the time at which the guest reported ready; "": the guest has
				    * not reported ready */
	struct target *mediation;
	struct probe shell, target;
	struct shell_probe *shell_probe;
	struct target_attempt *attempt;
	struct control_client *waiting[CONTROL_SOCK_CLIENTS];
	size_t waiting_count;
};

/* --- the answer ------------------------------------------------------------------------------ */

static json_t *guest_signal(const struct readiness *r)
{
	if (!*r->ready_at)
		return readiness_signal(false, NULL, "the guest has not reported ready", NULL);
	return readiness_signal(true, r->ready_at, "the guest reported ready", NULL);
}

static json_t *shell_signal(const struct readiness *r)
{
	if (!*r->ready_at)
		return readiness_signal(false, NULL, "the guest has not reported ready", NULL);
	return json_incref(r->shell.signal);
}

static json_t *build_answer(const struct readiness *r)
{
	json_auto_t *answer = json_object();
	json_auto_t *signals = json_object();

	if (json_put(signals, "guestReady", guest_signal(r), NULL) < 0 ||
	    json_put(signals, "shellReady", shell_signal(r), NULL) < 0 ||
	    (r->mediation &&
	     json_put(signals, "mediationReady", json_incref(r->target.signal), NULL) < 0) ||
	    json_put(answer, "ok", json_true(), NULL) < 0 ||
	    json_put(answer, "readiness", json_incref(signals), NULL) < 0)
		return NULL;
	return steal_ptr(&answer);
}

static void answer_if_known(struct readiness *r)
{
	json_auto_t *answer = NULL;

	if (r->shell.running || r->target.running || r->waiting_count == 0)
		return;
	answer = build_answer(r);
	while (r->waiting_count > 0)
		control_sock_answer(r->waiting[--r->waiting_count], answer);
}

/* --- the probes ------------------------------------------------------------------------------ */

/* Records the result of a probe. `done` is the text for success, for example "agent round trip". */
static void record_probe(struct readiness *r, struct probe *probe, const char *done,
			 const struct error *why)
{
	char now[CLOCK_TEXT], detail[256];

	probe->running = false;
	probe->ended_ns = clock_mono_ns();
	json_decref(probe->signal);
	clock_rfc3339(clock_real_ns(), now);
	snprintf(detail, sizeof(detail), "%s in %llu us", done,
		 (unsigned long long)((probe->ended_ns - probe->begun_ns) / 1000));
	probe->signal = why ? readiness_signal(false, now, NULL, why->msg)
			    : readiness_signal(true, now, detail, NULL);
	answer_if_known(r);
}

static void on_shell(void *data, const struct error *why)
{
	struct readiness *r = data;

	r->shell_probe = NULL;
	record_probe(r, &r->shell, "agent round trip", why);
	/* A failure of a probe of the agent is not kept: in a machine that has just booted, the
	 * agent may answer when the next client asks. A failure of a probe of the target is
	 * kept. */
	if (why)
		r->shell.ended_ns = 0;
}

/* Handles the result of a probe of the mediation target. The probe only connects to the target, and
 * sends nothing. */
static void on_target(void *data, int fd, const struct error *why)
{
	struct readiness *r = data;
	char done[224];

	r->attempt = NULL;
	if (fd >= 0)
		close(fd);
	snprintf(done, sizeof(done), "connection to %.200s", target_text(r->mediation));
	record_probe(r, &r->target, done, why);
}

/* Returns true if the probe must be made now, because no recent result is kept and no probe is
 * running. Then also marks the probe as running. */
static bool is_due(struct probe *probe)
{
	uint64_t now = clock_mono_ns(), kept = limit_get(LIMIT_PROBE_KEPT_MS) * NS_PER_MS;

	if (probe->running || (probe->ended_ns && now - probe->begun_ns < kept))
		return false;
	probe->begun_ns = now;
	probe->running = true;
	return true;
}

static void probe_shell(struct readiness *r)
{
	uint64_t deadline = limit_deadline(LIMIT_SHELL_PROBE_MS);
	struct error err = {0};

	if (!*r->ready_at || !is_due(&r->shell))
		return;
	r->shell_probe = shell_probe_new(r->loop, r->workspace_fd, deadline, on_shell, r, &err);
	if (!r->shell_probe)
		record_probe(r, &r->shell, "", &err);
}

static void probe_target(struct readiness *r)
{
	uint64_t deadline = limit_deadline(LIMIT_MEDIATION_PROBE_MS);
	struct error err = {0};

	if (!r->mediation || !is_due(&r->target))
		return;
	r->attempt = target_reach(r->mediation, deadline, on_target, r, &err);
	if (!r->attempt)
		record_probe(r, &r->target, "", &err);
}

int readiness_ask(struct readiness *readiness, const char *ready_at, struct target *mediation,
		  struct control_client *client, struct error *err)
{
	struct readiness *r = readiness;

	if (r->waiting_count == CONTROL_SOCK_CLIENTS)
		return error_set(
			err, ERR_INTERNAL,
			"too many programs wait for the machine to be ready: try again when some of them have ended");
	snprintf(r->ready_at, sizeof(r->ready_at), "%s", ready_at ? ready_at : "");
	r->mediation = mediation;
	control_sock_defer(client);
	probe_shell(r);
	probe_target(r);
	r->waiting[r->waiting_count++] = client;
	answer_if_known(r);
	return 0;
}

void readiness_sever(struct readiness *readiness)
{
	struct error err;

	if (!readiness->attempt)
		return;
	target_give_up(steal_ptr(&readiness->attempt));
	error_set(
		&err, ERR_UNAVAILABLE,
		"the service of the host cannot be reached, because the machine is in quarantine");
	record_probe(readiness, &readiness->target, "", &err);
}

/* --- making and freeing ----------------------------------------------------------------------- */

struct readiness *readiness_new(struct loop *loop, int workspace_fd, struct error *err)
{
	struct readiness *r = calloc(1, sizeof(*r));

	if (!r) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	r->loop = loop;
	r->workspace_fd = workspace_fd;
	return r;
}

void readiness_forget(struct readiness *readiness)
{
	if (!readiness)
		return;
	readiness->waiting_count = 0;
	shell_probe_free(steal_ptr(&readiness->shell_probe));
	target_give_up(steal_ptr(&readiness->attempt));
	readiness->shell.running = readiness->target.running = false;
	readiness->mediation = NULL;
}

void readiness_free(struct readiness *readiness)
{
	if (!readiness)
		return;
	readiness_forget(readiness);
	json_decref(readiness->shell.signal);
	json_decref(readiness->target.signal);
	free(readiness);
}
