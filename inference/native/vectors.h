/* Vectors of WIDTH float32, and products of matrices. */

#ifndef VECTORS_H
#define VECTORS_H

#include <stddef.h>
#include <stdint.h>
#ifdef __AVX512VBMI2__
#include <immintrin.h>
#endif

enum {
    MOST_VECTORS = 12,
    MOST_INNER = 128,
    TILE = 32, /* rows between which a panel stays in the first cache */
};

typedef float Vector __attribute__((vector_size(WIDTH * 4), aligned(4)));
typedef int32_t Integers __attribute__((vector_size(WIDTH * 4), aligned(4)));
typedef int32_t Bits __attribute__((may_alias)); /* of a float32 */
typedef uint8_t Bytes __attribute__((vector_size(WIDTH), aligned(1)));

static inline Vector load(const float *from) { return *(const Vector *)from; }

static inline void store(float *to, Vector values) { *(Vector *)to = values; }

static inline Vector smaller(Vector one, Vector other) {
    Vector values;
    for (int lane = 0; lane < WIDTH; lane++) values[lane] = one[lane] < other[lane] ? one[lane] : other[lane];
    return values;
}

static inline Vector larger(Vector one, Vector other) {
    Vector values;
    for (int lane = 0; lane < WIDTH; lane++) values[lane] = one[lane] > other[lane] ? one[lane] : other[lane];
    return values;
}

static inline float total(Vector values) {
    float sum = 0;
    for (int lane = 0; lane < WIDTH; lane++) sum += values[lane];
    return sum;
}

/* The exponential function to 2e-7 of its value, by a polynomial of Cephes' expf; within limits, so that a product of
   three is a number, and one less than 1e-12 is nothing beside 1. */
static inline Vector exponential(Vector x) {
    const Vector most = (Vector){0} + 29.0f, shift = (Vector){0} + 12582912.0f; /* 1.5 * 2^23: rounds what is added */
    x = larger(smaller(x, most), -most);
    Vector shifted = x * 1.44269504088896341f + shift, whole = shifted - shift;
    Vector rest = x - whole * 0.693359375f - whole * -2.12194440e-4f;
    Vector value = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    value = value * rest + 8.3334519073e-3f;
    value = value * rest + 4.1665795894e-2f;
    value = value * rest + 1.6666665459e-1f;
    value = value * rest + 5.0000001201e-1f;
    value = value * (rest * rest) + rest + 1.0f;
    Integers exponent = ((Integers)shifted - (Integers)shift + 127) << 23;
    return value * (Vector)exponent;
}

/* Note the places of a row's numbers that are not zero, and return how many there are. The width is a multiple of 16,
   so that sixteen places, of which each step writes all, end within it. */
static inline int find(const float *row, int width, uint8_t *places) {
    int count = 0;
#ifdef __AVX512VBMI2__
    typedef uint8_t Places __attribute__((vector_size(16)));
    const Places first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int place = 0; place < width; place += 16) {
        __mmask16 found = _mm512_cmp_ps_mask(_mm512_loadu_ps(row + place), _mm512_setzero_ps(), _CMP_NEQ_UQ);
        _mm_storeu_si128((void *)(places + count), _mm_maskz_compress_epi8(found, (__m128i)(first + (uint8_t)place)));
        count += __builtin_popcount(found);
    }
#else
    const Bits *bits = (const Bits *)row;
    for (int place = 0; place < width; place++) {
        places[count] = (uint8_t)place;
        count += bits[place] != 0;
    }
#endif
    return count;
}

/* Add to `bias` the rows of a panel, each times the number that a row of the left matrix has at one of its places. */
static inline __attribute__((always_inline)) void add_rows(
    const float *row, const uint8_t *places, int count, const float *panel, int vectors, const float *bias, float *to
) {
    Vector sums[MOST_VECTORS];
    for (int each = 0; each < vectors; each++) sums[each] = load(bias + each * WIDTH);
    for (int number = 0; number < count; number++) {
        const float *weights = panel + (size_t)places[number] * (vectors * WIDTH);
        for (int each = 0; each < vectors; each++) sums[each] += row[places[number]] * load(weights + each * WIDTH);
    }
    for (int each = 0; each < vectors; each++) store(to + each * WIDTH, sums[each]);
}

/* result[rows][width] = left[rows][inner] * right + bias[width]. Half of `left` is zero, and passed over. `right` lies
   in panels of `vectors` vectors, so that sums stay in registers, and a panel in the first cache. */
static inline __attribute__((always_inline)) void multiply(
    const float *left, int rows, int inner, const float *right, int width, int vectors, const float *bias, float *result
) {
    uint8_t places[TILE][MOST_INNER];
    int counts[TILE];
    for (; rows > 0; rows -= TILE, left += TILE * inner, result += TILE * width) {
        int height = rows < TILE ? rows : TILE;
        for (int row = 0; row < height; row++) counts[row] = find(left + row * inner, inner, places[row]);
        for (int column = 0; column < width; column += vectors * WIDTH)
            for (int row = 0; row < height; row++)
                add_rows(
                    left + row * inner, places[row], counts[row], right + inner * column, vectors, bias + column,
                    result + row * width + column
                );
    }
}

#endif
