/* SPDX-License-Identifier: MIT */
/* From where a restore image may be fetched. Pure. */
#ifndef SESSION_IPSW_URL_H
#define SESSION_IPSW_URL_H

#include <stdbool.h>

#include "base/error.h"

#define IPSW_NAME_MAX 128

/* Whether word names something to be fetched, and no file. */
bool ipsw_is_url(const char *word);
/* ERR_INVALID for all but https://HOST.cdn-apple.com/PATH/NAME.ipsw. name becomes its last part. */
int ipsw_url_check(const char *url, char name[IPSW_NAME_MAX + 1], struct error *err);

#endif
