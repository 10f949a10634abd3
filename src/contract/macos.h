/* SPDX-License-Identifier: MIT */
/* The names of the files of a macOS guest, in the directory of a base or a session. */
#ifndef CONTRACT_MACOS_H
#define CONTRACT_MACOS_H

#define MACOS_DISK "disk.img"
#define MACOS_AUXILIARY "auxiliary.bin"
#define MACOS_MODEL "hardwareModel.bin"
#define MACOS_IDENTIFIER "machineIdentifier.bin"

/* The option with which a supervisor makes the files of a macOS guest. stdin is a line of JSON, in
 * which the job is one of the MACOS_JOB_ words below. The answers are lines of JSON on stdout. */
#define MACOS_OPTION "--macos"
#define MACOS_JOB_INSTALL "install"
#define MACOS_JOB_IDENTIFY "identify"
#define MACOS_JOB_LATEST "latest"

/* The largest size in bytes of the address of a restore image on Apple's servers, with the NUL. */
#define MACOS_URL_SIZE 1024

#endif
