/* SPDX-License-Identifier: MIT */
/*
 * The user `agent` of a root file system, as a base has it: uid 1000, no member of any group of an
 * administrator's, who can write /workspace, /tmp and his home. Both are run as root by the host
 * while it makes a base.
 */
#ifndef GUEST_ACCOUNT_H
#define GUEST_ACCOUNT_H

#include "base/error.h"

/* words[0]: the root, "/" but for tests. Makes the user, his home, /workspace and /tmp where they
 * are missing. A file without his line gets one, in front of another name of the same number, so
 * that programs call him by his own. ERR_CONFLICT: the image has another user of his name. */
int account_make(char **words, struct error *err);

/* words[0]: as above. Takes what else he could write on the file system of the root from him, and
 * says the path of each on stdout. */
int account_confine(char **words, struct error *err);

#endif
