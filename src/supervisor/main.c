/* SPDX-License-Identifier: MIT */
/* microagent-<backend>-supervisor. There is one executable for each backend. The executables differ
 * only in the word BACKEND. */
#include "supervisor/supervisor.h"

#ifndef BACKEND
#define BACKEND qemu
#endif
#define STRUCT_OF(name) backend_##name
#define STRUCT(name) STRUCT_OF(name)

int main(int argc, char **argv)
{
	return supervisor_main(&STRUCT(BACKEND), argc, argv);
}
