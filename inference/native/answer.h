/* The graph of `training/dehusk/export.py` over one page, in vectors of WIDTH numbers; the source sets WIDTH and CODE.

   It gives the answers of ONNX Runtime, as exactly as float32 adds up in another order, in less than half of its time:
   what stands between the products is no graph of 366 nodes, zeros are passed over, and the trees are asked about WIDTH
   blocks at once. */

#include <math.h>
#include <string.h>

#include "network.h"
#include "vectors.h"

enum {
    HEADING_WORDS = 8,
    AHEAD = 8, /* tokens by which weights are fetched from memory before they are added */
    DENSE_VECTORS = DENSE / WIDTH,
    GATE_VECTORS = 8,
    PANEL = 2 * WIDTH, /* hidden states whose gates are computed at once */
    SHORT = 47, /* largest first feature of a short block */
    SURE_LOW = 0,
    SURE_HIGH = 250,
    LIKELY = 127,
};
#define SCORE_LIMIT 8.0f

static const int SEEN[] = {0, 1, 4, 5, 15, 16, 122, 123, 124}, NEIGHBOURS[] = {-2, -1, 1, 2};
static const int AROUND[] = {-6, -4, -3, -2, -1, 1, 2, 3, 4, 6};
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

/* Memory from which arrays are taken one after the other. */
typedef struct {
    char *next;
} Space;

static void *take(Space *space, size_t bytes) {
    void *taken = space->next;
    space->next += (bytes + 63) / 64 * 64;
    return taken;
}

static int within(int number, int most) { return number < 0 ? 0 : number > most ? most : number; }

static float clipped(float value, float most) { return value < -most ? -most : value > most ? most : value; }

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static void softmax(float *values, int count) {
    float largest = values[0], sum = 0;
    for (int each = 1; each < count; each++) largest = fmaxf(largest, values[each]);
    for (int each = 0; each < count; each++) sum += values[each] = expf(values[each] - largest);
    for (int each = 0; each < count; each++) values[each] /= sum;
}

/* What the tokens of elements add up to around each element, [elements + 1], the first one being none. */
typedef struct {
    int32_t *parent;
    float *totals; /* of two regressions, twice their numbers, and of the levels of both: six numbers */
} Around;

static const float *of_token(const Weights *weights, uint32_t token) {
    return weights->elements + ELEMENT_ROW * (token & (ELEMENT_BUCKETS - 1));
}

static const float *of_word(const Weights *weights, uint32_t word) {
    return weights->words + 2 * (word & (WORD_BUCKETS - 1));
}

static Around sum_elements(const Weights *weights, const Page *page, Space *space) {
    int count = page->elements + 1;
    Around around = {take(space, count * sizeof(int32_t)), take(space, count * 6 * sizeof(float))};
    float(*own)[ELEMENT_ROW] = take(space, count * sizeof *own);
    float(*two)[ELEMENT_ROW / 2] = take(space, count * sizeof *two);
    const uint32_t *token = page->tokens, *last = token + page->token_count;
    memset(own, 0, count * sizeof *own);
    around.parent[0] = 0;
    for (int each = 1; each < count; each++) {
        around.parent[each] = within(page->parent[each - 1], page->elements);
        for (const uint32_t *end = token + page->token_lengths[each - 1]; token < end; token++) {
            const float *row = of_token(weights, *token);
            if (last - token > AHEAD) __builtin_prefetch(of_token(weights, token[AHEAD]));
            for (int place = 0; place < ELEMENT_ROW; place++) own[each][place] += row[place];
        }
    }
    for (int each = 0; each < count; each++) {
        const float *odd = own[around.parent[each]] + ELEMENT_ROW / 2;
        for (int place = 0; place < ELEMENT_ROW / 2; place++) two[each][place] = own[each][place] + odd[place];
    }
    for (int each = 0; each < count; each++) {
        const float *above = two[around.parent[around.parent[each]]];
        float *total = around.totals + 6 * each;
        for (int place = 0; place < 4; place++) total[place] = two[each][place] + above[place];
        for (int place = 4; place < 6; place++) total[place] = two[each][place] + above[place + 2];
    }
    return around;
}

static int fourth_above(const Around *around, int element) {
    for (int level = 0; level < 4; level++) element = around->parent[element];
    return element;
}

static void score_tokens(const Weights *weights, const Page *page, Space space, float *inputs) {
    Around around = sum_elements(weights, page, &space);
    int32_t *start = take(&space, page->blocks * sizeof *start), place = 0;
    const uint32_t *last = page->words + page->word_count;
    for (int block = 0; block < page->blocks; place += page->word_lengths[block++]) start[block] = place;
    for (int block = 0; block < page->blocks; block++) {
        int length = page->word_lengths[block], heading = within(page->heading[block], page->blocks), read = 0;
        double words = 0;
        const uint32_t *word = page->words + start[block];
        for (const uint32_t *end = word + length; word < end; word++) {
            words += *of_word(weights, *word);
            if (last - word > AHEAD) __builtin_prefetch(of_word(weights, word[AHEAD]));
        }
        if (heading) {
            read = within(page->word_lengths[heading - 1], HEADING_WORDS);
            word = page->words + start[heading - 1];
            for (int each = 0; each < read; each++) words += of_word(weights, word[each])[1];
        }
        int element = within(page->element[block], page->elements), fourth = fourth_above(&around, element);
        const float *near = around.totals + 6 * element, *above = around.totals + 6 * fourth;
        const float *far = around.totals + 6 * fourth_above(&around, fourth);
        float totals[SCORES] = {
            (float)words, near[0] + above[0] + far[0] + near[4], near[1] + above[1] + far[1] + near[5]
        };
        float counts[SCORES] = {
            (float)(length + read), 2 * near[2] + above[2] + far[2], 2 * near[3] + above[3] + far[3]
        };
        for (int score = 0; score < SCORES; score++) {
            float value = totals[score] / sqrtf(fmaxf(counts[score], 1)) + weights->score_biases[score];
            inputs[(size_t)block * INPUTS + FIRST_SCORE + score] = clipped(value, SCORE_LIMIT);
        }
    }
}

/* What the dense layer makes of the inputs of the page. */
static void weigh_page(const Weights *weights, const Page *page, float *of_page) {
    memcpy(of_page, weights->dense_bias, DENSE * sizeof *of_page);
    for (int input = 0; input < OF_PAGE; input++) {
        int byte = input < PAGE_COLUMNS ? page->page[input] : page->address[input - PAGE_COLUMNS];
        float value = clipped(byte * weights->page_factors[input] + weights->page_offsets[input], INPUT_LIMIT);
        const float *row = weights->page_dense + input * DENSE;
        for (int place = 0; place < DENSE; place++) of_page[place] += value * row[place];
    }
}

static void weigh_pooled(const float *pooled, const float *weights, const float *bias, int outputs, float *logits) {
    memcpy(logits, bias, outputs * sizeof *logits);
    for (int place = 0; place < 4 * HIDDEN; place++, weights += outputs)
        for (int output = 0; output < outputs; output++) logits[output] += pooled[place] * weights[output];
}

static int first_feature(const Page *page, int block) { return page->features[(size_t)block * BLOCK_COLUMNS]; }

static int alike_of(const Page *page, int block) { return within(page->alike[block], page->blocks - 1); }

static int share_step(const Page *page, int block, int next) {
    int are_short = first_feature(page, block) <= SHORT && first_feature(page, next) <= SHORT;
    return are_short && alike_of(page, block) == alike_of(page, next);
}

/* Join consecutive short blocks that are alike in one step of the LSTM, which reads their mean; return the number. */
static int join_steps(const Page *page, const float *dense, float *means, int32_t *step) {
    int steps = 0;
    for (int block = 0, after; block < page->blocks; block = after, steps++) {
        float *mean = means + (size_t)steps * DENSE;
        memcpy(mean, dense + (size_t)block * DENSE, DENSE * sizeof *mean);
        step[block] = steps;
        for (after = block + 1; after < page->blocks && share_step(page, block, after); after++) {
            for (int place = 0; place < DENSE; place++) mean[place] += dense[(size_t)after * DENSE + place];
            step[after] = steps;
        }
        if (after - block > 1)
            for (int place = 0; place < DENSE; place++) mean[place] /= (float)(after - block);
    }
    return steps;
}

/* Sums over the bytes of the first answers, of blocks that are alike and of the page. */
typedef struct {
    double expected, likely, words;
    int blocks, largest, above;
} Group;

typedef struct {
    uint8_t *answers, *comments; /* bytes of the probabilities of each block */
    Group *groups;               /* at the first of the blocks that are alike */
    double *expected;            /* up to each block, itself included */
    int32_t *above;
    Group page;
} Sums;

static Sums sum_up(const Weights *weights, const Page *page, Space *space, const float *logits, const float *comments) {
    int count = page->blocks;
    Sums sums = {
        take(space, count),
        take(space, count),
        take(space, count * sizeof(Group)),
        take(space, count * sizeof(double)),
        take(space, count * sizeof(int32_t)),
        {0, 0, 0, 0, 0, 0},
    };
    memset(sums.groups, 0, count * sizeof(Group));
    for (int block = 0; block < count; block++) {
        int answer = (int)nearbyintf(sigmoid(logits[block * OUTPUTS]) * 255);
        double words = weights->word_weights[first_feature(page, block)];
        Group *both[] = {&sums.groups[alike_of(page, block)], &sums.page};
        for (int each = 0; each < 2; each++) {
            both[each]->expected += answer * words;
            both[each]->likely += answer;
            both[each]->words += words;
            both[each]->blocks++;
            both[each]->above += answer > LIKELY;
            if (answer > both[each]->largest) both[each]->largest = answer;
        }
        sums.answers[block] = (uint8_t)answer;
        sums.comments[block] = (uint8_t)nearbyintf(comments[block] * 255);
        sums.expected[block] = sums.page.expected;
        sums.above[block] = sums.page.above;
    }
    return sums;
}

static float ratio(double numerator, double denominator) { return nearbyintf((float)numerator / (float)denominator); }

/* Write the columns of a block, between those of the WIDTH - 1 other ones of a vector. */
static void fill_columns(const Page *page, const float *inputs, const Sums *sums, int block, float *column) {
#define ADD(value) (*column = (float)(value), column += WIDTH)
    const Group *alike = &sums->groups[alike_of(page, block)], *all = &sums->page;
    const float *row = inputs + (size_t)block * INPUTS;
    double expected = fmax(all->expected, 1);
    for (int each = 0; each < PAGE_COLUMNS; each++) ADD(page->page[each]);
    for (int each = 0; each < ADDRESS_COLUMNS; each++) ADD(page->address[each]);
    for (int each = 0; each < FIRST_SCORE + SCORES; each++) ADD(row[each]);
    for (int each = 0; each < LENGTH(NEIGHBOURS); each++) {
        int is_inside = block + NEIGHBOURS[each] >= 0 && block + NEIGHBOURS[each] < page->blocks;
        for (int seen = 0; seen < LENGTH(SEEN); seen++)
            ADD(is_inside ? row[NEIGHBOURS[each] * INPUTS + SEEN[seen]] : -1);
    }
    ADD(sums->answers[block]);
    for (int each = 0; each < LENGTH(AROUND); each++) {
        int place = block + AROUND[each];
        ADD(place >= 0 && place < page->blocks ? sums->answers[place] : -1);
    }
    ADD(ratio(alike->expected, alike->words));
    ADD(ratio(alike->likely, alike->blocks));
    ADD(alike->largest);
    ADD(alike->words);
    ADD(ratio(255 * alike->expected, expected));
    ADD(ratio(all->expected, all->words));
    ADD(floor(all->expected / 255));
    ADD(all->largest);
    ADD(ratio(all->likely, all->blocks));
    ADD(ratio(255 * sums->expected[block], expected));
    ADD(sums->above[block]);
    ADD(all->above - sums->above[block]);
    ADD(sums->comments[block]);
#undef ADD
}

/* One direction of the LSTM. `projected` holds its inputs' share of the gates, in the order of `recurrent`: for each
   PANEL of the hidden states, the gates i, o, f and c of these. Every other step reads the weights from behind, so that
   it finds half of them in the first cache. */
static void recur(const float *projected, int steps, const float *recurrent, int is_backward, float *states) {
    float hidden[2][HIDDEN] = {{0}}, cells[HIDDEN] = {0};
    for (int number = 0; number < steps; number++) {
        int step = is_backward ? steps - 1 - number : number;
        int is_odd = number & 1, onwards = is_odd ? -1 : 1;
        const float *before = hidden[is_odd], *inputs = projected + (size_t)step * GATES;
        float *after = hidden[!is_odd];
        for (int part = 0; part < HIDDEN; part += PANEL) {
            int first = is_odd ? HIDDEN - PANEL - part : part;
            Vector gates[8];
            for (int each = 0; each < 8; each++) gates[each] = load(inputs + first * 4 + each * WIDTH);
            const float *state = before + (is_odd ? HIDDEN - 1 : 0);
            const float *weights = recurrent + (first * HIDDEN + (state - before) * PANEL) * 4;
            for (int count = 0; count < HIDDEN; count++, state += onwards, weights += onwards * 4 * PANEL)
                for (int each = 0; each < 8; each++) gates[each] += *state * load(weights + each * WIDTH);
            for (int half = 0; half < 2; half++) {
                float *cell = cells + first + half * WIDTH;
                Vector input = 1.0f + exponential(-gates[half]), output = 1.0f + exponential(-gates[2 + half]);
                Vector forget = 1.0f + exponential(-gates[4 + half]), entering = exponential(-2.0f * gates[6 + half]);
                Vector both = input * (1.0f + entering);
                Vector value = (load(cell) * both + (1.0f - entering) * forget) / (both * forget);
                Vector leaving = exponential(-2.0f * value);
                store(cell, value);
                store(after + first + half * WIDTH, (1.0f - leaving) / (output * (1.0f + leaving)));
            }
        }
        memcpy(states + (size_t)step * 2 * HIDDEN + is_backward * HIDDEN, after, sizeof hidden[0]);
    }
}

/* The inputs of all blocks as the trees read them, [blocks][INPUTS]; the scores are there. */
static void read_inputs(const Page *page, float *inputs) {
    for (int block = 0; block < page->blocks; block++, inputs += INPUTS) {
        uint8_t bytes[INPUTS] = {0};
        memcpy(bytes, page->features + (size_t)block * BLOCK_COLUMNS, BLOCK_COLUMNS);
        memcpy(bytes + BLOCK_COLUMNS, page->links + (size_t)block * LINK_COLUMNS, LINK_COLUMNS);
        float scores[SCORES];
        memcpy(scores, inputs + FIRST_SCORE, sizeof scores);
        for (int place = 0; place < INPUTS; place += WIDTH)
            store(inputs + place, __builtin_convertvector(*(const Bytes *)(bytes + place), Vector));
        memcpy(inputs + FIRST_SCORE, scores, sizeof scores);
    }
}

/* The dense layer, [blocks][DENSE], of inputs that are standardised; `of_page` is added to all. */
static void weigh_inputs(
    const Weights *weights, const float *inputs, int blocks, const float *of_page, float *dense
) {
    const Vector most = (Vector){0} + INPUT_LIMIT;
    float standardised[TILE * INPUTS];
    for (; blocks > 0; blocks -= TILE, inputs += TILE * INPUTS, dense += TILE * DENSE) {
        int rows = blocks < TILE ? blocks : TILE;
        for (int place = 0; place < INPUTS; place += WIDTH) {
            Vector factor = load(weights->factors + place), offset = load(weights->offsets + place);
            Vector none = load(weights->none + place);
            for (int row = place; row < rows * INPUTS; row += INPUTS)
                store(standardised + row, larger(smaller(load(inputs + row) * factor + offset, most), -most) - none);
        }
        multiply(standardised, rows, INPUTS, weights->dense, DENSE, DENSE_VECTORS, of_page, dense);
        for (int place = 0; place < rows * DENSE; place += WIDTH)
            store(dense + place, larger(load(dense + place), (Vector){0}));
    }
}

/* The logits that `weights` give to a row of `width` numbers, added to others. */
static inline void weigh(const float *row, int width, const float *weights, const float *sums, float *logits) {
    for (int output = 0; output < OUTPUTS; output++, weights += width) {
        Vector sum = {0};
        for (int place = 0; place < width; place += WIDTH)
            sum += load(row + place) * load(weights + place);
        logits[output] = sums[output] + total(sum);
    }
}

/* The mean and the largest of the states of each step, [4 * HIDDEN]. */
static void pool(const float *states, int steps, float *pooled) {
    for (int place = 0; place < 2 * HIDDEN; place += WIDTH) {
        Vector sum = {0}, largest = load(states + place);
        for (int step = 0; step < steps; step++) {
            Vector value = load(states + (size_t)step * 2 * HIDDEN + place);
            sum += value;
            largest = larger(value, largest);
        }
        store(pooled + place, sum / (float)steps);
        store(pooled + 2 * HIDDEN + place, largest);
    }
}

/* The network: the logits of all blocks, [blocks][OUTPUTS], and of the kinds of page. */
static void first_pass(
    const Weights *weights, const Page *page, const float *inputs, Space space, float *logits, float *kinds
) {
    float of_page[DENSE];
    int blocks = page->blocks;
    float *dense = take(&space, blocks * DENSE * sizeof *dense);
    float *means = take(&space, blocks * DENSE * sizeof *means);
    int32_t *step = take(&space, blocks * sizeof *step);
    weigh_page(weights, page, of_page);
    weigh_inputs(weights, inputs, blocks, of_page, dense);
    int steps = join_steps(page, dense, means, step);
    float *projected = take(&space, steps * GATES * sizeof *projected);
    float *states = take(&space, steps * 2 * HIDDEN * sizeof *states), pooled[4 * HIDDEN];
    float *of_steps = take(&space, steps * OUTPUTS * sizeof *of_steps), sums[OUTPUTS];
    for (int is_backward = 0; is_backward < 2; is_backward++) {
        const float *inputs_to = weights->inputs + is_backward * DENSE * GATES;
        const float *biases = weights->gate_biases + is_backward * GATES;
        multiply(means, steps, DENSE, inputs_to, GATES, GATE_VECTORS, biases, projected);
        recur(projected, steps, weights->recurrent + is_backward * HIDDEN * GATES, is_backward, states);
    }
    pool(states, steps, pooled);
    weigh_pooled(pooled, weights->output_page, weights->output_bias, OUTPUTS, sums);
    weigh_pooled(pooled, weights->kinds, weights->kind_bias, KINDS, kinds);
    for (int each = 0; each < steps; each++)
        weigh(states + (size_t)each * 2 * HIDDEN, 2 * HIDDEN, weights->output_states, sums, of_steps + each * OUTPUTS);
    for (int block = 0; block < blocks; block++)
        weigh(
            dense + (size_t)block * DENSE, DENSE, weights->output_dense, of_steps + step[block] * OUTPUTS,
            logits + block * OUTPUTS
        );
}

/* The sum of all trees for WIDTH blocks, whose columns lie side by side. A node whose test fails rules out the leaves
   on its left; the first one that is left is the block's (QuickScorer: Lucchese et al., SIGIR 2015). */
static void ask(const Weights *weights, const float *columns, float *sums) {
    const Node *node = weights->nodes;
    Vector sum = {0};
    for (int tree = 0; tree < weights->trees; tree++) {
        Integers left = ~(Integers){0};
        for (const Node *end = node + weights->tree_nodes[tree]; node < end; node++) {
            Integers holds = load(columns + node->column * WIDTH) <= node->threshold;
            left &= holds | (int32_t)node->leaves;
        }
        for (int lane = 0; lane < WIDTH; lane++)
            sum[lane] += weights->leaves[tree * LEAVES + __builtin_ctz(left[lane])];
    }
    store(sums, sum);
}

/* Ask the trees about the blocks of which the network is not sure, and add their logits to the network's. */
static void second_pass(
    const Weights *weights, const Page *page, const float *inputs, Space space, float *logits, const float *comments
) {
    Sums sums = sum_up(weights, page, &space, logits, comments);
    int32_t *asked = take(&space, page->blocks * sizeof *asked);
    int count = 0;
    for (int block = 0; block < page->blocks; block++)
        if (sums.answers[block] > SURE_LOW && sums.answers[block] < SURE_HIGH) asked[count++] = block;
    float columns[COLUMNS * WIDTH] = {0}, of_trees[WIDTH];
    for (int first = 0; first < count; first += WIDTH) {
        int blocks = count - first < WIDTH ? count - first : WIDTH;
        for (int each = 0; each < blocks; each++)
            fill_columns(page, inputs, &sums, asked[first + each], columns + each);
        ask(weights, columns, of_trees);
        for (int each = 0; each < blocks; each++) {
            float *logit = logits + asked[first + each] * OUTPUTS;
            *logit = *logit * weights->network_share + of_trees[each] * weights->trees_share;
        }
    }
}

static void answer_page(const Weights *weights, const Page *page, char *memory, const Answer *answer) {
    Space space = {memory};
    size_t numbers = (size_t)page->blocks * INPUTS;
    float *inputs = take(&space, numbers * sizeof *inputs);
    float *logits = take(&space, page->blocks * OUTPUTS * sizeof *logits);
    score_tokens(weights, page, space, inputs);
    read_inputs(page, inputs);
    first_pass(weights, page, inputs, space, logits, answer->kinds);
    softmax(answer->kinds, KINDS);
    for (int block = 0; block < page->blocks; block++)
        answer->comments[block] = sigmoid(logits[block * OUTPUTS + 1]);
    second_pass(weights, page, inputs, space, logits, answer->comments);
    for (int block = 0; block < page->blocks; block++)
        answer->content[block] = sigmoid(logits[block * OUTPUTS] + weights->offset);
}

const Code CODE = {WIDTH, PANEL, DENSE_VECTORS * WIDTH, GATE_VECTORS * WIDTH, answer_page};
