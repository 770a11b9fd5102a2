// Checks: memory and LDS.
#include "sim/checks.h"

#include <algorithm>

namespace sim {
namespace {

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string by(unsigned lane) { return " by lane " + std::to_string(lane); }

// Which of a dword's bytes [from, to) are.
std::uint8_t mask_of(std::uint64_t dword, std::uint64_t from, std::uint64_t to) {
  std::uint8_t mask = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (4 * dword + i >= from && 4 * dword + i < to) mask = static_cast<std::uint8_t>(mask | 1u << i);
  }
  return mask;
}

} // namespace

void Checker::look_at_memory(const Wave& wave, const Op& op, const Touched& touched) {
  const std::uint64_t lds = lds_base(wave), lds_end = lds + lds_size(wave);
  const auto scratch = reinterpret_cast<std::uint64_t>(wave.scratch);
  const std::uint64_t scratch_end = scratch + std::uint64_t{wave.scratch_size} * lane_count;
  for (const Op* part = &op; part != nullptr && part->addresses != nullptr; part = part->second) {
    Lanes lanes;
    part->addresses(wave, *part, lanes);
    const unsigned bytes = part->access->bytes, unit = std::min(bytes, 4u);
    const std::uint64_t outside = lanes.on & ~lanes.valid[0];
    if (op.in->row->format == Format::DS && outside != 0 && (plan_.on & check_memory) != 0) {
      const auto lane = static_cast<unsigned>(__builtin_ctzll(outside));
      fail_check(op, "byte " + std::to_string(static_cast<std::uint32_t>(lanes.at[lane] - lds)) + " of LDS, which has " +
                         std::to_string(lds_size(wave)) + ", is touched" + by(lane));
    }
    each_lane(lanes.on & lanes.valid[0], [&](unsigned lane) {
      const std::uint64_t at = lanes.at[lane];
      const bool in_lds = at >= lds && at < lds_end;
      const std::uint64_t place = in_lds ? at - lds : at;
      if ((plan_.on & check_alignment) != 0 && place % (unit == 3 ? 4 : unit) != 0) {
        fail_check(op, "the address " + hex(place) + (in_lds ? " in LDS" : "") + " isn't a multiple of " + std::to_string(unit) + "," + by(lane));
      }
      if (in_lds) look_at_lds(wave, *part, lane, at - lds, bytes);
      else if ((at < scratch || at >= scratch_end) && lanes.step == 4) {
        // Dwords of a buffer beyond its range aren't touched.
        unsigned valid = bytes;
        while (valid > 4 && (lanes.valid[valid / 4 - 1] >> lane & 1) == 0) valid -= 4;
        look_at_global(*part, lane, at, valid);
      }
    });
    if (touched.into_lds) loads_into_lds(wave, *part, lanes);
  }
}

void Checker::look_at_global(const Op& op, unsigned lane, std::uint64_t at, unsigned bytes) {
  const bool writes = op.access->writes;
  if (writes && (plan_.on & check_code) != 0) {
    const bool code = plan_.code.holds(at, 1), arguments = plan_.arguments.holds(at, 1);
    if (code || arguments) fail_check(op, std::string(code ? "code" : "the arguments") + " at " + hex(at) + " are written" + by(lane));
  }
  if ((plan_.on & check_memory) == 0) return;
  if (last_ != nullptr && last_->holds(at, bytes)) return;
  if (!writes && (plan_.code.holds(at, bytes) || plan_.arguments.holds(at, bytes))) return;
  // Extents may lie within others, so those that begin before are all looked at, the nearest first.
  auto after = std::upper_bound(plan_.extents.begin(), plan_.extents.end(), at,
                                [](std::uint64_t address, const Extent& extent) { return address < extent.address; });
  while (after != plan_.extents.begin()) {
    --after;
    if (!after->holds(at, bytes)) continue;
    last_ = &*after;
    return;
  }
  fail_check(op, "memory at " + hex(at) + ", of which nothing is known, is " + (writes ? "written" : "read") + by(lane));
}

// ---- LDS ----

bool Checker::ordered(const Touch& touch, unsigned wave) const {
  if (touch.op == nullptr || touch.wave == wave) return true;
  return touch.number <= shadows_[touch.wave].numbers[touch.load ? 1 : 0].ordered;
}

void Checker::race(const Op& op, const Wave& wave, const Touch& other, std::uint64_t dword, const char* now, const char* then) const {
  const Numbers& numbers = shadows_[other.wave].numbers[other.load ? 1 : 0];
  const bool waited = other.number <= numbers.done;
  fail_check(op, "wave " + std::to_string(wave.index) + " " + now + " LDS at byte " + std::to_string(4 * dword), other.op,
             "wave " + std::to_string(other.wave) + " " + then + " it, and " +
                 (waited ? "no barrier is between" : "doesn't wait for that before a barrier"));
}

void Checker::read_lds(const Wave& wave, const Op& op, Cell& cell, std::uint64_t dword, const Touch& now) {
  const Touch& w = cell.written;
  if ((plan_.on & check_initial) != 0 && (now.bytes & ~cell.defined) != 0 && !now.atomic) {
    fail_check(op, "LDS at byte " + std::to_string(4 * dword) + ", which nothing wrote, is read");
  }
  if ((w.bytes & now.bytes) != 0 && !(w.atomic && now.atomic)) {
    if ((plan_.on & check_races) != 0 && !ordered(w, wave.index)) race(op, wave, w, dword, "reads", "writes");
    if ((plan_.on & check_waits) != 0 && w.load && w.wave == wave.index && w.number > shadows_[w.wave].numbers[1].done) {
      fail_check(op, "LDS at byte " + std::to_string(4 * dword) + " is read", w.op, "no wait was for the load into it that is in flight");
    }
  }
  // Two waves' reads are enough: whoever writes is another than one of them.
  const auto open = [&](const Touch& touch) {
    return touch.op != nullptr && touch.number > shadows_[touch.wave].numbers[0].ordered;
  };
  Touch& slot = cell.read[open(cell.read[0]) && cell.read[0].wave != now.wave];
  const std::uint8_t before = open(slot) && slot.wave == now.wave ? slot.bytes : 0;
  slot = now;
  slot.bytes = static_cast<std::uint8_t>(now.bytes | before);
}

void Checker::write_lds(const Wave& wave, const Op& op, Cell& cell, std::uint64_t dword, const Touch& now, bool same) {
  if ((plan_.on & check_races) != 0) {
    for (const Touch& r : cell.read) {
      if ((r.bytes & now.bytes) != 0 && !(r.atomic && now.atomic) && !ordered(r, wave.index)) race(op, wave, r, dword, "writes", "reads");
    }
    const Touch& w = cell.written;
    if ((w.bytes & now.bytes) != 0 && !(w.atomic && now.atomic) && !same && !ordered(w, wave.index)) {
      race(op, wave, w, dword, "writes", "writes");
    }
  }
  const std::uint8_t before = cell.written.wave == now.wave && cell.written.number == now.number ? cell.written.bytes : 0;
  cell.written = now;
  cell.written.bytes = static_cast<std::uint8_t>(now.bytes | before);
  cell.defined = static_cast<std::uint8_t>(cell.defined | now.bytes);
}

void Checker::look_at_lds(const Wave& wave, const Op& op, unsigned lane, std::uint64_t offset, unsigned bytes) {
  const Access& access = *op.access;
  Touch now{&op, shadows_[wave.index].numbers[0].issued, static_cast<std::uint8_t>(wave.index), 0, false, access.update != nullptr};
  for (std::uint64_t dword = offset / 4; dword <= (offset + bytes - 1) / 4 && dword < cells_.size(); ++dword) {
    now.bytes = mask_of(dword, offset, offset + bytes);
    // Waves that write what is there already don't disturb each other.
    bool same = false;
    if (access.writes && !access.reads) {
      const std::uint64_t first = std::max(4 * dword, offset), last = std::min(4 * dword + 4, offset + bytes);
      std::uint32_t value[4] = {};
      for (unsigned i = 0; i < (bytes + 3) / 4; ++i) value[i] = wave.vgpr[op.source[at_data].reg + i][lane];
      if (access.name.ends_with("_d16_hi")) value[0] >>= 16;
      same = std::memcmp(reinterpret_cast<const std::uint8_t*>(wave.group->lds.data()) + first,
                         reinterpret_cast<const std::uint8_t*>(value) + (first - offset), last - first) == 0;
    }
    if (access.reads) read_lds(wave, op, cells_[dword], dword, now);
    if (access.writes) write_lds(wave, op, cells_[dword], dword, now, same);
  }
}

void Checker::loads_into_lds(const Wave& wave, const Op& op, const Lanes& lanes) {
  const unsigned bytes = std::max<unsigned>(op.access->bytes, 4);
  const std::uint64_t start = (op.in->arch == Arch::gfx950 ? wave.sgpr[code_m0] : wave.sgpr[code_m0] & 0xffff) +
                              static_cast<std::uint64_t>(std::int64_t{op.offset});
  const Touch now{&op, shadows_[wave.index].numbers[1].issued, static_cast<std::uint8_t>(wave.index), 15, true, false};
  each_lane(lanes.on, [&](unsigned lane) {
    for (unsigned i = 0; i < bytes / 4; ++i) {
      const std::uint64_t dword = start / 4 + lane * bytes / 4 + i;
      if (dword < cells_.size()) write_lds(wave, op, cells_[dword], dword, now, false);
    }
  });
}

void Checker::release() {
  for (Shadow& shadow : shadows_) {
    for (Numbers& numbers : shadow.numbers) numbers.ordered = numbers.at_barrier;
  }
}

} // namespace sim
