/* attention.h (L9.3, L9.4): fused attention, once for prefill and once for decode.
 *
 * Two units implement this header, one per section: L9.3 reads contiguous float32 keys and values, L9.4 reads f16 keys
 * and values through the block tables of a KV pool. They are held to one order of operations, written down here once,
 * so that a token decoded by one and prefilled by the other gets the same bits.
 *
 * THE ORDER OF OPERATIONS
 *
 * An output row is one query of one head: D floats, reduced over the keys that the query may see ("visible" keys; each
 * section says which). Everything below is float32, each operation rounded on its own: no fused multiply-add, no
 * reassociation, no wider intermediate. j is a key's position, s_j its score, k_j and v_j its vectors.
 *
 *   1. Start with m = -inf, l = +0 and a[d] = +0 for every d. With a sink: m = the head's sink logit, l = 1.
 *   2. Take the key tiles in increasing position. Tiles are cut at absolute positions, tile t is [t*Bc, (t+1)*Bc), and
 *      never at the first visible key. A tile without a visible key is skipped: it changes neither m, l nor a.
 *   3. Score the tile's visible keys:
 *          dot = 0; for d = 0 .. D-1: dot = dot + q[d] * k_j[d]
 *          s_j = scale * dot
 *      The tile's maximum is over its visible keys and no others.
 *   4. m_new = max(m, the tile's maximum); alpha = tl_expf(m - m_new); for every d: a[d] = a[d] * alpha.
 *   5. Then, over the tile's visible keys in increasing j, with t = 0 before the first:
 *          w = tl_expf(s_j - m_new)
 *          t = t + w
 *          for every d: a[d] = a[d] + w * v_j[d]
 *   6. l = l * alpha + t, the product first and the tile's sum added to it; m = m_new.
 *   7. After the last tile: inv = 1 / l; for every d: out[d] = a[d] * inv. One division per row, then products.
 *
 * Every element thus has one chain of operations, that of its own row. It does not depend on the batch, on the row's
 * place in it, on how queries are tiled, split over calls or spread over threads. Loops over different d, different
 * rows or different keys' dot products are independent and may be interleaved, blocked or vectorised at will. Skipping
 * step 4's product where alpha is exactly 1 changes no bit. Starting a[d] with the first product instead of adding
 * it to +0 does: a value of -0 would come out as -0.
 *
 * NaN and infinite scores get no special treatment; they follow from the arithmetic. tl_expf is exactly 1 at 0 and
 * exactly +0 at -inf, so the first tile multiplies the empty state by 0 and the maximum weighs 1.
 *
 * The bits hold for builds with -ffp-contract=off and without fast-math. gcc does not honour the standard's pragma, so
 * the flag is part of every build line.
 *
 * FOR BOTH FUNCTIONS
 *
 * All tensors are row-major and contiguous, aligned as their element type asks. Outputs overlap nothing else. All
 * arguments are validated before the first write, so that a call that fails with TL_EINVAL or TL_ESHAPE leaves the
 * outputs as they were. A failing call has put its own name and a reason into the thread's error slot. A status from
 * tl_parallel_for is returned as it came (a call from inside a range of tp itself is TL_EBUSY), and then the slot may
 * name that function instead. tp NULL runs on the caller. Nothing calls tl_alloc on a worker. A NULL tensor is an error
 * only where it has elements. Both functions are reentrant.
 *
 * Query head h reads KV head h / (H / Hkv): consecutive query heads share one KV head.
 */
#ifndef TINYLLM_ATTENTION_H
#define TINYLLM_ATTENTION_H

#include <stdint.h>

#include "tinyllm/abi.h"
#include "tinyllm/arena.h"
#include "tinyllm/kv_pool.h"
#include "tinyllm/pool.h"

/*
 * ---- L9.3: c/src/kernels/flash_attn.c ---------------------------------------------------------------------------
 *
 * Attention of Tq queries over Tk keys without the Tq x Tk matrix.
 *
 *   q, o         [B, H, Tq, D]
 *   k, v         [B, Hkv, Tk, D]
 *   lse          [B, H, Tq], or NULL if not wanted: ln of the sum of exp over visible scores and sink, m + ln(l)
 *   sink_logits  [H], or NULL for none: one more score per head, which weighs in the denominator and has no value
 *   q_offset     query i stands at position p = q_offset + i, key j at position j
 *   causal       not 0: a query sees no key after its own position; 0: it sees keys on its right too
 *   window       w > 0: a query sees no key before p - w + 1, causal or not (itself and w - 1 before it); the window
 *                never cuts on the right. w <= 0: no window
 *   Br, Bc       queries and keys per tile; 0 means 64. Bc is the Bc of step 2 and part of the bits, Br is not
 *   scratch      working memory, or NULL for an arena that lives as long as the call
 *
 * Visible keys of the query at p: max(0, p - w + 1) <= j < Tk, and j <= p if causal. A query that sees no key gives a
 * row of +0; its lse is its sink logit, or -inf without a sink. lse is held to closeness, not to bits, for ln is the
 * libm's; like o it does not change with threads or with the way queries are split over calls.
 *
 * Scratch      All of it is taken on the calling thread before the parallel region, at most one share per worker, and
 *              the arena is rewound to the mark found on entry whatever the outcome. Its size may depend on Br, Bc, D
 *              and the number of workers, never on Tk.
 * Status       TL_EINVAL: B, H, Hkv, Tq, Tk, D or q_offset negative; q, k, v or o NULL while it has elements.
 *              TL_ESHAPE: Hkv 0 (found before anything is divided by it) or above H; H no multiple of Hkv.
 *              TL_ENOMEM: scratch that is needed cannot be had. TL_EBUSY: from tp.
 *              No query (B or Tq 0) and no key (Tk 0) are valid; without queries nothing is written.
 * Left open    An implementation that needs no scratch never runs out of it. What a negative Br or Bc does, or a
 *              q_offset at which q_offset + Tq is no int64_t. The outputs after TL_ENOMEM or TL_EBUSY. An empty batch together
 *              with NULL pointers or another fault. Which status wins if a call has several faults. The bits of a row
 *              that has a score which is not finite; other rows are not touched by it.
 */
tl_status tl_flash_attn_fwd_f32(const float *q, const float *k, const float *v, float *o, float *lse,
                                int64_t B, int64_t H, int64_t Hkv, int64_t Tq, int64_t Tk, int64_t D,
                                float scale, int64_t q_offset, int causal, int64_t window,
                                const float *sink_logits, int64_t Br, int64_t Bc,
                                tl_arena *scratch, tl_pool *tp);

/*
 * ---- L9.4: c/src/kernels/paged_attn.c ---------------------------------------------------------------------------
 *
 * One decode step: one query per sequence and head, at the sequence's newest position, over a cache in blocks.
 *
 *   q, out        [B, H, D]
 *   kv            pool in format TL_KV_FORMAT_V1 with dtype TL_F16; only read
 *   layer         the pool's layer to read
 *   block_tables  [B, max_blocks]: row b holds the ids of sequence b's blocks in position order; two rows may name the
 *                 same block. Entries after the ceil(n / block_tokens) that a context of n positions needs are padding
 *                 and are not looked at
 *   ctx_lens      [B]: positions in the cache, the newest one included, at least 1
 *   window        w > 0: the query sees the newest w positions; w <= 0: all of them
 *
 * With n = ctx_lens[b] the query stands at p = n - 1 and the visible keys are max(0, p - w + 1) <= j <= p. No sink.
 *
 * Position j lies in slot j % block_tokens of block block_tables[b][j / block_tokens]. In the K slab of that block,
 * tl_kv_block_ptr(kv, id, layer, 0), laid out [Hkv][block_tokens][D] as uint16_t, the key of KV head g starts at element
 * (g * block_tokens + slot) * D; the value stands at the same place in the slab with is_v 1. Both are decoded by
 * tl_f16_to_f32, exactly, before they are used. The fill of a block is not consulted: ctx_lens says what counts.
 *
 * Tiles         A tile of step 2 is one block, Bc = block_tokens. A block of more than 256 positions is cut into pieces
 *               of 256, and each piece is a tile of its own: the one of position j is number slot / 256 of its block.
 *               Pieces start at the block's start, wherever the window starts; the last one of a block may be short.
 *               The result has the bits of tl_flash_attn_fwd_f32 on the gathered, decoded cache with Tq = 1,
 *               q_offset = p, causal 1, the same window and Bc = block_tokens, for block_tokens up to 256. Above,
 *               it is close to that and still the same whatever the batch and the threads.
 * Memory        Nothing is allocated, by any name. The running output lives in out, the scores of a tile in a fixed
 *               buffer on the stack.
 * Validation    Every sequence is checked before anything is written, also where only the last one is at fault.
 * Status        TL_EINVAL: kv NULL; B, H, Hkv, D or max_blocks negative; q, block_tables, ctx_lens or out NULL while
 *               it has elements; layer not below the pool's n_layers; a ctx_lens[b] below 1; a sequence that needs more
 *               than max_blocks blocks; a block id not below the pool's n_blocks among those the query reads.
 *               TL_ESHAPE: Hkv 0 (nothing is divided by it), Hkv or D other than the pool's, H no multiple of Hkv.
 *               TL_EUNSUPPORTED: a pool of another format or dtype. TL_EBUSY: from tp.
 *               B = 0 with valid arguments is TL_OK and writes nothing.
 * Left open     A bad id in an entry that is needed but lies before the window. A call with B or H 0 that has NULL
 *               pointers or another fault. Which status wins if a call has several faults. Whether a small batch uses
 *               the pool of threads at all. Rows with a score that is not finite.
 */
tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer,
                                   const uint32_t *block_tables, int32_t max_blocks,
                                   const int32_t *ctx_lens, float *out,
                                   int64_t B, int64_t H, int64_t Hkv, int64_t D,
                                   float scale, int64_t window, tl_pool *tp);

#endif
