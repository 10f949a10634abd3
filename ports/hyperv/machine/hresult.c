/* SPDX-License-Identifier: MIT */
/*
 * Explains error codes. The codes of HCS are from "HCS Error Code" (learn.microsoft.com,
 * virtualization/api/hcs/reference/hcshresult). The other codes are Windows' own (winerror.h).
 * Codes of the form 0xC037.... are older names of the codes 0x8037.... (winerror.h,
 * ERROR_VMCOMPUTE_*).
 */
#include "hyperv/machine/hresult.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/cleanup.h"

static const struct hresult_row {
	uint32_t code;
	enum error_code means;
	const char *sentence;
} hresult_rows[] = {
	{0x80370100, ERR_IO, "the machine ended while it was being started"},
	{0x80370102, ERR_UNAVAILABLE, "Hyper-V is not installed, or its hypervisor does not run"},
	{0x80370105, ERR_CONFLICT, "the machine is in no state for it"},
	{0x80370106, ERR_IO, "the machine ended unexpectedly"},
	{0x80370107, ERR_IO, "the machine was terminated"},
	{0x80370108, ERR_IO, "no connection to the machine could be had"},
	{0x80370109, ERR_TIMEOUT, "the machine did not answer in time"},
	{0x8037010a, ERR_IO, "the connection to the machine was closed"},
	{0x8037010b, ERR_INTERNAL, "a message that is not known"},
	{0x8037010c, ERR_UNSUPPORTED, "the machine speaks no version of the protocol"},
	{0x8037010d, ERR_INVALID, "the document of the machine is refused"},
	{HCS_SYSTEM_NOT_FOUND, ERR_NOT_FOUND, "there is no such machine"},
	{0x8037010f, ERR_CONFLICT, "there is a machine of that name already"},
	{HCS_SYSTEM_ALREADY_STOPPED, ERR_CONFLICT, "the machine does not run"},
	{0x80370111, ERR_IO, "the protocol with the machine was broken"},
	{0x80370114, ERR_UNAVAILABLE, "the Host Compute Service is not installed"},
	{0x80370115, ERR_INTERNAL, "the operation was not started"},
	{0x80370116, ERR_INTERNAL, "the operation runs already"},
	{HCS_OPERATION_PENDING, ERR_TIMEOUT, "the operation is not done yet"},
	{0x80370118, ERR_TIMEOUT, "the operation was not done in time"},
	{0x80370119, ERR_INTERNAL, "a callback is there already"},
	{0x8037011a, ERR_UNAVAILABLE, "no memory for the result"},
	{0x8037011b, ERR_DENIED, "only administrators and members of Hyper-V Administrators may"},
	{0x8037011c, ERR_IO, "the guest reported a critical error"},
	{0x8037011e, ERR_UNAVAILABLE, "the Host Compute Service has gone away"},
	{0x80004001, ERR_UNSUPPORTED, "this Windows does not do it"},
	{0x80070002, ERR_NOT_FOUND, "a file is missing"},
	{0x80070003, ERR_NOT_FOUND, "a directory is missing"},
	{0x80070005, ERR_DENIED, "access is denied"},
	{0x8007000e, ERR_UNAVAILABLE, "there is not enough memory"},
	{0x80070020, ERR_CONFLICT, "a file is in use"},
	{0x80070032, ERR_UNSUPPORTED, "this Windows does not do it"},
	{0x80070057, ERR_INVALID, "a parameter is refused"},
	{0x80070070, ERR_UNAVAILABLE, "the disk is full"},
	{0x800705aa, ERR_UNAVAILABLE, "the system has no resources for it"},
	{0x800705af, ERR_UNAVAILABLE, "the paging file is too small for it"},
};

/* The entry for all codes 0xC03A...., which are those of virtual disks ([MS-ERREF], 2.1.1). */
static const struct hresult_row disk_row = {0, ERR_INVALID, "a virtual hard disk is refused"};

static const struct hresult_row *find_hresult(uint32_t code)
{
	if (code >> 16 == 0xc03a)
		return &disk_row;
	/* Converts an NTSTATUS of HCS (0xC037....) to the HRESULT with the same meaning. */
	if (code >> 16 == 0xc037)
		code = (code & 0xffff) | 0x80370000;
	for (size_t i = 0; i < ARRAY_SIZE(hresult_rows); i++)
		if (hresult_rows[i].code == code)
			return &hresult_rows[i];
	return NULL;
}

int hresult_error(uint32_t code, const char *what, const char *detail, struct error *err)
{
	const struct hresult_row *row = find_hresult(code);

	return error_set(err, row ? row->means : ERR_IO, "%s: %s (0x%08" PRIx32 ")%s%.400s", what,
			 row ? row->sentence : "it failed", code, detail && *detail ? ": " : "",
			 detail ? detail : "");
}
