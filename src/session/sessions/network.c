/* SPDX-License-Identifier: MIT */
#include "session/sessions/session.h"

int microagent_session_change_network(struct microagent_session *session,
				      enum microagent_network_change change, const char *word,
				      json_t **network, struct error *err)
{
	return microagent_change_network(session->agent, session->id, change, word, network, err);
}
