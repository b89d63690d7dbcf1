/* The default model in vectors of sixteen numbers, as AVX-512 has. */

#ifdef __x86_64__
#pragma GCC optimize("O3") /* short loops are unrolled, so that sums stay in registers */
#pragma GCC target("avx512vl,avx512vbmi2")
#define WIDTH 16
#define CODE code_of_16
#include "answer.h"
#endif
