/* SPDX-License-Identifier: MIT */
/*
 * Gives a directory to a running machine. The machine was made with a share device without a
 * directory (config.hotplug). The property `share` of this device may be set while the machine runs
 * (developer.apple.com/documentation/virtualization/vzvirtiofilesystemdevice/share). The value nil
 * removes the directory. The device's tag is a part of its configuration, and cannot change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "applevf/applevf.h"
#include "applevf/files.h"
#include "base/cleanup.h"
#include "store/share/pass.h"

/* Finds the directory that a command has asked to share. The request itself has no path: the
 * command has passed the directory in a separate step, which proves its right to open the
 * directory. Returns the directory's path, which the caller frees, or NULL with err set. */
static char *find_given(const struct vm *vm, bool read_only, struct error *err)
{
	autofree char *state_dir =
		strndup(vm->label, (size_t)(strrchr(vm->label, '/') - vm->label));
	json_auto_t *programs = json_array();
	const struct share_wish wish = {
		.state_dir = state_dir, .read_only = read_only, .programs = programs};

	if (!state_dir || !programs) {
		error_errno(err, ENOMEM, "share");
		return NULL;
	}
	struct share_terms terms = {0};
	autoclose int fd = share_pass_redeem(vm->label, 0, &wish, &terms, err);
	if (fd < 0)
		return NULL;
	if (terms.locks) {
		error_set(err, ERR_UNSUPPORTED, "share.locks: " APPLEVF_NO_LOCKS);
		return NULL;
	}
	if (terms.cache == SHARE_CACHE_AUTO && !terms.timeout_seconds)
		return file_name(fd, err);
	error_set(err, ERR_UNSUPPORTED, "share.cache: " APPLEVF_NO_CACHING);
	return NULL;
}

static int may_take_share(const struct vm *vm, const struct vm_share *share, struct error *err)
{
	if (!vm->pluggable || vm->severing || vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory, because it was made without a spare device for one, or is ending or cut off: make another machine with this directory");
	if (vm->plugged || vm->sharing.fn)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory, because it already has one: make another machine for this directory");
	if (strcmp(share->tag, PLAN_SPARE_TAG) != 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"share.tag: the device that waits for a directory has the tag \"" PLAN_SPARE_TAG
			"\" from the start, and gets no other");
	return 0;
}

int applevf_share_attach(struct vm *vm, const struct vm_share *shares, size_t count,
			 vm_share_fn *fn, void *data, struct error *err)
{
	autofree char *path = NULL;

	if (count != 1)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the machine can be given one directory while it runs, and %zu are given: give one that holds them all",
			count);
	if (may_take_share(vm, shares, err) < 0)
		return -1;
	path = find_given(vm, shares->read_only, err);
	if (!path)
		return -1;
	vm->sharing.fn = fn;
	vm->sharing.data = data;
	vz_share(vm->vz, path, shares->read_only);
	return 0;
}

int applevf_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err)
{
	if (!vm->plugged || vm->sharing.fn || vm->ending)
		return error_set(
			err, ERR_CONFLICT,
			"no directory can be taken away from the machine, because it has none that was given while it ran");
	vm->sharing.fn = fn;
	vm->sharing.data = data;
	vz_share(vm->vz, NULL, false);
	return 0;
}

void applevf_shared(struct vm *vm, const struct letter *letter)
{
	vm_share_fn *fn = steal_ptr(&vm->sharing.fn);

	if (letter->why.code == ERR_NONE)
		vm->plugged = letter->kind == LETTER_SHARED;
	if (fn)
		fn(vm->sharing.data, letter->why.code == ERR_NONE ? NULL : &letter->why);
}
