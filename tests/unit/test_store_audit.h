/* SPDX-License-Identifier: MIT */
/* Things that the tests of the audit log share: a log of five lines, read, altered and verified. */
#ifndef TEST_STORE_AUDIT_H
#define TEST_STORE_AUDIT_H

#include "store_fixture.h"

#include <dirent.h>

#include "store/audit.h"

#define LOG "agent-1/" AUDIT_LOG

static const struct audit_event said = {.subsystem = "test", .event = "test.said"};

static inline void begin(struct fixture *f)
{
	put_file(f, "agent-1/session.json", "{}");
	for (int i = 0; i < 4; i++)
		assert_int_equal(audit_note(&f->ws, &said, NULL), 0);
}

static inline struct audit_report verify_with(struct fixture *f, bool with_security_log)
{
	struct audit_heads heads = {0};
	struct audit_report report;
	struct error err = {0};
	autoclose int fd = open(at(f, LOG), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (with_security_log)
		assert_int_equal(audit_heads_load(f->path, "agent-1", &heads, &err), 0);
	assert_int_equal(
		audit_verify(fd, "agent-1", with_security_log ? &heads : NULL, &report, &err), 0);
	audit_heads_free(&heads);
	return report;
}

static inline struct audit_report verify(struct fixture *f)
{
	return verify_with(f, true);
}

static inline void expect_bad(const struct audit_report *report, enum audit_verdict verdict,
			      uint64_t line, const char *why)
{
	assert_string_equal(audit_verdict_names[report->verdict], audit_verdict_names[verdict]);
	assert_int_equal(report->bad_line, line);
	if (!strstr(report->why, why))
		fail_msg("%s", report->why);
}

/* The log's lines, to be put back in another order or form. */
struct lines {
	char *text[16];
	size_t count;
};

static inline struct lines take_lines(struct fixture *f)
{
	autofree char *text = get_file(f, LOG);
	struct lines lines = {0};
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) && *line)
		lines.text[lines.count++] = strdup(line);
	return lines;
}

static inline void put_lines(struct fixture *f, const struct lines *lines)
{
	autofile FILE *file = fopen(at(f, LOG), "w");

	for (size_t i = 0; i < lines->count; i++)
		fprintf(file, "%s\n", lines->text[i]);
}

static inline void free_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->text[i]);
}

static inline void append_raw(struct fixture *f, const char *text)
{
	autofile FILE *file = fopen(at(f, LOG), "a");

	assert_true(fputs(text, file) >= 0);
}

#endif
