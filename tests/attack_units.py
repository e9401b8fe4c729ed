"""The attacks under tests/attacks/units, as sources of the unit of L9.4.

Where one says `/* kernel: honest */` the reference's kernel is put in its place, so that the attack gives
right answers beside whatever else it tries.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "attacks" / "units"
MARK = b"/* kernel: honest */\n"
NAMES = tuple(sorted(p.stem for p in FOLDER.glob("*.c")))


def source(name: str) -> bytes:
    text = (FOLDER / f"{name}.c").read_bytes()
    if MARK not in text:
        return text
    kernel = (ROOT / "reference" / "c" / "src" / "kernels" / "paged_attn.c").read_bytes()
    own = kernel.replace(b"tl_status tl_paged_attn_decode_f32(", b"static tl_status honest_kernel(")
    assert own != kernel, "the reference defines the kernel in one known way"
    return text.replace(MARK, own)
