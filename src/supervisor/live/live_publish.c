/* SPDX-License-Identifier: MIT */
/* Ports that are published, or no more, while the machine runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "channel/publish.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/network_change.h"

static int close_port(struct live *live, const json_t *forward, struct error *err)
{
	(void)err;
	if (channels_unpublish(live->channels, forward))
		control_stream_unpublish(live->control, forward);
	return 0;
}

static void undo_publish(struct live *live, const json_t *before, const json_t *after)
{
	(void)network_each_more(live, json_object_get(after, "portForwards"),
				json_object_get(before, "portForwards"), close_port, NULL);
}

static int apply_publish(struct live *live, const json_t *before, const json_t *after,
			 struct control_client *client, struct error *err)
{
	const json_t *list = json_object_get(after, "portForwards");
	const json_t *forward = json_array_get(list, json_array_size(list) - 1);
	autoclose int port = control_sock_passed(client);
	struct error why = {0};

	if (port < 0)
		return error_set(err, ERR_INVALID, "no socket came with the request");
	if (channels_hold(port, &why) < 0 && why.errnum != ENOTSUP)
		return error_set(err, ERR_INVALID, "what came with the request holds no port: %s",
				 why.msg);
	if (channels_publish(live->channels, forward, steal_fd(&port), err) < 0)
		return -1;
	if (control_stream_publish(live->control, forward, err) == 0)
		return 0;
	undo_publish(live, before, after);
	return -1;
}

static int apply_unpublish(struct live *live, const json_t *before, const json_t *after,
			   struct control_client *client, struct error *err)
{
	(void)client;
	return network_each_more(live, json_object_get(before, "portForwards"),
				 json_object_get(after, "portForwards"), close_port, err);
}

static json_t *port_told(const json_t *forward)
{
	return json_pack("{s:O, s:O, s:O}", "host", json_object_get(forward, "host"), "hostPort",
			 json_object_get(forward, "hostPort"), "guestPort",
			 json_object_get(forward, "guestPort"));
}

static int tell_published(struct live *live, const json_t *forward, struct error *err)
{
	char name[PUBLISH_NAME], text[160];

	(void)err;
	publish_name(forward, name);
	snprintf(text, sizeof(text), "network: %s leads to port %d", name,
		 (int)json_integer_value(json_object_get(forward, "guestPort")));
	network_tell(live, "net.published", port_told(forward), text);
	return 0;
}

static int tell_unpublished(struct live *live, const json_t *forward, struct error *err)
{
	char name[PUBLISH_NAME], text[160];

	(void)err;
	publish_name(forward, name);
	snprintf(text, sizeof(text), "network: %s is published no more", name);
	network_tell(live, "net.unpublished", port_told(forward), text);
	return 0;
}

void live_publish_tell(struct live *live, const json_t *before, const json_t *after)
{
	const json_t *old = json_object_get(before, "portForwards");
	const json_t *new = json_object_get(after, "portForwards");

	(void)network_each_more(live, new, old, tell_published, NULL);
	(void)network_each_more(live, old, new, tell_unpublished, NULL);
}

const struct network_change change_publish = {"publish", apply_publish, undo_publish, true};
const struct network_change change_unpublish = {"unpublish", apply_unpublish, NULL, false};
