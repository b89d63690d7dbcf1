/* The default model in native code: its sizes, its weights, and the codes for vectors of different widths. */

#ifndef NETWORK_H
#define NETWORK_H

#include <stddef.h>
#include <stdint.h>

enum {
    BLOCK_COLUMNS = 105,
    LINK_COLUMNS = 17,
    FIRST_SCORE = BLOCK_COLUMNS + LINK_COLUMNS,
    SCORES = 3,
    INPUTS = 128, /* columns and scores, padded to whole vectors */
    PAGE_COLUMNS = 29,
    ADDRESS_COLUMNS = 17,
    OF_PAGE = PAGE_COLUMNS + ADDRESS_COLUMNS,
    WORD_BUCKETS = 1 << 18,
    ELEMENT_BUCKETS = 1 << 16,
    ELEMENT_ROW = 16,
    DENSE = 96,
    HIDDEN = 64,
    GATES = 4 * HIDDEN,
    OUTPUTS = 2,
    KINDS = 7,
    LEAVES = 32,
    COLUMNS = 231,
};
#define INPUT_LIMIT 5.0f /* of what is standardised */

typedef struct {
    int32_t column;
    float threshold;
    uint32_t leaves; /* those that are left where a number is not up to the threshold */
} Node;

typedef struct {
    const float *words, *elements, *score_biases;
    const float *page_factors, *page_offsets, *page_dense, *factors, *offsets, *none, *dense, *dense_bias;
    const float *inputs, *gate_biases, *recurrent;
    const float *output_states, *output_dense, *output_page, *output_bias, *kinds, *kind_bias;
    const double *word_weights;
    const Node *nodes;
    const int32_t *tree_nodes;
    const float *leaves;
    int trees;
    float network_share, trees_share, offset;
} Weights;

typedef struct {
    int blocks, elements, word_count, token_count;
    const uint32_t *words, *tokens;
    const uint8_t *word_lengths, *token_lengths, *features, *links, *page, *address;
    const int32_t *heading, *element, *alike, *parent;
} Page;

typedef struct {
    float *content, *comments, *kinds;
} Answer;

/* Bytes that suffice for all arrays of a page. */
static inline size_t space_of(int blocks, int elements) {
    size_t of_block = sizeof(float) * (INPUTS + 2 * DENSE + GATES + 2 * HIDDEN + 2 * OUTPUTS) + 64;
    size_t of_element = sizeof(float) * (ELEMENT_ROW + ELEMENT_ROW / 2 + 6) + sizeof(int32_t);
    return blocks * of_block + (size_t)(elements + 1) * of_element + 4096;
}

/* The model's code for vectors of so many float32. */
typedef struct {
    int width;
    int state_panel, dense_panel, gate_panel; /* columns of the panels in which it reads weights */
    void (*answer)(const Weights *weights, const Page *page, char *memory, const Answer *answer);
} Code;

extern const Code code_of_8, code_of_16;

/* Return the code for a width, or NULL if this processor has no such vectors, or gains nothing by them: those without
   AVX-512's second VBMI lower their clock, and AMD's family 19h (Zen 4) takes them in two halves. */
static inline const Code *find_code(int width) {
#ifdef __x86_64__
    int has_512 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
    if (width == 16) return has_512 && !__builtin_cpu_is("amdfam19h") ? &code_of_16 : NULL;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
#endif
    return width == 8 ? &code_of_8 : NULL;
}

#endif
