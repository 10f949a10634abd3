/* SPDX-License-Identifier: MIT */
/*
 * computecore.dll, loaded when it is needed: a Windows without Hyper-V has none, and `host` is to
 * say so. The types of its functions are those of <computecore.h>.
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

/* Loaded once, for the life of the process. NULL with ERR_UNAVAILABLE: it is missing, or lacks a
 * function. */
const struct hcs_api *hcs_api(struct error *err);
/* Where it was loaded from, malloc'd. */
char *hcs_api_path(struct error *err);

#endif
