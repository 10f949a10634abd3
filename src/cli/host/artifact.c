/* SPDX-License-Identifier: MIT */
#include "cli/host/artifact.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/proc.h"
#include "channel/program.h"

#define PROGRAM "microagent-artifact"
#define ANSWER_BYTES (1u << 20)
#define DIGEST_BYTES 64

int artifact_become(struct cli *cli, const char *const *words, struct error *err)
{
	autofree char *program = program_find(PROGRAM, err);
	const char *argv[ARTIFACT_WORDS + 3] = {program};
	size_t n = 1;

	if (!program)
		return -1;
	argv[n++] = *words++;
	if (cli->json) /* --json comes before any "--", which ends the options */
		argv[n++] = "--json";
	while (*words && n < ARTIFACT_WORDS + 2)
		argv[n++] = *words++;
	fflush(stdout);
	/* execv() does not change the strings, but its parameter has no const. */
	execv(program, (char *const *)(uintptr_t)argv);
	return error_errno(err, errno, "%s", program);
}

/* Writes the sha256 digest of the file `path` to `out`. `program` computes the digest. If the file
 * cannot be read, sets out[0] to NUL and *why to the reason, and returns 0. */
static int digest(const char *program, const char *path, char out[DIGEST_BYTES + 1],
		  struct error *why, struct error *err)
{
	const char *const argv[] = {program, "sha256", path, NULL};
	autobuf struct buf answer = BUF_INIT(ANSWER_BYTES);

	out[0] = '\0';
	if (access(path, R_OK) < 0) {
		error_errno(why, errno, "%s", path);
		return 0;
	}
	if (proc_run(argv, &answer, UINT64_MAX, err) < 0)
		return -1;
	if (answer.len < DIGEST_BYTES)
		return error_set(
			err, ERR_IO,
			"microagent-artifact ended without the digest of %s: this is a bug of microagent",
			path);
	memcpy(out, buf_bytes(&answer), DIGEST_BYTES);
	out[DIGEST_BYTES] = '\0';
	return 0;
}

/* Appends an object that tells what is wrong with a file: {"artifact","field","expected","actual"}.
 * For a file that cannot be read, the object is {"artifact","field","error"}. */
static int add_divergence(json_t *list, const struct artifact_check *check, const char *actual,
			  const struct error *why, struct error *err)
{
	json_t *entry = json_object();

	if (!entry || json_array_append_new(list, entry) < 0)
		return error_errno(err, ENOMEM, "answer");
	if (json_put_string(entry, "artifact", check->what, err) < 0 ||
	    json_put_string(entry, "field", "sha256", err) < 0)
		return -1;
	if (!*actual)
		return json_put(entry, "error", json_string_lossy(why->msg, strlen(why->msg)), err);
	if (json_put_string(entry, "expected", check->expected, err) < 0)
		return -1;
	return json_put_string(entry, "actual", actual, err);
}

static void say_verdict(const struct cli *cli, const struct artifact_check *check,
			const char *verdict)
{
	if (!cli->json)
		printf("%-9s %s %s\n", verdict, check->entry, check->what);
}

/* Returns the object for the entry `name` in the list. Appends a new object if the last object is
 * for another entry: the checks of one entry follow each other, so no earlier object can be for the
 * entry `name`. */
static json_t *entry_object(json_t *list, const char *name, struct error *err)
{
	json_t *last = json_array_get(list, json_array_size(list) - 1);

	if (last && strcmp(json_text(last, "name", NULL), name) == 0)
		return last;
	last = json_object();
	if (!last || json_array_append_new(list, last) < 0) {
		error_errno(err, ENOMEM, "answer");
		return NULL;
	}
	if (json_put_string(last, "name", name, err) < 0 ||
	    json_put(last, "divergence", json_array(), err) < 0)
		return NULL;
	return last;
}

static int check_all(const struct cli *cli, json_t *list, const struct artifact_check *checks,
		     size_t count, bool *ok, struct error *err)
{
	autofree char *program = program_find(PROGRAM, err);
	json_t *entry, *divergence;
	bool same;

	if (!program)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct artifact_check *check = &checks[i];
		char actual[DIGEST_BYTES + 1];
		struct error why = {0};

		entry = entry_object(list, check->entry, err);
		divergence = json_object_get(entry, "divergence");
		if (!entry || digest(program, check->path, actual, &why, err) < 0)
			return -1;
		if (*actual && (!*check->expected || strcmp(actual, check->expected) == 0)) {
			say_verdict(cli, check, "ok");
		} else {
			say_verdict(cli, check, *actual ? "differs" : "missing");
			if (add_divergence(divergence, check, actual, &why, err) < 0)
				return -1;
		}
		same = json_array_size(divergence) == 0;
		*ok = *ok && same;
		if (json_put(entry, "ok", json_boolean(same), err) < 0)
			return -1;
	}
	return 0;
}

int artifact_verify(struct cli *cli, const char *key, const struct artifact_check *checks,
		    size_t count, struct error *err)
{
	json_auto_t *answer = json_object(), *list = json_array();
	bool ok = true;

	if (!answer || !list)
		return error_errno(err, ENOMEM, "answer");
	if (check_all(cli, list, checks, count, &ok, err) < 0 ||
	    json_put(answer, "ok", json_boolean(ok), err) < 0 ||
	    json_put(answer, key, json_incref(list), err) < 0)
		return -1;
	if (cli->json && cli_print_json(answer, err) < 0)
		return -1;
	return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}
