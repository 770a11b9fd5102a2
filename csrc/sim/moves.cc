// Loads and stores: what moves between registers and the places that `Lanes` names.
#include "sim/memory.h"

namespace sim {
namespace {

template <typename T>
T read(std::uint64_t at) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return value;
}

template <typename T>
void write(std::uint64_t at, T value) {
  std::memcpy(reinterpret_cast<void*>(at), &value, sizeof value);
}

// A part of a register, extended to all of it as T's sign says.
template <typename T>
std::uint32_t read_part(const Lanes& lanes, unsigned lane) {
  return (lanes.valid[0] >> lane & 1) != 0 ? static_cast<std::uint32_t>(std::int32_t{read<T>(lanes.at[lane])}) : 0;
}

template <typename T>
void load_part(Wave& wave, const Op& op, const Lanes& lanes) {
  each_lane(lanes.on, [&](unsigned lane) { wave.vgpr[op.out][lane] = read_part<T>(lanes, lane); });
}

// Fills one half of a register and keeps the other.
template <typename T, bool high>
void load_half(Wave& wave, const Op& op, const Lanes& lanes) {
  each_lane(lanes.on, [&](unsigned lane) {
    std::uint32_t& to = wave.vgpr[op.out][lane];
    const std::uint32_t half = read_part<T>(lanes, lane) & 0xffff;
    to = high ? (to & 0xffff) | half << 16 : (to & 0xffff0000) | half;
  });
}

template <typename T, unsigned shift>
void store_part(Wave& wave, const Op& op, const Lanes& lanes) {
  const std::uint32_t* from = wave.vgpr[op.source[at_data].reg];
  each_lane(lanes.on & lanes.valid[0], [&](unsigned lane) { write(lanes.at[lane], static_cast<T>(from[lane] >> shift)); });
}

// Whether all lanes are in range with each of their dwords, which lie side by side.
template <unsigned count>
bool plain(const Lanes& lanes) {
  bool all = lanes.step == 4;
  for (unsigned i = 0; i < count; ++i) all = all && lanes.valid[i] == lanes.on;
  return all;
}

template <unsigned count>
void load_dwords(Wave& wave, const Op& op, const Lanes& lanes) {
  std::uint32_t(*to)[lane_count] = &wave.vgpr[op.out];
  if (plain<count>(lanes)) {
    each_lane(lanes.on, [&](unsigned lane) {
      std::uint32_t value[count];
      std::memcpy(value, reinterpret_cast<const void*>(lanes.at[lane]), sizeof value);
      for (unsigned i = 0; i < count; ++i) to[i][lane] = value[i];
    });
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    each_lane(lanes.on, [&](unsigned lane) {
      to[i][lane] = (lanes.valid[i] >> lane & 1) != 0 ? read<std::uint32_t>(lanes.at[lane] + i * lanes.step) : 0;
    });
  }
}

template <unsigned count>
void store_dwords(Wave& wave, const Op& op, const Lanes& lanes) {
  const std::uint32_t(*from)[lane_count] = &wave.vgpr[op.source[at_data].reg];
  if (plain<count>(lanes)) {
    each_lane(lanes.on, [&](unsigned lane) {
      std::uint32_t value[count];
      for (unsigned i = 0; i < count; ++i) value[i] = from[i][lane];
      std::memcpy(reinterpret_cast<void*>(lanes.at[lane]), value, sizeof value);
    });
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    each_lane(lanes.on & lanes.valid[i], [&](unsigned lane) { write(lanes.at[lane] + i * lanes.step, from[i][lane]); });
  }
}

// From memory straight into LDS: M0 has where the wave's lanes start there, and the offset counts on both sides.
std::uint64_t lds_start(const Wave& wave, const Op& op, unsigned bytes) {
  const std::uint32_t m0 = wave.sgpr[code_m0], base = op.in->arch == Arch::gfx950 ? m0 : m0 & 0xffff;
  const auto start = static_cast<std::int64_t>(base) + op.in->mods.offset;
  if (start < 0 || start + std::int64_t{bytes} * lane_count > static_cast<std::int64_t>(lds_size(wave))) {
    fail_at(op, "a load into LDS from byte " + std::to_string(start) + " on, of LDS of " + std::to_string(lds_size(wave)) + " bytes");
  }
  return lds_base(wave) + static_cast<std::uint64_t>(start);
}

template <typename T>
void load_lds_part(Wave& wave, const Op& op, const Lanes& lanes) {
  const std::uint64_t to = lds_start(wave, op, 4);
  each_lane(lanes.on, [&](unsigned lane) { write(to + 4 * lane, read_part<T>(lanes, lane)); });
}

template <unsigned count>
void load_lds_dwords(Wave& wave, const Op& op, const Lanes& lanes) {
  const std::uint64_t to = lds_start(wave, op, 4 * count);
  each_lane(lanes.on, [&](unsigned lane) {
    for (unsigned i = 0; i < count; ++i) {
      const bool valid = (lanes.valid[i] >> lane & 1) != 0;
      write(to + 4 * (count * lane + i), valid ? read<std::uint32_t>(lanes.at[lane] + i * lanes.step) : 0);
    }
  });
}

using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;

constexpr Access table[] = {
    {"load_ubyte", load_part<u8>, 1, true, false},
    {"load_sbyte", load_part<i8>, 1, true, false},
    {"load_ushort", load_part<u16>, 2, true, false},
    {"load_sshort", load_part<i16>, 2, true, false},
    {"load_dword", load_dwords<1>, 4, true, false},
    {"load_dwordx2", load_dwords<2>, 8, true, false},
    {"load_dwordx3", load_dwords<3>, 12, true, false},
    {"load_dwordx4", load_dwords<4>, 16, true, false},
    {"load_ubyte_d16", load_half<u8, false>, 1, true, false},
    {"load_ubyte_d16_hi", load_half<u8, true>, 1, true, false},
    {"load_sbyte_d16", load_half<i8, false>, 1, true, false},
    {"load_sbyte_d16_hi", load_half<i8, true>, 1, true, false},
    {"load_short_d16", load_half<u16, false>, 2, true, false},
    {"load_short_d16_hi", load_half<u16, true>, 2, true, false},
    {"load_lds_ubyte", load_lds_part<u8>, 1, true, false},
    {"load_lds_sbyte", load_lds_part<i8>, 1, true, false},
    {"load_lds_ushort", load_lds_part<u16>, 2, true, false},
    {"load_lds_sshort", load_lds_part<i16>, 2, true, false},
    {"load_lds_dword", load_lds_dwords<1>, 4, true, false},
    {"load_lds_dwordx3", load_lds_dwords<3>, 12, true, false},
    {"load_lds_dwordx4", load_lds_dwords<4>, 16, true, false},
    {"store_byte", store_part<u8, 0>, 1, false, true},
    {"store_byte_d16_hi", store_part<u8, 16>, 1, false, true},
    {"store_short", store_part<u16, 0>, 2, false, true},
    {"store_short_d16_hi", store_part<u16, 16>, 2, false, true},
    {"store_dword", store_dwords<1>, 4, false, true},
    {"store_dwordx2", store_dwords<2>, 8, false, true},
    {"store_dwordx3", store_dwords<3>, 12, false, true},
    {"store_dwordx4", store_dwords<4>, 16, false, true},

    {"ds_read_u8", load_part<u8>, 1, true, false},
    {"ds_read_i8", load_part<i8>, 1, true, false},
    {"ds_read_u16", load_part<u16>, 2, true, false},
    {"ds_read_i16", load_part<i16>, 2, true, false},
    {"ds_read_b32", load_dwords<1>, 4, true, false},
    {"ds_read_b64", load_dwords<2>, 8, true, false},
    {"ds_read_b96", load_dwords<3>, 12, true, false},
    {"ds_read_b128", load_dwords<4>, 16, true, false},
    {"ds_read_addtid_b32", load_dwords<1>, 4, true, false},
    {"ds_read_u8_d16", load_half<u8, false>, 1, true, false},
    {"ds_read_u8_d16_hi", load_half<u8, true>, 1, true, false},
    {"ds_read_i8_d16", load_half<i8, false>, 1, true, false},
    {"ds_read_i8_d16_hi", load_half<i8, true>, 1, true, false},
    {"ds_read_u16_d16", load_half<u16, false>, 2, true, false},
    {"ds_read_u16_d16_hi", load_half<u16, true>, 2, true, false},
    {"ds_write_b8", store_part<u8, 0>, 1, false, true},
    {"ds_write_b8_d16_hi", store_part<u8, 16>, 1, false, true},
    {"ds_write_b16", store_part<u16, 0>, 2, false, true},
    {"ds_write_b16_d16_hi", store_part<u16, 16>, 2, false, true},
    {"ds_write_b32", store_dwords<1>, 4, false, true},
    {"ds_write_b64", store_dwords<2>, 8, false, true},
    {"ds_write_b96", store_dwords<3>, 12, false, true},
    {"ds_write_b128", store_dwords<4>, 16, false, true},
    {"ds_write_addtid_b32", store_dwords<1>, 4, false, true},
};

} // namespace

std::span<const Access> moves() { return table; }

} // namespace sim
