/* SPDX-License-Identifier: MIT */
#include "store/quota.h"

#include "base/json.h"

#define SESSION_RECORD "session.json"
#define QUOTA "quotaBytes"
#define COPIED "copiedBytes"

int quota_read(const struct workspace *ws, struct quota *out, struct error *err)
{
	struct error why = {0};
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, &why);
	int64_t bytes = 0, copied = 0;

	if (!record && why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	if (record &&
	    (json_get_int(record, "", QUOTA, JSON_OPTIONAL, 1, INT64_MAX, &bytes, &why) < 0 ||
	     json_get_int(record, "", COPIED, JSON_OPTIONAL, 0, INT64_MAX, &copied, &why) < 0))
		return workspace_damaged(ws, SESSION_RECORD, &why, err);
	*out = (struct quota){(uint64_t)bytes, (uint64_t)copied};
	return 0;
}

uint64_t quota_beyond(uint64_t copied, uint64_t counted)
{
	return counted > copied ? counted - copied : 0;
}

int quota_write(const struct workspace *ws, uint64_t bytes, struct error *err)
{
	json_auto_t *record = workspace_read(ws, SESSION_RECORD, err);

	if (!record || json_put(record, QUOTA, json_integer((json_int_t)bytes), err) < 0)
		return -1;
	return workspace_write(ws, SESSION_RECORD, record, STORE_SYNC, err);
}

int quota_grown(int fd, uint64_t *bytes, struct error *err)
{
	struct quota_count count = {0};

	return quota_count(fd, &count, UINT64_MAX, bytes, err) < 0 ? -1 : 0;
}
