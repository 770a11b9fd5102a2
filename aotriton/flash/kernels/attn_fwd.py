"""Flash attention, forward: a tile of query rows meets the keys that it sees block by block, by online softmax.

Row m of a sequence sees key n where ``m - left <= n <= m + right``. Scores are in base 2 while they are in registers;
the log-sum-exp that is written is natural. A row that sees no key gives output 0 and log-sum-exp -inf.
"""

import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2 = tl.constexpr(0.6931471805599453)
# Values of Window_left and Window_right that stand for an alignment of the causal diagonal.
TOP_LEFT = tl.constexpr(-2147483647)
BOTTOM_RIGHT = tl.constexpr(-2147483646)
# Values of PERSISTENT_TYPE.
DYNAMIC = tl.constexpr(2)


@triton.constexpr_function
def parts_of(width):
    """The powers of two that add up to a width, widest first: a tile of 224 columns is held as 128, 64 and 32."""
    return tuple(1 << bit for bit in range(width.bit_length() - 1, -1, -1) if width >> bit & 1)


@triton.constexpr_function
def start_of(width, index):
    """The first column of one of a width's parts."""
    return sum(parts_of(width)[:index])


@triton.jit
def is_given(pointer):
    """Whether a tensor that may be absent is there."""
    return tl.cast(pointer, tl.uint64, bitcast=True) != 0


@triton.jit
def load_tile(base, row, rows, columns, stride, WIDTH: tl.constexpr, CHECK_ROWS: tl.constexpr,
              CHECK_COLUMNS: tl.constexpr):  # fmt: skip
    """The given rows of a matrix as one tensor per part of WIDTH; what lies outside of rows x columns reads as 0."""
    parts = ()
    for i in tl.static_range(len(parts_of(WIDTH))):
        column = start_of(WIDTH, i) + tl.arange(0, parts_of(WIDTH)[i])
        # One pointer per row, then the columns: what lies in a row is reached by constants, not by pointers of its own.
        pointers = (base + row.to(tl.int64) * stride)[:, None] + column[None, :]
        if CHECK_ROWS and CHECK_COLUMNS:
            part = tl.load(pointers, (row < rows)[:, None] & (column < columns)[None, :], 0.0)
        elif CHECK_ROWS:
            part = tl.load(pointers, (row < rows)[:, None], 0.0)
        elif CHECK_COLUMNS:
            part = tl.load(pointers, (column < columns)[None, :], 0.0)
        else:
            part = tl.load(pointers)
        parts = parts + (part,)
    return parts


@triton.jit
def store_tile(base, row, rows, columns, stride, parts, WIDTH: tl.constexpr, CHECK_COLUMNS: tl.constexpr):
    """Writes what `load_tile` would read, and nothing outside of rows x columns."""
    for i in tl.static_range(len(parts_of(WIDTH))):
        column = start_of(WIDTH, i) + tl.arange(0, parts_of(WIDTH)[i])
        inside = (row < rows)[:, None]
        if CHECK_COLUMNS:
            inside = inside & (column < columns)[None, :]
        value = parts[i].to(base.dtype.element_ty)
        tl.store((base + row.to(tl.int64) * stride)[:, None] + column[None, :], value, inside)


@triton.jit
def product_of_rows(a, b, WIDTH: tl.constexpr):
    """a @ b^T of two tiles of WIDTH columns, in fp32 (fp32 inputs: no TF32)."""
    product = tl.dot(a[0], tl.trans(b[0]), input_precision="ieee")
    for i in tl.static_range(1, len(parts_of(WIDTH))):
        product = tl.dot(a[i], tl.trans(b[i]), product, input_precision="ieee")
    return product


@triton.jit
def resolve_window(left, right, rows, columns):
    """The window's two sides as numbers: alignments resolved, and both cut to where more makes no difference.

    Cut so, no sum with a row or column index leaves 32 bits while rows + columns stay below 2^31.
    """
    if left == TOP_LEFT or left == BOTTOM_RIGHT:
        left = rows
    if right == TOP_LEFT:
        right = 0
    elif right == BOTTOM_RIGHT:
        right = columns - rows
    left = tl.minimum(tl.maximum(left, -columns), rows)
    right = tl.minimum(tl.maximum(right, -rows), columns)
    return left, right


@triton.jit
def split_blocks(first, last, left, right, columns, BLOCK: tl.constexpr):
    """Splits the key blocks that rows [first, last) meet: [begin, full_begin) and [full_end, end) need a mask.

    Every row sees every key of the blocks [full_begin, full_end). The first row that sees a key at the far left is the
    first one, at the far right the last one; the keys that all rows see start where the last row's window starts and
    end where the first row's ends. All are cut to [0, columns] before they are divided: the quotients are of numbers
    that are not negative, where truncation is floor.
    """
    some_begin = tl.maximum(first - left, 0)
    some_end = tl.minimum(last + right, columns)
    all_begin = tl.maximum(last - 1 - left, 0)
    all_end = tl.maximum(tl.minimum(first + right + 1, columns), 0)
    # left + right < 0: each row's window is empty, though the windows' hull is not. An empty hull may lie in a block.
    if left + right < 0 or some_begin >= some_end:
        some_end = 0
    begin = some_begin // BLOCK
    end = tl.maximum(tl.cdiv(tl.maximum(some_end, 0), BLOCK), begin)
    full_begin = tl.cdiv(all_begin, BLOCK)
    full_end = all_end // BLOCK
    if full_begin >= full_end or begin == end:
        full_begin = end
        full_end = end
    return begin, full_begin, full_end, end


@triton.jit
def attend(
    acc, maximum, total, q, K, V, stride_kn, stride_vn, scale, row, left, right, keys, begin, hole, hole_size,
    end, Hdim_qk, Hdim_vo, WIDTH: tl.constexpr, PADDED_HEAD: tl.constexpr, WINDOWED: tl.constexpr,
    MASKED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRE_LOAD_V: tl.constexpr,
):  # fmt: skip
    """Online softmax over `end - begin` key blocks from `begin` on, of which those from `hole` on lie further right."""
    key = tl.arange(0, BLOCK_N)
    if MASKED and WINDOWED:
        lowest = row - left
        highest = tl.minimum(row + right, keys - 1)
    for step in range(begin, end):
        if MASKED:
            block = tl.where(step >= hole, step + hole_size, step)
        else:
            block = step
        first = block * BLOCK_N
        # The block's offset is a scalar and in 64 bits before it is multiplied; the offsets inside of it never change.
        K_block = K + first.to(tl.int64) * stride_kn
        V_block = V + first.to(tl.int64) * stride_vn
        k = load_tile(K_block, key, keys - first, Hdim_qk, stride_kn, WIDTH, MASKED, PADDED_HEAD)
        if PRE_LOAD_V:
            v = load_tile(V_block, key, keys - first, Hdim_vo, stride_vn, WIDTH, MASKED, PADDED_HEAD)
        score = product_of_rows(q, k, WIDTH)
        if MASKED:
            column = first + key
            if WINDOWED:
                visible = (column[None, :] >= lowest[:, None]) & (column[None, :] <= highest[:, None])
            else:
                visible = (column < keys)[None, :]
            # Masked after scaling: 0 * -inf is no number.
            score = tl.where(visible, score * scale, float("-inf"))
            new_maximum = tl.maximum(maximum, tl.max(score, 1))
            # -inf only while a row has seen nothing; -inf - -inf is no number.
            shift = tl.where(new_maximum == float("-inf"), 0.0, new_maximum)
            p = tl.exp2(score - shift[:, None])
        else:
            # The scale is not negative and rounding is monotone, so this is the maximum of the scaled scores, exactly.
            new_maximum = tl.maximum(maximum, tl.max(score, 1) * scale)
            shift = new_maximum
            p = tl.exp2(score * scale - shift[:, None])
        decay = tl.exp2(maximum - shift)
        total = total * decay + tl.sum(p, 1)
        maximum = new_maximum
        if not PRE_LOAD_V:
            v = load_tile(V_block, key, keys - first, Hdim_vo, stride_vn, WIDTH, MASKED, PADDED_HEAD)
        p = p.to(V.dtype.element_ty)
        new_acc = ()
        for i in tl.static_range(len(parts_of(WIDTH))):
            new_acc = new_acc + (tl.dot(p, v[i], acc[i] * decay[:, None], input_precision="ieee"),)
        acc = new_acc
    return acc, maximum, total


@triton.jit
def forward_tile(
    tile, Q, K, V, Sm_scale, L, Out, stride_qz, stride_qh, stride_qm, stride_kz, stride_kh, stride_kn, stride_vz,
    stride_vh, stride_vn, stride_oz, stride_oh, stride_om, Num_head_q, Num_head_k, Max_seqlen_q, Max_seqlen_k, Hdim_qk,
    Hdim_vo, Window_left, Window_right, BLOCK_DMODEL: tl.constexpr, PADDED_HEAD: tl.constexpr,
    CAUSAL_TYPE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRE_LOAD_V: tl.constexpr,
):  # fmt: skip
    """One tile of BLOCK_M query rows of one head: tiles are numbered by batch, head, rows, the last one fastest."""
    WINDOWED: tl.constexpr = CAUSAL_TYPE != 0
    tiles_per_head = tl.cdiv(Max_seqlen_q, BLOCK_M)
    head_and_batch = tile // tiles_per_head
    row_tile = tile % tiles_per_head
    if WINDOWED:
        # Later rows mostly see more keys: the longest work starts first.
        row_tile = tiles_per_head - 1 - row_tile
    batch = (head_and_batch // Num_head_q).to(tl.int64)
    head_q = head_and_batch % Num_head_q
    head_k = (head_q // (Num_head_q // Num_head_k)).to(tl.int64)
    head = head_q.to(tl.int64)

    first_row = row_tile * BLOCK_M
    last_row = tl.minimum(first_row + BLOCK_M, Max_seqlen_q)
    if WINDOWED:
        left, right = resolve_window(Window_left, Window_right, Max_seqlen_q, Max_seqlen_k)
        begin, full_begin, full_end, end = split_blocks(first_row, last_row, left, right, Max_seqlen_k, BLOCK_N)
    else:
        left = 0
        right = 0
        begin = 0
        full_begin = 0
        full_end = Max_seqlen_k // BLOCK_N
        end = tl.cdiv(Max_seqlen_k, BLOCK_N)
    if Sm_scale < 0:
        # Without a mask the largest score stands for the largest scaled one, which it is only if the scale is not
        # negative; masked blocks scale first, so now all blocks are. The queries can't have the sign: only if they are
        # what was loaded do Hopper's matrix units read them from shared memory, else they fill registers in the loops.
        full_end = full_begin

    Q += batch * stride_qz + head * stride_qh
    K += batch * stride_kz + head_k * stride_kh
    V += batch * stride_vz + head_k * stride_vh
    # Rows are counted from the tensor's start, not the tile's: else their offsets are the same for each tile that a
    # persistent program draws, the compiler keeps them in registers meanwhile, and the loops over the keys spill.
    row = first_row + tl.arange(0, BLOCK_M)
    # Past the end the last row is read again: without a mask, whose branches cost registers that CDNA lacks at 512.
    in_range = tl.minimum(row, Max_seqlen_q - 1)
    q = load_tile(Q, in_range, Max_seqlen_q, Hdim_qk, stride_qm, BLOCK_DMODEL, False, PADDED_HEAD)
    acc = ()
    for i in tl.static_range(len(parts_of(BLOCK_DMODEL))):
        acc = acc + (tl.zeros([BLOCK_M, parts_of(BLOCK_DMODEL)[i]], tl.float32),)
    scale = Sm_scale * LOG2_E
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)

    acc, maximum, total = attend(
        acc, maximum, total, q, K, V, stride_kn, stride_vn, scale, row, left, right, Max_seqlen_k,
        full_begin, 0, 0, full_end, Hdim_qk, Hdim_vo, BLOCK_DMODEL, PADDED_HEAD, WINDOWED, False, BLOCK_M, BLOCK_N,
        PRE_LOAD_V,
    )  # fmt: skip
    full = full_end - full_begin
    acc, maximum, total = attend(
        acc, maximum, total, q, K, V, stride_kn, stride_vn, scale, row, left, right, Max_seqlen_k,
        begin, full_begin, full, end - full, Hdim_qk, Hdim_vo, BLOCK_DMODEL, PADDED_HEAD, WINDOWED, True, BLOCK_M,
        BLOCK_N, PRE_LOAD_V,
    )  # fmt: skip

    unseeing = total == 0.0
    total = tl.where(unseeing, 1.0, total)
    factor = 1.0 / total
    out = ()
    for i in tl.static_range(len(parts_of(BLOCK_DMODEL))):
        # Not a product with 0: the accumulator may hold 0 * inf from a value that the row does not see.
        out = out + (tl.where(unseeing[:, None], 0.0, acc[i] * factor[:, None]),)
    Out += batch * stride_oz + head * stride_oh
    store_tile(Out, row, Max_seqlen_q, Hdim_vo, stride_om, out, BLOCK_DMODEL, PADDED_HEAD)
    if is_given(L):
        lse = tl.where(unseeing, float("-inf"), (maximum + tl.log2(total)) * LN_2)
        L += head_and_batch.to(tl.int64) * Max_seqlen_q
        tl.store(L + row, lse, row < Max_seqlen_q)


@triton.jit
def spread_over_dies(program, programs, DIES: tl.constexpr):
    """A permutation of [0, programs): programs go to dies in turn, and each die gets tiles that follow each other.

    So the tiles of one head, and the heads of one group, share a die's cache. Die d runs the programs d, d + DIES, …:
    one more on the first `programs % DIES` dies than on the others.
    """
    die = program % DIES
    return die * (programs // DIES) + tl.minimum(die, programs % DIES) + program // DIES


@triton.jit
def attn_fwd(
    Q, K, V, B, A, Sm_scale, L, Out,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk,
    stride_oz, stride_oh, stride_om, stride_ok,
    stride_bz, stride_bh, stride_bm, stride_bn,
    stride_az, stride_ah,
    Num_head_q, Num_head_k, Num_seqlens, cu_seqlens_q, cu_seqlens_k,
    Max_seqlen_q, Max_seqlen_k, seq_strides_q, seq_strides_k,
    BLOCK_DMODEL: tl.constexpr, Hdim_qk, Hdim_vo, PADDED_HEAD: tl.constexpr,
    ENABLE_DROPOUT: tl.constexpr, dropout_p, philox_seed_ptr, philox_offset1, philox_offset2,
    philox_seed_output, philox_offset_output,
    CAUSAL_TYPE: tl.constexpr, Window_left, Window_right,
    BIAS_TYPE: tl.constexpr, USE_ALIBI: tl.constexpr, VARLEN: tl.constexpr,
    PERSISTENT_TYPE: tl.constexpr, persistent_atomic_counter, Num_CU, GRID_CU_MULTIP: tl.constexpr, Batch,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRE_LOAD_V: tl.constexpr, NUM_XCDS: tl.constexpr,
):  # fmt: skip
    """Out = softmax(Sm_scale Q K^T, masked) V and L = its log-sum-exp, over a grid of one dimension.

    PERSISTENT_TYPE 0: one program per tile. 2: programs draw tiles from a counter that is 0 before and after; without
    a counter each takes every n-th tile of n programs.
    """
    tl.static_assert(stride_qk == 1 and stride_kk == 1 and stride_vk == 1 and stride_ok == 1, "the last stride is 1")
    tl.static_assert(CAUSAL_TYPE == 0 or CAUSAL_TYPE == 3, "CAUSAL_TYPE is 0 or 3")
    tl.static_assert(not ENABLE_DROPOUT and BIAS_TYPE == 0 and not USE_ALIBI and not VARLEN, "not written yet")
    tiles = tl.cdiv(Max_seqlen_q, BLOCK_M) * Num_head_q * Batch
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    if PERSISTENT_TYPE == DYNAMIC:
        drawn = is_given(persistent_atomic_counter)
        tile = program
        if drawn:
            tile = tl.atomic_add(persistent_atomic_counter, 1)
        while tile < tiles:
            forward_tile(
                tile, Q, K, V, Sm_scale, L, Out, stride_qz, stride_qh, stride_qm, stride_kz, stride_kh, stride_kn,
                stride_vz, stride_vh, stride_vn, stride_oz, stride_oh, stride_om, Num_head_q, Num_head_k, Max_seqlen_q,
                Max_seqlen_k, Hdim_qk, Hdim_vo, Window_left, Window_right, BLOCK_DMODEL, PADDED_HEAD, CAUSAL_TYPE,
                BLOCK_M, BLOCK_N, PRE_LOAD_V,
            )  # fmt: skip
            if drawn:
                tile = tl.atomic_add(persistent_atomic_counter, 1)
            else:
                tile += programs
        # Every program draws one number too many. Who draws the last of them leaves the counter as it was found.
        if drawn and tile == tiles + programs - 1:
            tl.store(persistent_atomic_counter, 0)
    else:
        tile = program
        if NUM_XCDS > 1:
            tile = spread_over_dies(program, programs, NUM_XCDS)
        forward_tile(
            tile, Q, K, V, Sm_scale, L, Out, stride_qz, stride_qh, stride_qm, stride_kz, stride_kh, stride_kn,
            stride_vz, stride_vh, stride_vn, stride_oz, stride_oh, stride_om, Num_head_q, Num_head_k, Max_seqlen_q,
            Max_seqlen_k, Hdim_qk, Hdim_vo, Window_left, Window_right, BLOCK_DMODEL, PADDED_HEAD, CAUSAL_TYPE, BLOCK_M,
            BLOCK_N, PRE_LOAD_V,
        )  # fmt: skip
