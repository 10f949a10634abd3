/* SPDX-License-Identifier: MIT */
/*
 * The way to the service: one connection of this process to broker.py. A request is a line of JSON;
 * what comes back is a line of words and behind it a document of the length that the line says:
 *
 *	accepted NUMBER HRESULT LENGTH   the request is one that the service begins, or why not
 *	done OPERATION HRESULT LENGTH    how an operation ended
 *	event SYSTEM TYPE LENGTH         of a system that is open here
 */
#ifndef HYPERV_SERVICE_H
#define HYPERV_SERVICE_H

#include "handles.h"
#include "text.h"

/*
 * Sends {"n":...,"call":CALL,FIELDS} and waits until it is accepted. document, if not NULL, gets
 * the document that came with the answer, for LocalFree.
 */
HRESULT service_call(const char *call, const struct text *fields, WCHAR **document);

#endif
