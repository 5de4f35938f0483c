// Included before any other header of Highway: the instruction sets that kernels are compiled for are plain
// x86-64, AVX2 and AVX-512; the ones between gain little and would double the time to compile.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#include <hwy/targets.h>
