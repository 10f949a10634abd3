/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/roles.h"

int main(int argc, char **argv)
{
	const char *role = argc > 0 ? argv[0] : "";

	if (getpid() == 1 && strcmp(role, ROLE_INIT) == 0)
		return role_init(argc, argv);
	if (strcmp(role, ROLE_AGENT) == 0)
		return role_agent(argc, argv);
	if (strcmp(role, ROLE_COPYOUT) == 0)
		return role_copyout(argc, argv);
	if (strcmp(role, ROLE_WRITE) == 0)
		return role_write(argc, argv);
	if (strcmp(role, ROLE_LIST) == 0)
		return role_list(argc, argv);
	if (strcmp(role, ROLE_STAT) == 0)
		return role_stat(argc, argv);
	if (strcmp(role, ROLE_SHELL) == 0)
		return role_shell(argc, argv);
	if (strcmp(role, ROLE_FILES) == 0)
		return role_files(argc, argv);
	if (strcmp(role, ROLE_CONTAINER) == 0)
		return role_container(argc, argv);
	if (strcmp(role, ROLE_PUBLISH) == 0)
		return role_publish(argc, argv);
	printf("microagent-init " MICROAGENT_VERSION "\n"
	       "The /init of microagent's guests: the host puts it into the initramfs beside the\n"
	       "kernel. There is nothing to run by hand.\n");
	return argc == 2 && strcmp(argv[1], "--version") == 0 ? 0 : 2;
}
