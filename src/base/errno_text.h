/* SPDX-License-Identifier: MIT */
/* The system's words for its error numbers. */
#ifndef BASE_ERRNO_TEXT_H
#define BASE_ERRNO_TEXT_H

/* NULL for a number that the system does not know. Safe from any thread. */
const char *errno_text(int errnum);

#endif
