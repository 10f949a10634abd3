/* SPDX-License-Identifier: MIT */
/*
 * The functions of computecore.dll. The library is loaded when it is first needed. A Windows
 * without Hyper-V does not have the library, and this program must still run, so that the command
 * `host` can report this. <computecore.h> declares the types of the functions.
 */
#ifndef HYPERV_HCS_API_H
#define HYPERV_HCS_API_H

#include <winsock2.h>

#include <windows.h>

#include <computecore.h>

#include "base/error.h"

#define HCS_FUNCTIONS(X)                 \
	X(HcsCreateOperation)            \
	X(HcsCloseOperation)             \
	X(HcsWaitForOperationResult)     \
	X(HcsCreateComputeSystem)        \
	X(HcsOpenComputeSystem)          \
	X(HcsCloseComputeSystem)         \
	X(HcsEnumerateComputeSystems)    \
	X(HcsStartComputeSystem)         \
	X(HcsShutDownComputeSystem)      \
	X(HcsTerminateComputeSystem)     \
	X(HcsGetComputeSystemProperties) \
	X(HcsSetComputeSystemCallback)   \
	X(HcsGrantVmAccess)

struct hcs_api {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member */
#define HCS_POINTER(name) __typeof__(&(name)) name;
	HCS_FUNCTIONS(HCS_POINTER)
#undef HCS_POINTER
};

/* Returns the functions of the library. The library is loaded once, and stays loaded until the
 * process exits. Returns NULL with ERR_UNAVAILABLE if the library is missing or lacks a
 * function. */
const struct hcs_api *hcs_api(struct error *err);
/* Returns the path from which the library was loaded, or NULL with err set. The caller frees the
 * path. */
char *hcs_api_path(struct error *err);

#endif
