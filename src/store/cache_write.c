/* SPDX-License-Identifier: MIT */
#include "store/cache_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/sync.h"

/* The name of the record's file in the scratch directory. */
#define RECORD "record.json"

static char *with_suffix(const char *name, const char *suffix, struct error *err)
{
	autobuf struct buf b = BUF_INIT(0);

	return buf_printf(&b, err, "%s%s", name, suffix) < 0 ? NULL : buf_steal_string(&b, err);
}

int cache_withdraw(const struct cache_writing *w, const char *name, struct error *err)
{
	autofree char *record = with_suffix(name, ".json", err);

	if (!record)
		return -1;
	if (unlinkat(w->dir_fd, record, 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "remove %s/%s", w->dir, record);
	return 0;
}

int cache_publish(const struct cache_writing *w, const char *file, const char *name,
		  const char *suffix, struct error *err)
{
	autofree char *target = with_suffix(name, suffix, err);
	autoclose int fd = -1;

	if (!target)
		return -1;
	fd = openat(w->scratch_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0444) < 0 || file_sync(fd) < 0)
		return error_errno(err, errno, "%s/%s", w->scratch, file);
	if (renameat(w->scratch_fd, file, w->dir_fd, target) < 0)
		return error_errno(err, errno, "%s/%s", w->dir, target);
	return 0;
}

/* Writes the record to the scratch directory first, as is done with all other files. If this
 * process is killed, the next process that writes to the cache removes the scratch directory. */
int cache_record(const struct cache_writing *w, const char *name, const json_t *record,
		 struct error *err)
{
	autofree char *text = json_pretty(record, err);
	autobuf struct buf line = BUF_INIT(0);

	if (!text || buf_printf(&line, err, "%s\n", text) < 0 ||
	    path_replace_file_at(w->scratch_fd, RECORD, buf_bytes(&line), line.len, 0600,
				 PATH_NO_SYNC, err) < 0 ||
	    cache_publish(w, RECORD, name, ".json", err) < 0)
		return -1;
	if (file_sync(w->dir_fd) < 0)
		return error_errno(err, errno, "sync %s", w->dir);
	return 0;
}
