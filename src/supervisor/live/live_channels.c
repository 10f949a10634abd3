/* SPDX-License-Identifier: MIT */
/* The live supervisor's channels, and what may be asked about them. */
#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/readiness.h"

int live_channels_begin(struct live *live, const struct config *config, struct error *err)
{
	int loopback = ticket_has(&live->ticket, LIVE_LOOPBACK) ? LIVE_LOOPBACK : -1;

	live->channels = channels_new(live->loop, live->ws.fd, config, loopback, &live->log, err);
	if (!live->channels)
		return -1;
	live->readiness = readiness_new(live->loop, live->ws.fd, err);
	return live->readiness ? 0 : -1;
}

int live_readiness(struct live *live, const json_t *request, struct control_client *client,
		   struct error *err)
{
	const char *ready_at = json_text(live->runtime, "readyAt", NULL);

	(void)request;
	if (live->severed)
		return 0;
	return readiness_ask(live->readiness, ready_at, channels_mediation(live->channels), client,
			     err);
}

int live_channels_sever(struct live *live, json_t *severed, struct error *err)
{
	/* Clients that wait for an answer about a channel have it before the channel goes. */
	readiness_sever(live->readiness);
	return channels_sever(live->channels, severed, err);
}
