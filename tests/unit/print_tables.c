/* SPDX-License-Identifier: MIT */
/* Prints as JSON what the table of a machine's options says, and what the supervisor of Hyper-V,
 * which does not run here, prints as its capabilities. `make lists` writes manuals and the
 * library's list of what each backend has by it. */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/options/machine.h"
#include "hyperv/machine/refused.h"
#include "supervisor/refusals.h"

int main(void)
{
	json_auto_t *options = json_array();
	json_auto_t *document = NULL;
	bool built[COMMAND_COUNT];

	for (int i = 0; i < COMMAND_COUNT; i++)
		built[i] = hyperv_refuses_command((enum command)i) == NULL;
	for (const struct machine_option *row = machine_options; row->option.name; row++)
		json_array_append_new(options,
				      json_pack("{s:s, s:s*, s:s*}", "name", row->option.name,
						"value", row->option.value, "field", row->field));
	document = json_pack("{s:O, s:o}", "options", options, HYPERV_BACKEND,
			     refusals_capabilities(HYPERV_BACKEND, hyperv_refusals, built, NULL));
	return document && json_dumpf(document, stdout, JSON_INDENT(1)) == 0 && puts("") >= 0 ? 0
											      : 1;
}
