"""The kernels of the choice of a token: one call for all rows of a batch.

For each row: the highest allowed score; the logarithms of the weights of the tokens that top-k and min-p may leave, in
the order of the tokens; their exponentials; truncation; the draw. All rows use the same scratch arrays, so that these
stay in the processor's cache. ``sfgen.decoding.choice`` says what is chosen, ``sfgen.decoding.choice_device`` does the
same with torch.
"""

from __future__ import annotations

import math

import numpy as np

from sfgen.kernels import (
    Flag,
    Float,
    Float32Table,
    Float64s,
    Float64sOut,
    Float64Table,
    Int,
    Int32s,
    Int32sOut,
    Int64s,
    Int64sOut,
    UInt,
    UInt32s,
    UInt32Table,
    kernel,
    part,
)

TEMPERATURE, TOP_K, TOP_P, MIN_P, SHARE, TAKES_BEST, OPTIONS = range(7)
"""Columns of the options of a row, and their number. 0 is no top-k; ``TAKES_BEST``: nothing is drawn."""

NOTHING_LEFT, NOT_A_NUMBER, INFINITE, ALL_MINUS_INFINITE = -1, -2, -3, -4
"""In place of a token: the reasons why none was chosen."""

_FULL = np.uint32(0xFFFFFFFF)
BLOCK = 1024
"""Weights whose sum is checked before they are checked one by one."""

GROUPS = 1024
"""Groups of weights, from 1 to 2^-64, by their leading bits."""

_ONE = 0x3FF0  # the leading bits of 1
_HEAVY = 1e-12  # of what rounding may do to a weight that is compared with min-p


@part
def score_at(singles: Float32Table, doubles: Float64Table, is_double: Flag, row: Int, token: Int) -> Float:
    """Return a score of the one of two tables that has any."""
    return doubles[row, token] if is_double else np.float64(singles[row, token])


@part
def highest_allowed(
    singles: Float32Table, doubles: Float64Table, is_double: Flag, row: Int, masks: UInt32Table, number: Int
) -> Int:
    """Return the allowed token with the highest score, the first of equals; or the reason why there is none."""
    best, highest = ALL_MINUS_INFINITE, -np.inf
    for word in range(masks.shape[1]):
        bits = masks[number, word]
        if bits == 0:
            continue
        for offset in range(32):
            if bits >> np.uint32(offset) & np.uint32(1):
                token = word * 32 + offset
                score = score_at(singles, doubles, is_double, row, token)
                if score > highest:
                    best, highest = token, score
                elif np.isnan(score):
                    return NOT_A_NUMBER
    return INFINITE if highest == np.inf else best


@part
def has_any(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    row: Int,
    word: Int,
    border: Float,
    highest: Float,
    inverse: Float,
    least: Float,
) -> Flag:
    """Return whether a token of a word of masks, allowed or not, is as likely as that: a loop without branches."""
    found, first = False, 32 * word
    if is_double:
        double_scores = doubles[row, first : first + 32]
        for at in range(len(double_scores)):
            found |= (double_scores[at] >= border) & ((double_scores[at] - highest) * inverse >= least)
    else:
        single_scores = singles[row, first : first + 32]
        for at in range(len(single_scores)):
            found |= (single_scores[at] >= border) & ((single_scores[at] - highest) * inverse >= least)
    return found


@part
def sift(heap: Float64sOut, at: Int, size: Int) -> Int:
    """Let a number sink to its place in a heap, whose least number is the first."""
    number = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number
    return at


@part
def kth_highest(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    row: Int,
    masks: UInt32Table,
    number: Int,
    most: Int,
    heap: Float64sOut,
) -> Float:
    """Return the lowest of the ``most`` highest allowed scores, which are left in the heap; minus infinity: fewer."""
    size = 0
    for word in range(masks.shape[1]):
        bits = masks[number, word]
        if bits == 0:
            continue
        if size == most and not has_any(singles, doubles, is_double, row, word, heap[0], 0.0, 1.0, -np.inf):
            continue
        for offset in range(32):
            if bits >> np.uint32(offset) & np.uint32(1):
                score = score_at(singles, doubles, is_double, row, word * 32 + offset)
                if size < most:
                    heap[size] = score
                    size += 1
                    if size == most:
                        for at in range(most // 2 - 1, -1, -1):
                            sift(heap, at, most)
                elif score > heap[0]:
                    heap[0] = score
                    sift(heap, 0, most)
    return heap[0] if size == most else -np.inf


@part
def scale(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    row: Int,
    first: Int,
    highest: Float,
    inverse: Float,
    tokens: Int32sOut,
    logs: Float64sOut,
) -> Int:
    """List neighbouring tokens, from the first on, with the logarithms of their weights."""
    stop = first + len(logs)
    if is_double:
        double_scores = doubles[row, first:stop]
        for at in range(len(logs)):
            logs[at] = (double_scores[at] - highest) * inverse
    else:
        single_scores = singles[row, first:stop]
        for at in range(len(logs)):
            logs[at] = (single_scores[at] - highest) * inverse
    for at in range(len(tokens)):
        tokens[at] = first + at
    return len(logs)


@part
def collect_all(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    row: Int,
    masks: UInt32Table,
    number: Int,
    highest: Float,
    inverse: Float,
    tokens: Int32sOut,
    logs: Float64sOut,
) -> Int:
    """List all allowed tokens, with the logarithms of their weights."""
    words, word, count = masks.shape[1], 0, 0
    while word < words:
        bits, first = masks[number, word], word
        word += 1
        if bits == _FULL:
            while word < words and masks[number, word] == _FULL:
                word += 1
            stop = count + 32 * (word - first)
            some_tokens, some_logs = tokens[count:stop], logs[count:stop]
            scale(singles, doubles, is_double, row, 32 * first, highest, inverse, some_tokens, some_logs)
            count = stop
        elif bits != 0:
            for offset in range(32):
                if bits >> np.uint32(offset) & np.uint32(1):
                    token = first * 32 + offset
                    logs[count] = (score_at(singles, doubles, is_double, row, token) - highest) * inverse
                    tokens[count] = token
                    count += 1
    return count


@part
def collect(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    row: Int,
    masks: UInt32Table,
    number: Int,
    best: Int,
    options: Float64Table,
    tokens: Int32sOut,
    logs: Float64sOut,
) -> Int:
    """List the tokens that top-k leaves, and those that min-p may leave, with the logarithms of their weights."""
    highest = score_at(singles, doubles, is_double, row, best)
    inverse = min(1.0 / options[number, TEMPERATURE], 1e308)
    top_k, border, at_border = np.int64(options[number, TOP_K]), -np.inf, np.int64(0)
    if top_k > 0:
        border = kth_highest(singles, doubles, is_double, row, masks, number, top_k, logs)
        at_border = top_k
        if border > -np.inf:
            for at in range(top_k):
                at_border -= logs[at] > border
    least = -np.inf
    if options[number, MIN_P] > 0 and options[number, TOP_P] >= 1:
        least = math.log(options[number, MIN_P]) - _HEAVY
    if top_k == 0 and least == -np.inf:
        return collect_all(singles, doubles, is_double, row, masks, number, highest, inverse, tokens, logs)
    count = 0
    for word in range(masks.shape[1]):
        bits = masks[number, word]
        if bits == 0 or not has_any(singles, doubles, is_double, row, word, border, highest, inverse, least):
            continue
        for offset in range(32):
            if bits >> np.uint32(offset) & np.uint32(1):
                token = word * 32 + offset
                score = score_at(singles, doubles, is_double, row, token)
                if score < border:
                    continue
                log = (score - highest) * inverse
                if log < least:
                    continue
                if top_k > 0 and score == border:
                    if at_border == 0:
                        continue
                    at_border -= 1
                logs[count] = log
                tokens[count] = token
                count += 1
    return count


@part
def summed(weights: Float64s, start: Int, stop: Int) -> Float:
    """Add weights, eight sums at a time."""
    first, second, third, fourth, fifth, sixth, seventh, eighth = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    at = start
    while at + 8 <= stop:
        first += weights[at]
        second += weights[at + 1]
        third += weights[at + 2]
        fourth += weights[at + 3]
        fifth += weights[at + 4]
        sixth += weights[at + 5]
        seventh += weights[at + 6]
        eighth += weights[at + 7]
        at += 8
    while at < stop:
        first += weights[at]
        at += 1
    return ((first + second) + (third + fourth)) + ((fifth + sixth) + (seventh + eighth))


@part
def exponentials(logs: Float64s, count: Int, weights: Float64sOut, powers: Int64sOut, as_numbers: Float64sOut) -> Float:
    """Take the exponentials of numbers of at most 0; ``as_numbers`` is the same room as ``powers``.

    exp(x) = 2^n · exp(r) with \\|r\\| at most ln(2) / 2, the latter by its series: loops that are compiled to vectors.
    Below 2^-1022 it is 0.
    """
    total = 0.0
    for start in range(0, count, BLOCK):  # what is between the two loops stays in the processor's first cache
        size = min(BLOCK, count - start)
        some_logs, some_weights = logs[start : start + size], weights[start : start + size]
        for at in range(size):
            log = max(some_logs[at], -740.0)
            whole = np.rint(log * 1.4426950408889634)
            rest = (log - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10
            powers[at] = max(np.int64(whole) + np.int64(1023), np.int64(0)) << np.int64(52)
            sum_ = 1.0 / 6227020800.0
            sum_ = sum_ * rest + 1.0 / 479001600.0
            sum_ = sum_ * rest + 1.0 / 39916800.0
            sum_ = sum_ * rest + 1.0 / 3628800.0
            sum_ = sum_ * rest + 1.0 / 362880.0
            sum_ = sum_ * rest + 1.0 / 40320.0
            sum_ = sum_ * rest + 1.0 / 5040.0
            sum_ = sum_ * rest + 1.0 / 720.0
            sum_ = sum_ * rest + 1.0 / 120.0
            sum_ = sum_ * rest + 1.0 / 24.0
            sum_ = sum_ * rest + 1.0 / 6.0
            sum_ = sum_ * rest + 0.5
            sum_ = sum_ * rest + 1.0
            some_weights[at] = sum_ * rest + 1.0
        for at in range(size):
            some_weights[at] *= as_numbers[at]
        total += summed(some_weights, 0, size)
    return total


@part
def total_of(weights: Float64s, count: Int) -> Float:
    """Add all weights, by blocks."""
    total = 0.0
    for start in range(0, count, BLOCK):
        total += summed(weights, start, min(start + BLOCK, count))
    return total


@part
def drawn(weights: Float64s, count: Int, point: Float) -> Int:
    """Return the index at which the sum of the weights passes a number; never one without weight."""
    before, at = 0.0, 0
    while at + BLOCK < count:
        of_block = summed(weights, at, at + BLOCK)
        if before + of_block > point:
            break
        before += of_block
        at += BLOCK
    last = -1
    for index in range(at, count):
        if weights[index] > 0:
            last = index
            before += weights[index]
            if before > point:
                return index
    while last < 0:  # a sum was rounded: the last one that has any
        at -= 1
        if weights[at] > 0:
            last = at
    return last


@part
def nucleus(weights: Float64sOut, bits: Int64s, count: Int, top_p: Float, heap: Float64sOut, sums: Float64sOut) -> Int:
    """Set the weights to 0 that top-p leaves out; ``bits`` are the bits of the weights, of which the highest is 1."""
    # The weights are sorted into groups by their leading bits, sixteen for each power of two. Only the group in which
    # the sum is reached is sorted.
    for group in range(GROUPS):
        sums[group] = 0.0
    for at in range(count):
        sums[min(_ONE - (bits[at] >> 48), GROUPS - 1)] += weights[at]
    wanted, before, group = top_p * total_of(weights, count), 0.0, 0
    while group < GROUPS - 1 and before + sums[group] < wanted:
        before += sums[group]
        group += 1
    size = 0
    for at in range(count):
        if min(_ONE - (bits[at] >> 48), GROUPS - 1) == group:
            heap[size] = -weights[at]
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift(heap, at, size)
    border, of_border = 0.0, 0
    while size > 0:
        of_border = of_border + 1 if -heap[0] == border else 1
        border = -heap[0]
        before += border
        if before >= wanted:
            break
        size -= 1
        heap[0] = heap[size]
        sift(heap, 0, size)
    for at in range(count):
        if weights[at] == border and of_border > 0:
            of_border -= 1
        elif weights[at] <= border:
            weights[at] = 0.0
    return count


@part
def truncate(
    weights: Float64sOut, bits: Int64s, count: Int, top_p: Float, min_p: Float, heap: Float64sOut, sums: Float64sOut
) -> Int:
    """Set the weights to 0 that top-p and min-p leave out; the highest is 1."""
    if top_p < 1:
        nucleus(weights, bits, count, top_p, heap, sums)
    if min_p > 0:
        for at in range(count):
            if weights[at] < min_p:
                weights[at] = 0.0
    return count


@kernel
def choose_rows(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    rows: Int64s,
    masks: UInt32Table,
    options: Float64Table,
    tokens: Int32sOut,
    logs: Float64sOut,
    weights: Float64sOut,
    bits: Int64s,
    powers: Int64sOut,
    as_numbers: Float64sOut,
    sums: Float64sOut,
    chosen: Int64sOut,
    shares: Float64sOut,
) -> Int:
    """Choose a token for each row of a table of scores.

    ``chosen`` has the likeliest token of each row, allowed or not, and gets the token that is chosen, or why none is;
    ``shares`` gets its probability. ``bits`` and ``weights`` are the same room, as are ``powers`` and ``as_numbers``.
    """
    for number in range(len(rows)):
        row, best = rows[number], chosen[number]
        score = score_at(singles, doubles, is_double, row, best)
        if not masks[number, best >> 5] >> np.uint32(best & 31) & np.uint32(1) or not np.isfinite(score):
            best = highest_allowed(singles, doubles, is_double, row, masks, number)
        shares[number] = 1.0
        if best >= 0 and options[number, TEMPERATURE] > 0:
            count = collect(singles, doubles, is_double, row, masks, number, best, options, tokens, logs)
            total = exponentials(logs, count, weights, powers, as_numbers)
            if options[number, TOP_P] < 1 or options[number, MIN_P] > 0:
                truncate(weights, bits, count, options[number, TOP_P], options[number, MIN_P], logs, sums)
                total = total_of(weights, count)
            at = drawn(weights, count, options[number, SHARE] * total)
            best = np.int64(tokens[at])
            shares[number] = weights[at] / total
        chosen[number] = best
    return len(rows)


@kernel
def choose_weighed(
    singles: Float32Table,
    doubles: Float64Table,
    is_double: Flag,
    masks: UInt32Table,
    barred: UInt32s,
    factor_tokens: Int32s,
    factors: Float64s,
    options: Float64Table,
    tokens: Int32sOut,
    logs: Float64sOut,
    weights: Float64sOut,
    bits: Int64s,
    powers: Int64sOut,
    as_numbers: Float64sOut,
    sums: Float64sOut,
    shares: Float64sOut,
) -> Int:
    """Choose a token for one row, whose weights are multiplied by factors after truncation.

    ``factors`` are their logarithms. ``shares`` gets the probability of the token, and the logarithm of the share of
    the weight that the factors leave.
    """
    best = highest_allowed(singles, doubles, is_double, 0, masks, 0)
    if best < 0:
        return best
    count = collect(singles, doubles, is_double, 0, masks, 0, best, options, tokens, logs)
    exponentials(logs, count, weights, powers, as_numbers)
    if options[0, TOP_P] < 1 or options[0, MIN_P] > 0:
        truncate(weights, bits, count, options[0, TOP_P], options[0, MIN_P], as_numbers, sums)
        for at in range(count):
            if weights[at] == 0:
                logs[at] = -np.inf
    before = total_of(weights, count)
    for number in range(len(factors)):
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if tokens[middle] < factor_tokens[number]:
                low = middle + 1
            else:
                high = middle
        if low < count and tokens[low] == factor_tokens[number]:
            logs[low] += factors[number]
    likeliest, highest = np.int64(-1), -np.inf
    for at in range(count):
        token = tokens[at]
        if len(barred) and barred[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
            logs[at] = -np.inf
        if logs[at] > highest:
            likeliest, highest = np.int64(at), logs[at]
    shares[0], shares[1] = 1.0, -np.inf
    if likeliest < 0:
        return NOTHING_LEFT
    for at in range(count):
        logs[at] -= highest
    exponentials(logs, count, weights, powers, as_numbers)
    total = total_of(weights, count)
    shares[1] = highest + math.log(total) - math.log(before)
    if not options[0, TAKES_BEST]:
        likeliest = drawn(weights, count, options[0, SHARE] * total)
        shares[0] = weights[likeliest] / total
    return np.int64(tokens[likeliest])


@kernel
def uniform(first_key: UInt, second_key: UInt, position: UInt, visit: UInt, purpose: UInt) -> Float:
    """Return a number from 0 up to, but not, 1: the first of block (position, visit, purpose, 0) of Philox 4x64-10.

    Philox (Salmon and others 2011, "Parallel Random Numbers: As Easy as 1, 2, 3") encrypts a counter: what is drawn
    somewhere depends on nothing that was drawn before.
    """
    zeroth, first, second, third = position, visit, purpose, np.uint64(0)
    for _ in range(10):
        high, low = product(np.uint64(0xD2E7470EE14C6C93), zeroth), np.uint64(0xD2E7470EE14C6C93) * zeroth
        high_of_second = product(np.uint64(0xCA5A826395121157), second)
        low_of_second = np.uint64(0xCA5A826395121157) * second
        zeroth, first = high_of_second ^ first ^ first_key, low_of_second
        second, third = high ^ third ^ second_key, low
        first_key += np.uint64(0x9E3779B97F4A7C15)
        second_key += np.uint64(0xBB67AE8584CAA73B)
    return np.float64(zeroth >> np.uint64(11)) * 2.0**-53


@part
def product(left: UInt, right: UInt) -> UInt:
    """Return the upper half of the product of two numbers of 64 bits."""
    half, low_bits = np.uint64(32), np.uint64(0xFFFFFFFF)
    low, high = left & low_bits, left >> half
    low_of_right, high_of_right = right & low_bits, right >> half
    crossed = high * low_of_right + (low * low_of_right >> half)
    return high * high_of_right + (crossed >> half) + (((crossed & low_bits) + low * high_of_right) >> half)
