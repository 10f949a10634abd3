/* SPDX-License-Identifier: MIT */
/* Returns true if machines of the backend can run on the operating system of this host. */
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/platform/system.h"

static bool is_of_this_system(const struct contract_backend *backend)
{
	return strcmp(backend->system, system_name) == 0;
}

const struct contract_backend *backend_usual(void)
{
	const struct contract_backend *row = contract_backends;

	while (!row->usual || !is_of_this_system(row))
		row++;
	return row;
}

char *backend_find_supervisor(const struct contract_backend *backend, struct error *err)
{
	struct error why = {0};
	char *path = supervisor_find(backend->name, &why);

	if (path)
		return path;
	if (!is_of_this_system(backend))
		error_set(
			err, ERR_UNSUPPORTED,
			"backend %s makes machines only on %s, but this host is %s: choose another backend",
			backend->name, backend->system, system_name);
	else
		(void)error_copy(err, &why);
	return NULL;
}
