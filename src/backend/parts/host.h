/* SPDX-License-Identifier: MIT */
/* Finds out what this host offers to the machines of any VMM: cells, networks and shared
 * directories. */
#ifndef BACKEND_PARTS_HOST_H
#define BACKEND_PARTS_HOST_H

#include "backend/backend.h"
#include "backend/parts/kvm_probe.h"

/* Functions that check that this host has the cells, shares or networks that the config asks for.
 * An error names the field of the config. */
int host_check_cell(const struct config *config, struct error *err);
int host_check_shares(const struct config *config, struct error *err);
int host_check_network(const struct config *config, struct error *err);

/* Sets *facts for a machine that boots the default kernel of the cache. Also sets the members of
 * *host that are about KVM. */
int host_find_kvm(struct backend_host *host, struct kvm_facts *facts, struct error *err);
/* Functions that set the members of *host that are about confinement and about networks. */
void host_find_confinement(struct backend_host *host);
void host_find_networks(struct backend_host *host);

#endif
