/* SPDX-License-Identifier: MIT */
/*
 * The functions of computecore.dll. The library is loaded when it is first needed: a Windows
 * without Hyper-V does not have it, and the command `host` must then report that. The types of the
 * functions are those of <computecore.h>.
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

/* Returns the functions. They are loaded once, and stay loaded until the process ends. Returns NULL
 * with ERR_UNAVAILABLE if the library is missing or lacks a function. */
const struct hcs_api *hcs_api(struct error *err);
/* Returns the path from which the library was loaded, which the caller frees; NULL with an
 * error. */
char *hcs_api_path(struct error *err);

#endif
