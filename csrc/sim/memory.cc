// FLAT, GLOBAL and SCRATCH: where each lane's data lies. Addresses are this process's own.
#include "sim/memory.h"

#include <algorithm>
#include <unordered_map>

namespace sim {

const Access* find_access(std::string_view name) {
  static const std::unordered_map<std::string_view, const Access*> all = [] {
    std::unordered_map<std::string_view, const Access*> map;
    for (const auto& table : {moves(), atomics(), lds_moves()}) {
      for (const Access& access : table) map.emplace(access.name, &access);
    }
    return map;
  }();
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

void run_access(Wave& wave, const Op& op) {
  Lanes lanes;
  op.addresses(wave, op, lanes);
  op.access->transfer(wave, op, lanes);
}

std::uint64_t scratch_place(const Wave& wave, const Op& op, unsigned lane, std::uint64_t offset) {
  const unsigned bytes = op.access->bytes;
  if (offset + bytes > wave.scratch_size) {
    fail_at(op, "lane " + std::to_string(lane) + " is at byte " + std::to_string(static_cast<std::int64_t>(offset)) +
                    " of its scratch, which has " + std::to_string(wave.scratch_size));
  }
  const auto start = reinterpret_cast<std::uint64_t>(wave.scratch);
  if (!interleaved(op)) return start + std::uint64_t{lane} * wave.scratch_size + offset;
  if (offset % 4 + std::min(bytes, 4u) > 4) fail_at(op, "lane " + std::to_string(lane) + " has a misaligned address in scratch");
  return start + (offset / 4 * lane_count + lane) * 4 + offset % 4;
}

namespace {

std::uint64_t offset_of(const Op& op) { return static_cast<std::uint64_t>(std::int64_t{op.offset}); }

std::uint64_t pair_of(const Wave& wave, unsigned reg, unsigned lane) {
  return wave.vgpr[reg][lane] | std::uint64_t{wave.vgpr[reg + 1][lane]} << 32;
}

void vector_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  lanes.all_valid(wave.exec());
  const std::uint64_t offset = offset_of(op);
  const unsigned reg = op.source[at_address].reg;
  each_lane(lanes.on, [&](unsigned lane) { lanes.at[lane] = pair_of(wave, reg, lane) + offset; });
}

void scalar_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  lanes.all_valid(wave.exec());
  const std::uint64_t base = scalar_value(wave, op.source[at_base]) + offset_of(op);
  const std::uint32_t* reg = wave.vgpr[op.source[at_address].reg];
  each_lane(lanes.on, [&](unsigned lane) { lanes.at[lane] = base + reg[lane]; });
}

void scratch_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  lanes.all_valid(wave.exec());
  if (interleaved(op)) lanes.step = 4 * lane_count;
  std::uint64_t base = offset_of(op);
  const bool vector = op.source[at_address].kind == Source::Kind::vector;
  if (op.source[at_base].kind != Source::Kind::none) base += scalar_value(wave, op.source[at_base]);
  each_lane(lanes.on, [&](unsigned lane) {
    const std::uint64_t more = vector ? wave.vgpr[op.source[at_address].reg][lane] : 0;
    lanes.at[lane] = scratch_place(wave, op, lane, base + more);
  });
}

// The windows of LDS and of scratch are told by the upper halves of the addresses.
bool in_window(std::uint64_t address, std::uint64_t base) { return address >> 32 == base >> 32; }

void flat_addresses(const Wave& wave, const Op& op, Lanes& lanes) {
  vector_addresses(wave, op, lanes);
  std::uint64_t outside = 0;
  each_lane(lanes.on, [&](unsigned lane) {
    std::uint64_t& at = lanes.at[lane];
    const std::uint64_t offset = at & 0xffffffff;
    if (in_window(at, shared_base)) {
      if (offset + op.access->bytes > lds_size(wave)) outside |= 1ull << lane;
      at = lds_base(wave) + offset;
    } else if (in_window(at, private_base)) {
      at = scratch_place(wave, op, lane, offset);
    }
  });
  for (std::uint64_t& part : lanes.valid) part &= ~outside;
}

// Where scratch is interleaved, the lanes that are in it go by themselves.
void run_flat_interleaved(Wave& wave, const Op& op) {
  Lanes lanes;
  vector_addresses(wave, op, lanes);
  std::uint64_t in_scratch = 0;
  each_lane(lanes.on, [&](unsigned lane) {
    if (in_window(lanes.at[lane], private_base)) in_scratch |= 1ull << lane;
  });
  flat_addresses(wave, op, lanes);
  Lanes others = lanes;
  lanes.step = 4 * lane_count;
  const auto keep = [](Lanes& of, std::uint64_t mask) {
    of.on &= mask;
    for (std::uint64_t& part : of.valid) part &= mask;
  };
  keep(lanes, in_scratch);
  keep(others, ~in_scratch);
  op.access->transfer(wave, op, others);
  op.access->transfer(wave, op, lanes);
}

// Whether an operand's registers exist.
bool exists(const Operand& o) {
  if (o.kind == Kind::vgpr || o.kind == Kind::agpr) return o.reg + o.width <= 256;
  return o.kind != Kind::scalar || o.reg + o.width <= 128 || o.reg >= 235;
}

} // namespace

bool bind_access(Program& program, Op& op, const Access* access, Addresses addresses) {
  const Instruction& in = *op.in;
  if (access == nullptr) return false;
  for (std::size_t i = 0; i < in.operand_count; ++i) {
    if (!exists(in.operands[i])) return false;
  }
  op.run = run_access;
  op.access = access;
  op.addresses = addresses;
  op.offset = in.mods.offset;
  for (const Field field : {Field::vaddr, Field::addr}) {
    const Operand* o = in.find(field);
    if (o != nullptr && o->kind == Kind::vgpr) op.source[at_address] = make_source(program, *o, Type::u32);
  }
  for (const Field field : {Field::data0, Field::vdata}) {
    if (const Operand* o = in.find(field)) op.source[at_data] = make_source(program, *o, Type::u32);
  }
  if (const Operand* o = in.find(Field::data1)) op.source[at_data1] = make_source(program, *o, Type::u32);
  const Operand* out = in.find(Field::vdst);
  if (out == nullptr && (access->update == nullptr ? access->reads : in.mods.glc)) out = in.find(Field::vdata);
  if (out != nullptr) {
    op.out = vector_register(*out);
    op.out_width = out->width;
  }
  return true;
}

bool bind_flat(Program& program, Op& op) {
  const Instruction& in = *op.in;
  std::string name(in.row->name.substr(in.row->name.find('_') + 1));
  if (in.mods.lds) name.replace(0, 4, "load_lds"); // gfx90a's bit
  const Access* access = find_access(name);
  const Operand* base = in.find(Field::saddr);
  const bool scalar = base != nullptr && base->kind == Kind::scalar;
  if (scalar) op.source[at_base] = make_source(program, *base, in.row->format == Format::SCRATCH ? Type::u32 : Type::u64);
  switch (in.row->format) {
    case Format::GLOBAL: return bind_access(program, op, access, scalar ? scalar_addresses : vector_addresses);
    case Format::SCRATCH: return bind_access(program, op, access, scratch_addresses);
    default: break;
  }
  if (!bind_access(program, op, access, flat_addresses)) return false;
  if (interleaved(op)) op.run = run_flat_interleaved;
  return true;
}

bool bind_memory(Program& program, Op& op) {
  switch (op.in->row->format) {
    case Format::SMEM: return bind_smem(program, op);
    case Format::DS: return bind_lds(program, op);
    case Format::FLAT: case Format::GLOBAL: case Format::SCRATCH: return bind_flat(program, op);
    case Format::MUBUF: case Format::MTBUF: return bind_buffer(program, op);
    default: return false;
  }
}

} // namespace sim
