/* SPDX-License-Identifier: MIT */
/* contract: shows the contract document, which tells what an agent runtime may rely on. Prints JSON
 * for programs and tables for people. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

/* Returns the names as one string, like "nat, isolated". Returns NULL for an empty list, which a
 * table prints as "-". */
static char *joined(const json_t *names, struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name) if (buf_printf(&text, err, "%s%s", i ? ", " : "",
							  json_string_value(name)) < 0) return NULL;
	return text.len ? buf_steal_string(&text, err) : NULL;
}

static int print_described(const char *head, const json_t *items, struct error *err)
{
	const char *const heads[] = {head, "MEANING"};
	auto_table struct cli_table table = {0};
	const json_t *item;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(items, i, item)
	{
		const char *const cells[] = {json_text(item, "name", NULL),
					     json_text(item, "description", NULL)};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	putchar('\n');
	return 0;
}

/* Adds the rows for a backend. The first row describes the backend ("Linux, stable"; "macOS,
 * stable, not on this host"). After this row comes a row for each of the backend's three lists, and
 * a row for each system on which the backend was tested. */
static int add_backend(struct cli_table *table, const char *name, const json_t *support,
		       struct error *err)
{
	static const char *const keys[] = {"commands", "networks", "features"};
	bool available = json_is_true(json_object_get(support, "available"));
	char text[128];
	const char *const what[] = {name, "system", text};
	const json_t *trial;
	size_t i;

	snprintf(text, sizeof(text), "%s, %s%s", json_text(support, "system", "?"),
		 json_text(support, "stability", "?"), available ? "" : ", not on this host");
	if (cli_table_row(table, what, err) < 0)
		return -1;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		autofree char *list = joined(json_object_get(support, keys[i]), err);
		const char *const cells[] = {"", keys[i], list};

		if (cli_table_row(table, cells, err) < 0)
			return -1;
	}
	json_array_foreach(json_object_get(support, "triedOn"), i, trial)
	{
		const char *const cells[] = {"", i ? "" : "tried on", json_text(trial, "what", "")};

		if (cli_table_row(table, cells, err) < 0)
			return -1;
	}
	return 0;
}

static int print_refusals(const json_t *contract, struct error *err)
{
	static const char *const heads[] = {"REFUSED BY", "OF A CONFIG", "SINCE"};
	auto_table struct cli_table table = {0};
	const char *backend;
	const json_t *support, *refusal;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_object_foreach((json_t *)json_object_get(contract, "backendSupport"), backend, support)
	{
		json_array_foreach(json_object_get(support, "refusals"), i, refusal)
		{
			const char *const cells[] = {i ? "" : backend,
						     json_text(refusal, "field", ""),
						     json_text(refusal, "limitation", "")};

			if (cli_table_row(&table, cells, err) < 0)
				return -1;
		}
	}
	cli_table_print(&table, stdout);
	putchar('\n');
	return 0;
}

static int print_backends(const json_t *contract, struct error *err)
{
	static const char *const heads[] = {"BACKEND", "HAS", "NAMES"};
	auto_table struct cli_table table = {0};
	const json_t *all = json_object_get(contract, "backendSupport"), *name;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(json_object_get(contract, "backends"), i, name)
	{
		const char *backend = json_string_value(name);

		if (add_backend(&table, backend, json_object_get(all, backend), err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	putchar('\n');
	return 0;
}

struct contract_row {
	const char *name, *text;
};

static int print_contract_rows(const char *head, const struct contract_row *rows, size_t count,
			       struct error *err)
{
	const char *const heads[] = {head, "MEANING"};
	auto_table struct cli_table table = {0};

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const char *const cells[] = {rows[i].name, rows[i].text};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	putchar('\n');
	return 0;
}

static int print_mediation(const json_t *mediation, struct error *err)
{
	const json_t *described = json_object_get(mediation, "descriptions");
	autofree char *fields = joined(json_object_get(mediation, "fields"), err);
	const struct contract_row rows[] = {
		{"primitive", json_text(mediation, "primitive", NULL)},
		{"fields", fields},
		{"requiredMode", json_text(described, "requiredMode", NULL)},
		{"breakMode", json_text(described, "breakMode", NULL)},
	};

	return print_contract_rows("MEDIATION", rows, ARRAY_SIZE(rows), err);
}

static int print_verification(const json_t *verification, struct error *err)
{
	static const char *const heads[] = {"VERIFICATION", "COMPARED", "MEANING"};
	auto_table struct cli_table table = {0};
	const json_t *item;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(json_object_get(verification, "fields"), i, item)
	{
		const char *const cells[] = {json_text(item, "name", NULL),
					     json_text(item, "compared", NULL),
					     json_text(item, "description", NULL)};

		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	putchar('\n');
	return 0;
}

#define PARITY_RULES 16

static int print_parity(const json_t *parity, struct error *err)
{
	struct contract_row rows[1 + PARITY_RULES] = {{"scope", json_text(parity, "scope", NULL)}};
	const json_t *described = json_object_get(parity, "descriptions"), *rule;
	size_t i, count = 1;

	json_array_foreach(json_object_get(parity, "rules"), i, rule)
	{
		const char *name = json_string_value(rule);

		if (count == ARRAY_SIZE(rows))
			break;
		rows[count++] = (struct contract_row){name, json_text(described, name, NULL)};
	}
	return print_contract_rows("PARITY", rows, count, err);
}

static int print_limits(const json_t *limits, struct error *err)
{
	static const char *const heads[] = {"LIMIT", "VALUE", "UNIT", "MEANING"};
	auto_table struct cli_table table = {0};
	const json_t *item;
	size_t i;

	if (cli_table_init(&table, ARRAY_SIZE(heads), heads, err) < 0)
		return -1;
	json_array_foreach(limits, i, item)
	{
		char value[24];
		const char *const cells[] = {json_text(item, "name", NULL), value,
					     json_text(item, "unit", NULL),
					     json_text(item, "description", NULL)};

		snprintf(value, sizeof(value), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(json_object_get(item, "value")));
		if (cli_table_row(&table, cells, err) < 0)
			return -1;
	}
	cli_table_print(&table, stdout);
	return 0;
}

static int print_contract(const json_t *contract, struct error *err)
{
	static const struct {
		const char *key, *head;
	} lists[] = {
		{"commands", "COMMAND"},	   {"states", "STATE"},
		{"readinessSignals", "READINESS"}, {"resultFields", "RESULT"},
		{"artifactChannels", "ARTIFACTS"},
	};

	printf("%s\n\n", json_text(contract, "version", NULL));
	if (print_backends(contract, err) < 0 || print_refusals(contract, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (print_described(lists[i].head, json_object_get(contract, lists[i].key), err) <
		    0)
			return -1;
	if (print_mediation(json_object_get(contract, "mediation"), err) < 0 ||
	    print_verification(json_object_get(contract, "verification"), err) < 0 ||
	    print_parity(json_object_get(contract, "parity"), err) < 0 ||
	    print_limits(json_object_get(contract, "limits"), err) < 0)
		return -1;
	return CLI_EXIT_OK;
}

static int run_contract(struct cli *cli, const void *values, const struct cli_words *args,
			struct error *err)
{
	json_auto_t *contract = microagent_contract(err);

	(void)values;
	(void)args;
	if (!contract)
		return -1;
	return cli->json ? cli_print_json(contract, err) : print_contract(contract, err);
}

const struct cli_command cli_contract = {
	.name = "contract",
	.summary = "what an agent runtime may rely on: commands, states, limits",
	.help = "With --json it prints the whole document, agent-runtime.v1. An installed supervisor says\n"
		"what its backend does. For the others the facts are those of when this was built.\n",
	.group = CLI_GROUP_HOST,
	.run = run_contract,
};
