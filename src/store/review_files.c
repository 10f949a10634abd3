/* SPDX-License-Identifier: MIT */
#include "store/review_files.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/system.h"

#define PREFIX "bundle-"

static const char *const suffixes[] = {REVIEW_DISK, REVIEW_LIST, REVIEW_UPPER, REVIEW_TAKEN,
				       REVIEW_TAKING};

void review_file_name(const char *name, const char *suffix, char out[BUNDLE_FILE_NAME])
{
	snprintf(out, BUNDLE_FILE_NAME, PREFIX "%.120s%s", name, suffix);
}

bool review_is_file(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !dot || dot == name + strlen(PREFIX))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	return false;
}

bool review_is_file_of(const char *name, const char *bundle)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char own[BUNDLE_FILE_NAME];

		review_file_name(bundle, suffixes[i], own);
		if (strcmp(name, own) == 0)
			return true;
	}
	return false;
}

int review_new_upper(char out[UPPER_TEXT], struct error *err)
{
	uint64_t random[2];

	if (random_bytes(random, sizeof(random), err) < 0)
		return -1;
	snprintf(out, UPPER_TEXT, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return 0;
}

int review_write_upper(int dir, const char *bundle, const char *upper, struct error *err)
{
	char name[BUNDLE_FILE_NAME], line[UPPER_TEXT + 1];

	review_file_name(bundle, REVIEW_UPPER, name);
	snprintf(line, sizeof(line), "%s\n", upper);
	return path_replace_file_at(dir, name, line, strlen(line), 0600, PATH_SYNC, err);
}

int review_read_upper(int dir, const char *bundle, char out[UPPER_TEXT], struct error *err)
{
	autobuf struct buf text = BUF_INIT(UPPER_TEXT);
	char name[BUNDLE_FILE_NAME];

	review_file_name(bundle, REVIEW_UPPER, name);
	if (path_read_file_at(dir, name, &text, err) < 0)
		return -1;
	if (text.len != UPPER_TEXT ||
	    strspn(buf_string(&text), "0123456789abcdef") != UPPER_TEXT - 1 ||
	    buf_bytes(&text)[UPPER_TEXT - 1] != '\n')
		return error_set(
			err, ERR_INVALID,
			"%s does not have the name of a layer, 32 hexadecimal digits: prepare the workspace again",
			name);
	memcpy(out, buf_bytes(&text), UPPER_TEXT - 1);
	out[UPPER_TEXT - 1] = '\0';
	return 0;
}
