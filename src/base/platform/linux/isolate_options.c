/* SPDX-License-Identifier: MIT */
/* Functions that read options with a user or a group (base/command_line.h). */
#include "base/command_line.h"
#include "base/platform/linux/isolate.h"

/* Refuses the number 4294967295, for which setresuid() would leave the user unchanged. */
int option_uid(void *field, const char *value, struct error *err)
{
	struct isolate_identity *who = field;
	uint64_t v;

	if (command_line_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	who->uid = (uid_t)v;
	who->set_uid = true;
	return 0;
}

int option_gid(void *field, const char *value, struct error *err)
{
	struct isolate_identity *who = field;
	uint64_t v;

	if (command_line_number(value, 0, UINT32_MAX - 1, &v, err) < 0)
		return -1;
	who->gid = (gid_t)v;
	who->set_gid = true;
	return 0;
}
