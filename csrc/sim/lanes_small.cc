// Numbers of 8, 6 and 4 bits: conversions, with and without a scale, rounded to the nearest or at random.
#include "sim/lanes.h"

namespace sim::SIM_BUILD {
namespace {

enum class Kind : std::uint8_t { f32, f16, bf16, fp8, bf8, fp6, bf6, fp4, fp8_old, bf8_old }; // old: gfx942's, without -0

// A short format: places of the fraction, bias, the highest code of a number, the codes of what is beyond and of NaN.
struct Format {
  u32 bits, fraction, bias, most, beyond, nan;
};
constexpr Format formats[] = {
    {32, 0, 0, 0, 0, 0}, {16, 10, 15, 0x7bff, 0x7c00, 0x7e00}, {16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0},
    {8, 3, 7, 0x7e, 0x7f, 0x7f}, {8, 2, 15, 0x7b, 0x7c, 0x7f}, {6, 3, 1, 0x1f, 0x1f, 0x1f}, {6, 2, 3, 0x1f, 0x1f, 0x1f},
    {4, 1, 1, 7, 7, 7}, {8, 3, 8, 0x7f, 0x80, 0x80}, {8, 2, 16, 0x7f, 0x80, 0x80},
};
constexpr const Format& format_of(Kind kind) { return formats[static_cast<unsigned>(kind)]; }
constexpr bool is_old(Kind kind) { return kind == Kind::fp8_old || kind == Kind::bf8_old; }

// The code of a number; `random` adds so many 2^-32 of the last place, and what is then beyond it is cut.
u32 encoded(Kind kind, f64 value, bool at_random, u32 random) {
  if (kind == Kind::f32) return bits_of(static_cast<f32>(value));
  const Format& f = format_of(kind);
  const u32 sign = static_cast<u32>(bits_of(value) >> 63) << (f.bits - 1);
  const f64 magnitude = std::fabs(value);
  if (value != value) return is_old(kind) ? f.nan : sign | f.nan;
  if (magnitude > 0x1p200) return is_old(kind) ? f.beyond : sign | f.beyond;
  const int lowest = 1 - static_cast<int>(f.bias);
  int exponent = static_cast<int>(bits_of(magnitude) >> 52) - 1023;
  exponent = exponent < lowest ? lowest : exponent;
  const f64 places = magnitude * power_of_two(static_cast<int>(f.fraction) - exponent);
  const f64 whole = at_random ? std::floor(places + random * 0x1p-32) : __builtin_roundeven(places);
  const u32 code = (static_cast<u32>(exponent - lowest) << f.fraction) + static_cast<u32>(whole);
  if (code > f.most) return is_old(kind) ? f.beyond : sign | f.beyond;
  return is_old(kind) && code == 0 ? 0 : sign | code;
}

f64 decoded(Kind kind, u32 code) {
  if (kind == Kind::f32) return float_of(code);
  const Format& f = format_of(kind);
  const u32 magnitude = code & ((1u << (f.bits - 1)) - 1), sign = code >> (f.bits - 1);
  const f64 nan = std::numeric_limits<f64>::quiet_NaN();
  if (is_old(kind)) {
    if (code == 0x80) return nan;
  } else if (magnitude > f.most) {
    const bool infinite = kind != Kind::fp8 && magnitude == f.beyond;
    return infinite ? (sign != 0 ? -1.0 : 1.0) * std::numeric_limits<f64>::infinity() : nan;
  }
  const u32 exponent = magnitude >> f.fraction, places = magnitude & ((1u << f.fraction) - 1);
  const f64 value = exponent == 0 ? places * power_of_two(1 - static_cast<int>(f.bias + f.fraction))
                                  : (places + (1u << f.fraction)) * power_of_two(static_cast<int>(exponent) - static_cast<int>(f.bias + f.fraction));
  return sign != 0 ? -value : value;
}

// A field of a value that lies in consecutive registers.
u32 get(const u32* rows, unsigned lane, unsigned at, unsigned bits) {
  const u64 two = rows[64 * (at / 32) + lane] | (at % 32 + bits > 32 ? u64{rows[64 * (at / 32 + 1) + lane]} << 32 : 0);
  return static_cast<u32>(two >> at % 32 & ((u64{1} << bits) - 1));
}
void put(u32* rows, unsigned lane, unsigned at, unsigned bits, u32 value) {
  for (unsigned done = 0; done < bits;) {
    const unsigned place = (at + done) % 32, count = bits - done < 32 - place ? bits - done : 32 - place;
    const u32 mask = static_cast<u32>((u64{1} << count) - 1);
    u32& row = rows[64 * ((at + done) / 32) + lane];
    row = (row & ~(mask << place)) | (value >> done & mask) << place;
    done += count;
  }
}

f64 scale_of(u32 bits) {
  const u32 exponent = bits >> 23 & 255;
  return exponent == 255 ? std::numeric_limits<f64>::quiet_NaN() : power_of_two(static_cast<i32>(exponent) - 127);
}

// Where op_sel puts the result or finds the source: fields of so many bits, by bits of op_sel from `first` on.
constexpr unsigned place(u32 op_sel, unsigned first, unsigned mask, unsigned bits) { return (op_sel >> first & mask) * bits; }

enum class Shape : std::uint8_t {
  pair,        // two numbers of f32 in two registers, or of one register
  single,      // one number
  many,        // 32 numbers
  interleaved, // 16 numbers of each of two sources, in turn
};

template <Kind from, Kind to, Shape shape, bool at_random, bool scaled = true>
void convert(const Rows& rows) {
  constexpr bool small_result = format_of(to).bits < 16, two_sources = (shape == Shape::pair && from == Kind::f32 && !at_random) || shape == Shape::interleaved;
  constexpr unsigned in_bits = format_of(from).bits, out_bits = format_of(to).bits;
  constexpr unsigned count = shape == Shape::pair ? 2 : shape == Shape::single ? 1 : 32;
  constexpr unsigned scale_at = 1 + (two_sources ? 1 : 0) + (at_random ? 1 : 0);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 op_sel = rows.in[3][lane];
    const f64 scale = scaled ? scale_of(rows.in[scale_at][lane]) : 1.0;
    u32 random = at_random ? rows.in[1][lane] : 0;
    unsigned in_at = 0, out_at = 0;
    if (shape == Shape::pair || shape == Shape::single) {
      constexpr unsigned width = count * (small_result ? out_bits : in_bits);
      if (small_result) out_at = width == 16 ? place(op_sel, 3, 1, 16) : place(op_sel, 2, 3, 8);
      else in_at = width == 16 ? place(op_sel, 0, 1, 16) : place(op_sel, 0, 3, 8);
      if (small_result && shape == Shape::single && in_bits == 16) in_at = place(op_sel, 0, 1, 16);
      if (!small_result && shape == Shape::single && out_bits == 16) out_at = place(op_sel, 3, 1, 16);
    }
    for (unsigned i = 0; i < count; ++i) {
      const unsigned source = two_sources ? i % 2 : 0, index = two_sources ? i / 2 : i;
      const f64 value = decoded(from, get(rows.in[source], lane, in_at + index * in_bits, in_bits));
      const f64 result = small_result ? value / scale : value * scale;
      put(rows.out, lane, out_at + i * out_bits, out_bits, encoded(to, result, at_random, random));
      random = random << 1 ^ (random >> 31) * 197;
    }
  }
}

// The conversions that came before scales; both formats of 8 bits are converted alike, `old` ones on gfx942.
template <Kind kind, unsigned count>
void widen(const Rows& rows) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned i = 0; i < count; ++i) rows.out[64 * i + lane] = bits_of(static_cast<f32>(decoded(kind, rows.in[0][lane] >> 8 * i & 255)));
  }
}
// Random bits for f32 to a short format: as many as are cut off.
template <Kind to>
void shorten_at_random(const Rows& rows) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u32 code = encoded(to, float_of(rows.in[0][lane]), true, rows.in[1][lane]), op_sel = rows.in[3][lane];
    constexpr unsigned bits = format_of(to).bits;
    put(rows.out, lane, bits == 16 ? place(op_sel, 3, 1, 16) : place(op_sel, 2, 3, 8), bits, code);
  }
}

// Four masked sums of differences, 32 bits each.
void mqsad_u32_u8(const Rows& rows) {
  for (unsigned lane = 0; lane < 64; ++lane) {
    const u64 a = rows.in[0][lane] | u64{rows.in[0][64 + lane]} << 32;
    const u32 b = rows.in[1][lane];
    for (unsigned i = 0; i < 4; ++i) {
      u32 sum = rows.in[2][64 * i + lane];
      for (unsigned k = 0; k < 4; ++k) {
        const u32 x = static_cast<u32>(a >> 8 * (i + k) & 255), y = b >> 8 * k & 255;
        sum += y == 0 ? 0 : x > y ? x - y : y - x;
      }
      rows.out[64 * i + lane] = sum;
    }
  }
}

// A kernel on whole values: its operands' widths are those of the table, the row in[3] holds op_sel.
constexpr LaneEntry whole(std::string_view name, LaneLoop run, std::uint8_t count) {
  return {name, run, Type::wide, count, {Type::wide, Type::wide, Type::wide, Type::wide}, false};
}

#define SIM_BOTH(name, from, to, shape, random, count)                                              \
  whole("v_cvt_scalef32_" name, &convert<Kind::from, Kind::to, Shape::shape, random>, count)
#define SIM_EIGHT(kind, text)                                                                       \
  SIM_BOTH("pk_" text "_f32", f32, kind, pair, false, 3), SIM_BOTH("sr_" text "_f32", f32, kind, single, true, 3), \
  SIM_BOTH("pk_f32_" text, kind, f32, pair, false, 2), SIM_BOTH("f32_" text, kind, f32, single, false, 2),         \
  SIM_BOTH("pk_" text "_f16", f16, kind, pair, false, 2), SIM_BOTH("sr_" text "_f16", f16, kind, single, true, 3), \
  SIM_BOTH("pk_" text "_bf16", bf16, kind, pair, false, 2), SIM_BOTH("sr_" text "_bf16", bf16, kind, single, true, 3), \
  SIM_BOTH("pk_f16_" text, kind, f16, pair, false, 2), SIM_BOTH("f16_" text, kind, f16, single, false, 2),         \
  SIM_BOTH("pk_bf16_" text, kind, bf16, pair, false, 2)
#define SIM_SIX(kind, text)                                                                         \
  SIM_BOTH("2xpk16_" text "_f32", f32, kind, interleaved, false, 3), SIM_BOTH("sr_pk32_" text "_f32", f32, kind, many, true, 3), \
  SIM_BOTH("pk32_f32_" text, kind, f32, many, false, 2), SIM_BOTH("pk32_" text "_f16", f16, kind, many, false, 2), \
  SIM_BOTH("pk32_" text "_bf16", bf16, kind, many, false, 2), SIM_BOTH("sr_pk32_" text "_f16", f16, kind, many, true, 3), \
  SIM_BOTH("sr_pk32_" text "_bf16", bf16, kind, many, true, 3), SIM_BOTH("pk32_f16_" text, kind, f16, many, false, 2), \
  SIM_BOTH("pk32_bf16_" text, kind, bf16, many, false, 2)
#define SIM_PLAIN(kind, text, suffix)                                                               \
  whole("v_cvt_f32_" text suffix, &widen<Kind::kind, 1>, 1), whole("v_cvt_pk_f32_" text suffix, &widen<Kind::kind, 2>, 1), \
  whole("v_cvt_pk_" text "_f32" suffix, &convert<Kind::f32, Kind::kind, Shape::pair, false, false>, 2), \
  whole("v_cvt_sr_" text "_f32" suffix, &shorten_at_random<Kind::kind>, 2)

constexpr LaneEntry table[] = {
    SIM_EIGHT(fp8, "fp8"), SIM_EIGHT(bf8, "bf8"), SIM_SIX(fp6, "fp6"), SIM_SIX(bf6, "bf6"),
    SIM_BOTH("pk_fp4_f32", f32, fp4, pair, false, 3), SIM_BOTH("sr_pk_fp4_f32", f32, fp4, pair, true, 3),
    SIM_BOTH("pk_f32_fp4", fp4, f32, pair, false, 2), SIM_BOTH("pk_fp4_f16", f16, fp4, pair, false, 2),
    SIM_BOTH("pk_fp4_bf16", bf16, fp4, pair, false, 2), SIM_BOTH("sr_pk_fp4_f16", f16, fp4, pair, true, 3),
    SIM_BOTH("sr_pk_fp4_bf16", bf16, fp4, pair, true, 3), SIM_BOTH("pk_f16_fp4", fp4, f16, pair, false, 2),
    SIM_BOTH("pk_bf16_fp4", fp4, bf16, pair, false, 2),
    SIM_PLAIN(fp8, "fp8", ""), SIM_PLAIN(bf8, "bf8", ""), SIM_PLAIN(fp8_old, "fp8", ":old"), SIM_PLAIN(bf8_old, "bf8", ":old"),
    whole("v_cvt_sr_f16_f32", &shorten_at_random<Kind::f16>, 2), whole("v_cvt_sr_bf16_f32", &shorten_at_random<Kind::bf16>, 2),
    whole("v_mqsad_u32_u8", &mqsad_u32_u8, 3),
};

} // namespace

std::span<const LaneEntry> lanes_small() { return table; }

} // namespace sim::SIM_BUILD
