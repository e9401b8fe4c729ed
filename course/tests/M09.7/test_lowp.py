"""M09.7 from Python: binary16 as numpy has it."""

import ctypes

import numpy as np
from olrand import Rand

NAN_CODES = np.r_[0x7C01:0x8000, 0xFC01:0x10000]


def inputs(seed):
    """Every f16 number, the float32 on both sides of it, and random bits."""
    codes = np.setdiff1d(np.arange(65536), NAN_CODES).astype(np.uint16)
    exact = codes.view(np.float16).astype(np.float32)
    near = [np.nextafter(exact, np.float32(to)) for to in (-np.inf, np.inf)]
    bits = (Rand(seed).u64s(50_000) >> np.uint64(32)).astype(np.uint32).view(np.float32)
    return codes, np.concatenate([exact, *near, bits[~np.isnan(bits)]])


def test_f16_equals_numpy(ol):
    codes, x = inputs(ol.seed)
    ol.note(f"{len(codes)} f16 codes decoded, {len(x)} float32 encoded, as numpy's astype does")
    if ol.unit:
        decode, encode = ol.lib["tl_f16_to_f32"], ol.lib["tl_f32_to_f16"]
        decode.restype, decode.argtypes = ctypes.c_float, [ctypes.c_uint16]
        encode.restype, encode.argtypes = ctypes.c_uint16, [ctypes.c_float]
        ol.saw_f32("decoded", np.array([decode(c) for c in codes.tolist()], np.float32), ("code",))
        ol.saw_u16("encoded", np.array([encode(v) for v in x.tolist()], np.uint16), ("x",))
    if ol.oracle:
        with np.errstate(over="ignore"):
            ol.want_u16("encoded", x.astype(np.float16))
        ol.want_bits_f32("decoded", codes.view(np.float16).astype(np.float32))
