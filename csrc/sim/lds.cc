// DS: LDS, and what moves values between lanes over its wires.
#include "sim/memory.h"

namespace sim {
namespace {

// A lane's byte address, and whether all of its data is within the workgroup's LDS.
void lane_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  const std::uint32_t* reg = wave.vgpr[op.source[at_address].reg];
  const std::uint64_t base = lds_base(wave), size = lds_size(wave);
  const std::uint64_t offset = static_cast<std::uint32_t>(op.offset), bytes = op.access->bytes;
  std::uint64_t outside = 0;
  lanes.on = wave.exec();
  each_lane(lanes.on, [&](unsigned lane) {
    const std::uint64_t at = reg[lane] + offset;
    outside |= std::uint64_t{at + bytes > size} << lane;
    lanes.at[lane] = base + at;
  });
  for (std::uint64_t& part : lanes.valid) part = lanes.on & ~outside;
}

// This one has no use for the lowest bits.
void exchange_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  lane_addresses(wave, op, lanes);
  const std::uint64_t base = lds_base(wave);
  each_lane(lanes.on, [&](unsigned lane) { lanes.at[lane] = base + ((lanes.at[lane] - base) & 0xfff8); });
}

// The lane's number counts instead of a register.
void thread_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  const std::uint64_t start = (wave.sgpr[code_m0] & 0xffff) + static_cast<std::uint32_t>(op.offset);
  std::uint64_t inside = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    inside |= std::uint64_t{start + 4 * lane + 4 <= lds_size(wave)} << lane;
    lanes.at[lane] = lds_base(wave) + start + 4 * lane;
  }
  lanes.on = wave.exec();
  for (std::uint64_t& part : lanes.valid) part = lanes.on & inside;
}

// ---- two addresses ----

void run_pair(Wave& wave, const Op& op) {
  Lanes first, second; // both before anything moves: results may lie where the address lies
  lane_addresses(wave, op, first);
  lane_addresses(wave, *op.second, second);
  op.access->transfer(wave, op, first);
  op.access->transfer(wave, *op.second, second);
}

bool bind_pair(Program& program, Op& op) {
  const Instruction& in = *op.in;
  std::string name(in.row->name);
  const bool far = name.find("2st64") != name.npos;
  name.erase(name.find('2'), far ? 5 : 1); // what each of the two is by itself
  const Access* access = find_access(name);
  if (!bind_access(program, op, access, lane_addresses)) return false;
  const std::int32_t unit = access->bytes * (far ? 64 : 1);
  auto second = std::make_unique<Op>(op);
  op.run = run_pair;
  op.offset = in.mods.offset * unit;
  op.source[at_data1] = {};
  second->offset = in.mods.offset1 * unit;
  second->source[at_data] = second->source[at_data1];
  second->source[at_data1] = {};
  if (op.out_width != 0) {
    op.out_width = second->out_width = access->bytes / 4;
    second->out = static_cast<std::uint16_t>(op.out + access->bytes / 4);
  }
  op.second = second.get();
  program.seconds.push_back(std::move(second));
  return true;
}

// ---- LDS to registers, transposed ----

// Sixteen lanes hold a table of rows, `row` lanes to a row of 16 elements; each lane gets a column.
template <unsigned bits, unsigned dwords>
void transpose(Wave& wave, const Op& op, const Lanes& lanes) {
  constexpr unsigned count = 32 * dwords / bits, row = 16 / count;
  std::uint8_t bytes[lane_count][4 * dwords + 2] = {};
  each_lane(lanes.on & lanes.valid[0], [&](unsigned lane) {
    std::memcpy(bytes[lane], reinterpret_cast<const void*>(lanes.at[lane]), 4 * dwords);
  });
  const auto element = [&](unsigned lane, unsigned i) {
    std::uint16_t two;
    std::memcpy(&two, bytes[lane] + i * bits / 8, 2);
    return (two >> (i * bits % 8)) & ((1u << bits) - 1);
  };
  each_lane(lanes.on, [&](unsigned lane) {
    std::uint32_t value[dwords + 1] = {};
    for (unsigned j = 0; j < count; ++j) {
      const unsigned column = lane % 16, from = lane / 16 * 16 + j * row + column / count;
      const std::uint64_t placed = std::uint64_t{element(from, column % count)} << (j * bits % 32);
      value[j * bits / 32] |= static_cast<std::uint32_t>(placed);
      value[j * bits / 32 + 1] |= static_cast<std::uint32_t>(placed >> 32);
    }
    for (unsigned i = 0; i < dwords; ++i) wave.vgpr[op.out + i][lane] = value[i];
  });
}

constexpr Access table[] = {
    {"ds_read_b64_tr_b16", transpose<16, 2>, 8, true, false},
    {"ds_read_b64_tr_b8", transpose<8, 2>, 8, true, false},
    {"ds_read_b64_tr_b4", transpose<4, 2>, 8, true, false},
    {"ds_read_b96_tr_b6", transpose<6, 3>, 12, true, false},
};

// ---- between lanes ----

unsigned reversed(unsigned n) { // five bits
  unsigned result = 0;
  for (unsigned i = 0; i < 5; ++i) result |= (n >> i & 1) << (4 - i);
  return result;
}

// The lane that lane i takes its value from.
unsigned swizzled(unsigned i, unsigned offset) {
  const unsigned mask = offset & 31, within = i & 31, group = i & 32;
  if (offset >= 0xe000) return group | (reversed(within) >> __builtin_popcount(mask)) | (within & mask);
  if (offset >= 0xc000) {
    const unsigned count = offset >> 5 & 31, turned = (offset >> 10 & 1) != 0 ? within - count : within + count;
    return group | (within & mask) | (turned & 31 & ~mask);
  }
  if (offset >= 0x8000) return (i & ~3u) | (offset >> (2 * (i & 3)) & 3);
  return group | (((within & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

// `from`: the lane of lane i. A lane that is off gives zero.
template <typename F>
void take(Wave& wave, unsigned out, unsigned in, F from) {
  std::uint32_t value[lane_count];
  const std::uint64_t exec = wave.exec();
  for (unsigned i = 0; i < lane_count; ++i) {
    const unsigned lane = from(i);
    value[i] = (exec >> lane & 1) != 0 ? wave.vgpr[in][lane] : 0;
  }
  each_lane(exec, [&](unsigned i) { wave.vgpr[out][i] = value[i]; });
}

void run_swizzle(Wave& wave, const Op& op) {
  const auto offset = static_cast<std::uint32_t>(op.offset);
  take(wave, op.out, op.source[at_address].reg, [&](unsigned i) { return swizzled(i, offset); });
}

unsigned lane_of(const Wave& wave, const Op& op, unsigned lane) {
  return (wave.vgpr[op.source[at_address].reg][lane] + static_cast<std::uint32_t>(op.offset)) / 4 % lane_count;
}

void run_bpermute(Wave& wave, const Op& op) {
  take(wave, op.out, op.source[at_data].reg, [&](unsigned i) { return lane_of(wave, op, i); });
}

void run_permute(Wave& wave, const Op& op) {
  std::uint32_t value[lane_count] = {};
  each_lane(wave.exec(), [&](unsigned i) { value[lane_of(wave, op, i)] = wave.vgpr[op.source[at_data].reg][i]; });
  each_lane(wave.exec(), [&](unsigned i) { wave.vgpr[op.out][i] = value[i]; });
}

// ---- one counter for the wave ----

// Adds the number of lanes that are on, or subtracts it; all get what was there.
template <bool append>
void run_count(Wave& wave, const Op& op) {
  const std::uint64_t at = (wave.sgpr[code_m0] >> 16) + static_cast<std::uint32_t>(op.offset);
  std::uint32_t old = 0;
  if (at / 4 < wave.group->lds.size()) {
    std::uint32_t& counter = wave.group->lds[at / 4];
    const auto count = static_cast<std::uint32_t>(__builtin_popcountll(wave.exec()));
    old = counter;
    counter = append ? old + count : old - count;
  }
  each_lane(wave.exec(), [&](unsigned lane) { wave.vgpr[op.out][lane] = old; });
}

constexpr Access word{"", nullptr, 4, true, true};  // for what only needs its registers settled

Run special(std::string_view name) {
  if (name == "ds_swizzle_b32") return run_swizzle;
  if (name == "ds_permute_b32") return run_permute;
  if (name == "ds_bpermute_b32") return run_bpermute;
  if (name == "ds_append") return run_count<true>;
  if (name == "ds_consume") return run_count<false>;
  if (name == "ds_nop") return [](Wave&, const Op&) {};
  return nullptr;
}

} // namespace

std::span<const Access> lds_moves() { return table; }

bool bind_lds(Program& program, Op& op) {
  const Instruction& in = *op.in;
  if ((in.row->modifiers & two) != 0) return bind_pair(program, op);
  if (const Run run = special(in.row->name)) {
    if (!bind_access(program, op, &word, nullptr)) return false;
    op.run = run;
    op.access = nullptr;
    return true;
  }
  Addresses addresses = lane_addresses;
  if (in.row->name.find("_addtid_") != std::string_view::npos) addresses = thread_addresses;
  if (in.row->name == "ds_condxchg32_rtn_b64") addresses = exchange_addresses;
  return bind_access(program, op, find_access(in.row->name), addresses);
}

} // namespace sim
