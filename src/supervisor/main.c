/* SPDX-License-Identifier: MIT */
/* microagent-qemu-supervisor. Another backend's executable differs in this one word. */
#include "supervisor/supervisor.h"

int main(int argc, char **argv)
{
	return supervisor_main(&backend_qemu, argc, argv);
}
