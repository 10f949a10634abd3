/* SPDX-License-Identifier: MIT */
/* Checks addresses from which a restore image may be downloaded. The functions use no file and no
 * network. */
#ifndef SESSION_IPSW_URL_H
#define SESSION_IPSW_URL_H

#include <stdbool.h>

#include "base/error.h"

#define IPSW_NAME_MAX 128

/* Returns true if `word` is an address of a restore image, false if it is the path of a file. */
bool ipsw_is_url(const char *word);
/* Checks an address, and writes the last component of its path to name. ERR_INVALID: the address
 * does not have the form https://HOST.cdn-apple.com/PATH/NAME.ipsw. */
int ipsw_url_check(const char *url, char name[IPSW_NAME_MAX + 1], struct error *err);

#endif
