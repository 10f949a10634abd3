/* SPDX-License-Identifier: MIT */
#pragma once

#define MAC_MODEL_PREFIX @"standin-model "
#define MAC_MACHINE_PREFIX @"standin-machine "
