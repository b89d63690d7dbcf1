/* The default model in vectors of eight numbers, as AVX2 has, or in what other processors have for them. */

#pragma GCC optimize("O3") /* short loops are unrolled, so that sums stay in registers */
#ifdef __x86_64__
#pragma GCC target("avx2,fma")
#endif
#define WIDTH 8
#define CODE code_of_8
#include "answer.h"
