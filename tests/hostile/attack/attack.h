/* SPDX-License-Identifier: MIT */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_PORT 1024
#define AGENT_PORT 2222
#define CLOSED_PORT 77

/* The last line of an attack. */
void said(const char *what, unsigned long n);
_Noreturn void give_up(const char *what);

/* Noise that a failed run can be repeated with. */
void noise_seed(const char *text);
uint64_t noise(void);
void noise_fill(unsigned char *to, size_t len);

void control(const char *kind, unsigned long count);
void agent(const char *kind, unsigned long count);
void dial_all(const char *seed, unsigned long count);
void storm(unsigned long count);
void say(bool datagrams, const char *from, const char *to, const char *port, const char *hex);
void frames(const char *seed, unsigned long count);
void tree(const char *place, unsigned long count);
void ports(const char *seed, unsigned long count);
_Noreturn void deaf(void);
void power(const char *how);

#endif
