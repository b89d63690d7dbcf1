/* Vectors of float32, products of matrices, and a direction of an LSTM. */

#ifndef VECTORS_H
#define VECTORS_H

#include <stdint.h>
#include <stddef.h>
#include <string.h>

enum {
    WIDTH = 8, /* numbers of a vector, as AVX2 has */
    PANEL = 2 * WIDTH,
    ROWS = 4, /* of a matrix that are multiplied at once */
};

typedef float Vector __attribute__((vector_size(WIDTH * 4), aligned(4)));
typedef int32_t Integers __attribute__((vector_size(WIDTH * 4), aligned(4)));
typedef uint8_t Bytes __attribute__((vector_size(WIDTH), aligned(1)));

static inline Vector load(const float *from) { return *(const Vector *)from; }

static inline void store(float *to, Vector values) { *(Vector *)to = values; }

static inline Vector pick(Integers where, Vector these, Vector others) {
    return (Vector)(((Integers)these & where) | ((Integers)others & ~where));
}

static inline float total(Vector values) {
    float sum = 0;
    for (int lane = 0; lane < WIDTH; lane++) sum += values[lane];
    return sum;
}

/* The exponential function to 2e-7 of its value, by a polynomial of Cephes' expf. */
static inline Vector exponential(Vector x) {
    const Vector zero = {0}, most = zero + 87.0f, shift = zero + 12582912.0f; /* 1.5 * 2^23: rounds what is added */
    x = pick(x > most, most, x);
    x = pick(x < -most, -most, x);
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

static inline Vector sigmoids(Vector x) { return 1.0f / (1.0f + exponential(-x)); }

static inline Vector hyperbolic_tangent(Vector x) { return 2.0f / (1.0f + exponential(-2.0f * x)) - 1.0f; }

/* result[rows][width] = left[rows][inner] * right + bias[width]; `right` lies in panels of PANEL columns, and all have
   room for a multiple of ROWS rows. */
static void multiply(
    const float *left, int rows, int inner, const float *right, int width, const float *bias, float *result
) {
    for (int column = 0; column < width; column += PANEL, right += inner * PANEL)
        for (int row = 0; row < rows; row += ROWS) {
            Vector low[ROWS], high[ROWS];
            for (int each = 0; each < ROWS; each++) {
                low[each] = load(bias + column);
                high[each] = load(bias + column + WIDTH);
            }
            const float *from = left + (size_t)row * inner;
            for (int place = 0; place < inner; place++) {
                Vector first = load(right + place * PANEL), second = load(right + place * PANEL + WIDTH);
                for (int each = 0; each < ROWS; each++) {
                    float factor = from[each * inner + place];
                    low[each] += factor * first;
                    high[each] += factor * second;
                }
            }
            float *to = result + (size_t)row * width + column;
            for (int each = 0; each < ROWS; each++, to += width) {
                store(to, low[each]);
                store(to + WIDTH, high[each]);
            }
        }
}

#endif
