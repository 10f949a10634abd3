/* SPDX-License-Identifier: MIT */
/* Starts threads with a small stack, since each connection may need several threads. */
#ifndef HYPERV_THREAD_H
#define HYPERV_THREAD_H

#include <winsock2.h>

#include <windows.h>

#define KEEPER_STACK ((SIZE_T)256 * 1024)

/* Starts a thread. Returns the thread's handle, which the caller closes, or NULL if Windows cannot
 * create the thread. */
static inline HANDLE keeper_thread(LPTHREAD_START_ROUTINE run, void *data)
{
	return CreateThread(NULL, KEEPER_STACK, run, data, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
}

#endif
