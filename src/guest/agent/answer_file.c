/* SPDX-License-Identifier: MIT */
#include "guest/agent/answer_file.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "guest/files/file_record.h"
#include "guest/writer.h"

char *answer_copyout(const struct file_end *end, struct error *err)
{
	struct writer w = writer_begin(err);

	/* If the output was cut off at the limit, the answer has no data, because a part of a file
	 * is of no use. */
	writer_base64(&w, "data", buf_bytes(end->output), end->cut ? 0 : end->output->len);
	writer_text(&w, "error",
		    end->cut ? "the file is longer than copyout can return" : end->error);
	return writer_end(&w);
}

char *answer_write(const struct file_end *end, struct error *err)
{
	struct writer w = writer_begin(err);

	writer_number(&w, "size", end->error[0] ? 0 : (int64_t)end->written);
	writer_text(&w, "error", end->error);
	return writer_end(&w);
}

static void put_file_record(struct writer *w, const struct file_record *file)
{
	uint32_t mode = file_mode_of_go(file->mode);
	char number[16];

	writer_bytes(w, "name", file->name, file->len);
	writer_number(w, "size", (int64_t)file->size);
	snprintf(number, sizeof(number), "%u", mode);
	writer_raw(w, "mode", number);
	writer_bool(w, "is_dir", mode & GO_MODE_DIR);
	writer_number(w, "mod_time", file->modified);
}

char *answer_list(const struct file_end *end, struct error *err)
{
	const uint8_t *bytes = buf_bytes(end->output);
	size_t left = end->output->len, most = (size_t)limit_get(LIMIT_LIST_BYTES);
	struct writer w = writer_begin(err);
	struct file_record file = {0};
	bool more = end->cut;

	writer_open_list(&w, "entries");
	while (file_record_take(&bytes, &left, &file)) {
		more = more || file.len == 0 || w.text.len > most;
		if (more)
			break;
		writer_open_item(&w);
		put_file_record(&w, &file);
		writer_close_item(&w);
	}
	writer_close_list(&w);
	writer_text(&w, "error", end->error);
	writer_if_true(&w, "truncated", more);
	return writer_end(&w);
}

char *answer_stat(const struct file_end *end, struct error *err)
{
	const uint8_t *bytes = buf_bytes(end->output);
	size_t left = end->output->len;
	struct file_record file = {.name = bytes};
	const char *error = end->error;
	struct writer w = writer_begin(err);

	if (!error[0] && (!file_record_take(&bytes, &left, &file) || file.len == 0)) {
		file = (struct file_record){.name = bytes};
		error = "nothing is known of the file";
	}
	put_file_record(&w, &file);
	writer_text(&w, "error", error);
	return writer_end(&w);
}
