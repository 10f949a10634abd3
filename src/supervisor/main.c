/* SPDX-License-Identifier: MIT */
/* The main program of microagent-<backend>-supervisor. There is one executable for each backend.
 * All executables are compiled from the same sources, with another value of the macro BACKEND. */
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
