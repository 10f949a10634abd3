/* SPDX-License-Identifier: MIT */
/* Tells when a session ends by itself, and whether such an end is the reason why a command ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

/* --- when ------------------------------------------------------------------------------------ */

/* Writes a duration by its two largest units, like "1h 59m". Users give durations in these
 * units. */
static void time_text(int64_t seconds, char out[48])
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
	size_t i = 0;
	int used;

	while (i + 1 < ARRAY_SIZE(units) && seconds < units[i].seconds)
		i++;
	used = snprintf(out, 48, "%" PRId64 "%c", seconds / units[i].seconds, units[i].unit);
	if (i + 1 < ARRAY_SIZE(units) && seconds % units[i].seconds >= units[i + 1].seconds)
		snprintf(out + used, 48 - (size_t)used, " %" PRId64 "%c",
			 seconds % units[i].seconds / units[i + 1].seconds, units[i + 1].unit);
}

void session_add_end(const json_t *session, const char *state, char out[HINT_ROOM])
{
	const char *ends = json_text(session, "endsAt", NULL);
	int64_t idle = json_integer_value(json_object_get(session, "idleSeconds"));
	int64_t left = ends ? (clock_of_rfc3339(ends) - clock_real_ns()) / (int64_t)NS_PER_S : -1;
	size_t used = strlen(out);
	char text[48];

	if (!state || strcmp(state, "running") != 0)
		return;
	if (left >= 0) {
		time_text(left, text);
		used += (size_t)snprintf(out + used, HINT_ROOM - used, "%sends in %s",
					 used ? "; " : "", text);
	}
	if (idle && used < HINT_ROOM) {
		time_text(idle, text);
		snprintf(out + used, HINT_ROOM - used, "%sends after %s idle", used ? "; " : "",
			 text);
	}
}

/* --- the report that a session has ended by itself ------------------------------------------- */

static int find_why(void *data, const char *text, size_t len, struct error *err)
{
	char(*why)[128] = data;
	json_auto_t *line = NULL;

	(void)err;
	if (!memmem(text, len, "\"session.expired\"", strlen("\"session.expired\"")))
		return 0;
	line = json_loadb(text, len, 0, NULL);
	if (strcmp(json_text(line, "event", ""), "session.expired") == 0)
		snprintf(*why, sizeof(*why), "%s",
			 json_text(json_object_get(line, "data"), "why", ""));
	return 0;
}

void session_tell_end(const struct cli *cli, const char *name, const char *id, int code)
{
	struct microagent *agent = NULL;
	char why[128] = "";

	if ((code >= 0 && code < 125) || (id && strcmp(id, name) == 0))
		return;
	/* Reads the audit log, which exists even after the session was destroyed. */
	agent = guest_open(cli, NULL, NULL);
	if (agent)
		(void)microagent_audit_read(agent, name, find_why, &why, NULL);
	microagent_close(agent);
	if (*why)
		cli_warn("session %s is destroyed: %s", name, why);
}
