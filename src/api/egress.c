/* SPDX-License-Identifier: MIT */
#include "api/egress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/egress_rule.h"
#include "base/json.h"
#include "base/path.h"
#include "base/prefix.h"
#include "contract/request.h"

#define LIST_BYTES 65536u /* the greatest size of a list file in bytes */

/* Returns true if the word is an address prefix with a "/", such as 10.0.0.0/8, and stores the
 * prefix. Returns false for an address without a "/", because a user could take it for a name. */
static bool is_prefix(const char *word, struct prefix *out)
{
	return strchr(word, '/') && prefix_parse(word, out) == 0;
}

int microagent_check_egress(const char *word, struct error *err)
{
	struct egress_rule rule;
	struct prefix prefix;
	char what[32];

	if (!strchr(word, '/') && prefix_parse(word, &prefix) == 0)
		return error_set(
			err, ERR_INVALID,
			"\"%s\" is an address, not a name: write the prefix %s/32; a private address belongs in config.network.allow",
			word, word);
	if (!is_prefix(word, &prefix))
		return egress_rule_parse(word, &rule, err);
	snprintf(what, sizeof(what), "%.24s", word);
	return config_check_egress_prefix(prefix, what, err);
}

int microagent_check_egress_list(const char *word, struct error *err)
{
	if (strchr(word, '/') || egress_list(word))
		return 0;
	return error_set(
		err, ERR_INVALID,
		"there is no list \"%.64s\": give npm, pypi, debian or github, or the path of a file of names, with a '/' in it",
		word);
}

static int add_egress_word(json_t *out, const char *word, struct error *err)
{
	struct prefix prefix;
	const char *key = is_prefix(word, &prefix) ? "prefixes" : "names";
	json_t *list = json_object_get(out, key);

	if (microagent_check_egress(word, err) < 0)
		return -1;
	if (!list && json_put(out, key, list = json_array(), err) < 0)
		return -1;
	return json_array_append_new(list, json_string(word)) < 0
		       ? error_errno(err, ENOMEM, "egress")
		       : 0;
}

/* Adds the words of a list file to `out`. A line has at most one word. Blanks around the word, and
 * a comment after the word, are skipped. */
static int add_list_file(json_t *out, const char *path, struct error *err)
{
	static const char blanks[] = " \t\r";
	static const char byte_order_mark[] = "\xef\xbb\xbf"; /* some editors on Windows begin a
							       * file with this mark */
	autobuf struct buf text = BUF_INIT(LIST_BYTES);
	unsigned number = 0;
	char *rest;

	if (path_read_file_at(AT_FDCWD, path, &text, err) < 0)
		return -1;
	if (text.len == 0)
		return 0;
	if (memchr(buf_bytes(&text), '\0', text.len))
		return error_set(
			err, ERR_INVALID,
			"%s is not a list of names, because it has a NUL byte: give a text file that has one name a line",
			path);
	rest = (char *)(uintptr_t)buf_string(&text);
	if (strncmp(rest, byte_order_mark, strlen(byte_order_mark)) == 0)
		rest += strlen(byte_order_mark);
	while (rest) {
		char *line = strsep(&rest, "\n");
		size_t len;

		number++;
		line[strcspn(line, "#")] = '\0';
		line += strspn(line, blanks);
		len = strlen(line);
		while (len > 0 && strchr(blanks, line[len - 1]))
			line[--len] = '\0';
		if (len > 0 && add_egress_word(out, line, err) < 0)
			return error_prefix(err, "%s:%u", path, number);
	}
	return 0;
}

static int add_list(json_t *out, const char *word, struct error *err)
{
	const char *const *words = egress_list(word);

	if (microagent_check_egress_list(word, err) < 0)
		return -1;
	if (!words)
		return add_list_file(out, word, err) < 0 ? error_prefix(err, "egress.from") : 0;
	for (; *words; words++)
		if (add_egress_word(out, *words, err) < 0)
			return -1;
	return 0;
}

int egress_put(json_t *network, const struct microagent_egress *egress, struct error *err)
{
	json_auto_t *out = json_object();

	if (!egress->names && !egress->from && !egress->dry_run && !egress->sni_off)
		return 0;
	for (size_t i = 0; egress->names && egress->names[i]; i++)
		if (add_egress_word(out, egress->names[i], err) < 0)
			return -1;
	for (size_t i = 0; egress->from && egress->from[i]; i++)
		if (add_list(out, egress->from[i], err) < 0)
			return -1;
	if ((egress->sni_off && json_put_string(out, "sni", "off", err) < 0) ||
	    (egress->dry_run && json_put(out, "dryRun", json_true(), err) < 0))
		return -1;
	return json_put(network, "egress", steal_ptr(&out), err);
}
