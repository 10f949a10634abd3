/* SPDX-License-Identifier: MIT */
/* microagent-<backend>-supervisor: one executable for each, which differ in this one word. */
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
