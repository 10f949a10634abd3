/* SPDX-License-Identifier: MIT */
/* The addresses from which a restore image may be fetched. These functions are pure. */
#ifndef SESSION_IPSW_URL_H
#define SESSION_IPSW_URL_H

#include <stdbool.h>

#include "base/error.h"

#define IPSW_NAME_MAX 128

/* Returns whether `word` is an address from which a restore image is fetched, and not the path of a
 * file. */
bool ipsw_is_url(const char *word);
/* Checks an address, and sets name to its last part. ERR_INVALID: the address does not have the
 * form https://HOST.cdn-apple.com/PATH/NAME.ipsw. */
int ipsw_url_check(const char *url, char name[IPSW_NAME_MAX + 1], struct error *err);

#endif
