/* SPDX-License-Identifier: MIT */
/* The names of the files of a macOS guest, in the directory of a base and in that of a session. */
#ifndef CONTRACT_MACOS_H
#define CONTRACT_MACOS_H

#define MACOS_DISK "disk.img"
#define MACOS_AUXILIARY "auxiliary.bin"
#define MACOS_MODEL "hardwareModel.bin"
#define MACOS_IDENTIFIER "machineIdentifier.bin"

/* The option with which a supervisor makes the files of a macOS guest. The job is one of the words
 * below, in a line of JSON on stdin. The answers are lines of JSON on stdout. */
#define MACOS_OPTION "--macos"
#define MACOS_JOB_INSTALL "install"
#define MACOS_JOB_IDENTIFY "identify"
#define MACOS_JOB_LATEST "latest"

#define MACOS_URL_SIZE 1024 /* size of the address of a restore image at Apple, with the NUL */

#endif
