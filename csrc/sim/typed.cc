// Buffers of elements with a format: BUFFER_LOAD_FORMAT_*, BUFFER_STORE_FORMAT_* and MTBUF. The descriptor has the format,
// of MTBUF the instruction.
#include "sim/halves.h"
#include "sim/memory.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sim {
namespace {

enum class Number : std::uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, reserved, floating };

// The components from the lowest bit on.
struct Layout {
  std::uint8_t count, bits[4];
  unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
};

constexpr Layout layouts[16] = {
    {0, {}}, {1, {8}}, {1, {16}}, {2, {8, 8}}, {1, {32}}, {2, {16, 16}}, {3, {11, 11, 10}}, {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}}, {4, {10, 10, 10, 2}}, {4, {8, 8, 8, 8}}, {2, {32, 32}}, {4, {16, 16, 16, 16}}, {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}}, {0, {}},
};

struct Typed {
  Layout layout;
  Number number;
  std::uint8_t select[4]; // what each result is: 0, 1, or from 4 on a component
};

Typed typed_of(const Wave& wave, const Op& op) {
  const std::uint32_t word = wave.sgpr[op.source[at_base].reg + 3];
  const bool own = op.in->row->format == Format::MTBUF;
  const unsigned data = own ? op.in->mods.data_format & 15 : word >> 15 & 15;
  const unsigned number = own ? op.in->mods.data_format >> 4 : word >> 12 & 7;
  Typed t{layouts[data], static_cast<Number>(number), {4, 5, 6, 7}};
  for (unsigned i = 0; i < 4 && !own; ++i) t.select[i] = static_cast<std::uint8_t>(word >> 3 * i & 7);
  const bool small = t.layout.count != 0 && t.layout.bits[t.layout.count - 1] < 10;
  if (t.layout.count == 0 || t.number == Number::reserved || (t.number == Number::floating && small)) {
    fail_at(op, "there is no such format: data format " + std::to_string(data) + ", number format " + std::to_string(number));
  }
  return t;
}

std::int64_t extended(std::uint32_t value, unsigned bits) {
  return static_cast<std::int64_t>(std::uint64_t{value} << (64 - bits)) >> (64 - bits);
}

// A component as its register has it: a float, or an integer where `integers`.
std::uint32_t from_memory(std::uint32_t value, unsigned bits, Number number) {
  const auto real = [](double v) { return std::bit_cast<std::uint32_t>(static_cast<float>(v)); };
  const double most = std::ldexp(1.0, static_cast<int>(bits)) - 1, most_signed = std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
  switch (number) {
    case Number::unorm: return real(value / most);
    case Number::snorm: return real(std::max(-1.0, static_cast<double>(extended(value, bits)) / std::max(most_signed, 1.0)));
    case Number::uscaled: return real(value);
    case Number::sscaled: return real(static_cast<double>(extended(value, bits)));
    case Number::sint: return static_cast<std::uint32_t>(extended(value, bits));
    case Number::floating: return bits == 32 ? value : std::bit_cast<std::uint32_t>(half_value(value << (bits < 16 ? 15 - bits : 0)));
    default: return value;
  }
}

std::uint32_t to_memory(std::uint32_t reg, unsigned bits, Number number) {
  const double value = std::bit_cast<float>(reg), most = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  const double most_signed = std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
  const auto whole = [](double v, double low, double high) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::nearbyint(v >= low ? std::min(v, high) : v < low ? low : 0)));
  };
  switch (number) {
    case Number::unorm: return whole(value * most, 0, most);
    case Number::snorm: return whole(value * most_signed, -most_signed, most_signed);
    case Number::uscaled: return whole(std::trunc(value), 0, most);
    case Number::sscaled: return whole(std::trunc(value), -most_signed - 1, most_signed);
    case Number::floating:
      if (bits == 32) return reg;
      return bits == 16 ? half_of(static_cast<float>(value)) : value > 0 ? half_of(static_cast<float>(value)) >> (15 - bits) : 0;
    default: return reg; // the lowest bits
  }
}

bool is_integer(Number number) { return number == Number::uint || number == Number::sint; }

// An element's bits, dwords `step` apart.
struct Element {
  std::uint32_t dword[4] = {};

  std::uint32_t get(unsigned at, unsigned bits) const {
    const std::uint64_t two = dword[at / 32] | (at / 32 < 3 ? std::uint64_t{dword[at / 32 + 1]} << 32 : 0);
    return static_cast<std::uint32_t>(two >> at % 32 & ((1ull << bits) - 1));
  }
  void put(unsigned at, unsigned bits, std::uint32_t value) {
    dword[at / 32] |= static_cast<std::uint32_t>((value & ((1ull << bits) - 1)) << at % 32);
  }
  template <typename F>
  static void pieces(std::uint64_t at, unsigned bytes, unsigned step, F move) {
    for (unsigned i = 0; i < bytes; i += 4) move(i / 4, at + std::uint64_t{i} / 4 * step, std::min(bytes - i, 4u));
  }
};

struct Shape { // what the name says
  unsigned count;
  bool half, high;
};

Shape shape_of(const Op& op) {
  const std::string_view name = op.in->row->name, last = name.substr(name.rfind('_') + 1);
  return {static_cast<unsigned>(last.size()), name.find("_d16_") != name.npos, name.find("_hi_") != name.npos};
}

void run_typed_load(Wave& wave, const Op& op) {
  const Typed t = typed_of(wave, op);
  const Shape shape = shape_of(op);
  Lanes lanes;
  buffer_places(wave, op, t.layout.bytes(), true, lanes);
  each_lane(lanes.on, [&](unsigned lane) {
    Element element;
    const bool valid = (lanes.valid[0] >> lane & 1) != 0;
    if (valid) {
      Element::pieces(lanes.at[lane], t.layout.bytes(), lanes.step, [&](unsigned i, std::uint64_t at, unsigned bytes) {
        std::memcpy(&element.dword[i], reinterpret_cast<const void*>(at), bytes);
      });
    }
    std::uint32_t components[4] = {0, 0, 0, is_integer(t.number) ? 1u : 0x3f800000u};
    for (unsigned i = 0, at = 0; i < t.layout.count; at += t.layout.bits[i++]) {
      components[i] = from_memory(element.get(at, t.layout.bits[i]), t.layout.bits[i], t.number);
    }
    for (unsigned i = 0; i < shape.count; ++i) {
      const unsigned select = t.select[i];
      std::uint32_t value = select >= 4 && valid ? components[select - 4] : 0;
      if (select == 1) value = is_integer(t.number) ? 1u : 0x3f800000u;
      if (!shape.half) {
        wave.vgpr[op.out + i][lane] = value;
        continue;
      }
      if (!is_integer(t.number)) value = half_of(std::bit_cast<float>(value));
      std::uint32_t& to = wave.vgpr[op.out + i / 2][lane];
      if (shape.high || i % 2 != 0) to = (to & 0xffff) | value << 16;
      else to = (to & 0xffff0000) | (value & 0xffff);
    }
  });
}

void run_typed_store(Wave& wave, const Op& op) {
  const Typed t = typed_of(wave, op);
  const Shape shape = shape_of(op);
  const std::uint32_t(*from)[lane_count] = &wave.vgpr[op.source[at_data].reg];
  Lanes lanes;
  buffer_places(wave, op, t.layout.bytes(), true, lanes);
  each_lane(lanes.on & lanes.valid[0], [&](unsigned lane) {
    Element element;
    for (unsigned i = 0, at = 0; i < t.layout.count; at += t.layout.bits[i++]) {
      std::uint32_t value = 0;
      if (i < shape.count && !shape.half) value = from[i][lane];
      if (i < shape.count && shape.half) {
        value = from[i / 2][lane] >> (shape.high || i % 2 != 0 ? 16 : 0) & 0xffff;
        if (t.number == Number::sint) value = static_cast<std::uint32_t>(extended(value, 16));
        else if (t.number != Number::uint) value = std::bit_cast<std::uint32_t>(half_value(value));
      }
      element.put(at, t.layout.bits[i], to_memory(value, t.layout.bits[i], t.number));
    }
    Element::pieces(lanes.at[lane], t.layout.bytes(), lanes.step, [&](unsigned i, std::uint64_t at, unsigned bytes) {
      std::memcpy(reinterpret_cast<void*>(at), &element.dword[i], bytes);
    });
  });
}

constexpr Access load{"load_format", nullptr, 1, true, false}, store{"store_format", nullptr, 1, false, true};

} // namespace

bool bind_typed(Program& program, Op& op) {
  const bool loads = op.in->row->name.find("_load_") != std::string_view::npos;
  if (op.in->mods.lds || !bind_access(program, op, loads ? &load : &store, nullptr)) return false;
  bind_descriptor(program, op);
  op.run = loads ? run_typed_load : run_typed_store;
  return true;
}

} // namespace sim
