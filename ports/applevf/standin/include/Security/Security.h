/* SPDX-License-Identifier: MIT */
#pragma once

#include <Security/SecTask.h>
