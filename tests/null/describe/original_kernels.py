"""Stubs with the argument order of the original's kernels: read as syntax trees, never imported."""

import triton
import triton.language as tl


@triton.jit
def attn_fwd(
    Q, K, V, B, A, Sm_scale, L, Out,
    Q_descale, K_descale, P_scale, P_descale, V_descale,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vk, stride_vn,
    stride_oz, stride_oh, stride_om, stride_on,
    stride_bz, stride_bh, stride_bm, stride_bn,
    stride_az, stride_ah,
    Num_head_q, Num_head_k, Num_seqlens,
    cu_seqlens_q, cu_seqlens_k, Max_seqlen_q, Max_seqlen_k, seq_strides_q, seq_strides_k,
    BLOCK_DMODEL: tl.constexpr, Hdim_qk, Hdim_vo, PADDED_HEAD: tl.constexpr,
    ENABLE_DROPOUT: tl.constexpr, dropout_p, philox_seed_ptr, philox_offset1, philox_offset2,
    philox_seed_output, philox_offset_output, RETURN_ENCODED_SOFTMAX: tl.constexpr, encoded_softmax,
    CAUSAL_TYPE: tl.constexpr, Window_left, Window_right, BIAS_TYPE: tl.constexpr,
    USE_ALIBI: tl.constexpr, INT8: tl.constexpr, INT8_KV: tl.constexpr, USE_P_SCALE: tl.constexpr,
    PERSISTENT_TYPE: tl.constexpr, persistent_atomic_counter, Num_CU, GRID_CU_MULTIP: tl.constexpr, Batch,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, PRE_LOAD_V: tl.constexpr, NUM_XCDS: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def bwd_kernel_dk_dv(
    Q, K, V, B, sm_scale, DO, DK, DV, L, D,
    stride_qz, stride_qh, stride_qm, stride_qk,
    num_head_q, num_head_k, max_seqlen_q, max_seqlen_k,
    BLOCK_DMODEL: tl.constexpr, dropout_p, Window_left, Window_right,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL_TYPE: tl.constexpr, ENABLE_DROPOUT: tl.constexpr, PADDED_HEAD: tl.constexpr, BIAS_TYPE: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def bwd_kernel_dq(
    Q, K, V, B, sm_scale, DO, DQ, DB, L, D,
    stride_qz, stride_qh, stride_qm, stride_qk,
    num_head_q, num_head_k, max_seqlen_q, max_seqlen_k,
    BLOCK_DMODEL: tl.constexpr, dropout_p, Window_left, Window_right,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL_TYPE: tl.constexpr, ENABLE_DROPOUT: tl.constexpr, PADDED_HEAD: tl.constexpr, BIAS_TYPE: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def bwd_kernel_fuse(
    Q, K, V, B, sm_scale, DO, DK, DV, DQ, DB, L,
    stride_qz, stride_qh, stride_qm, stride_qk,
    num_head_q, num_head_k, max_seqlen_q, max_seqlen_k,
    BLOCK_DMODEL: tl.constexpr, dropout_p, Window_left, Window_right,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL_TYPE: tl.constexpr, ENABLE_DROPOUT: tl.constexpr, PADDED_HEAD: tl.constexpr, BIAS_TYPE: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def bwd_preprocess(
    Out, DO, Delta,
    stride_oz, stride_oh, stride_om, stride_on, stride_doz, stride_doh, stride_dom, stride_don,
    seqlen_q, head_dim, BLOCK_M: tl.constexpr, D_HEAD: tl.constexpr, PADDED_HEAD: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def debug_simulate_encoded_softmax(
    R, stride_rz, stride_rh, stride_rm, stride_rn,
    dropout_p, Num_head_q, Max_seqlen_q, Max_seqlen_k, philox_seed_ptr, philox_offset1, philox_offset2,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    pass
