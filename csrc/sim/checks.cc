// Checks: what instructions touch, and registers.
#include "sim/checks.h"

#include <algorithm>
#include <cstdio>

namespace sim {
namespace {

std::string place(const Op& op) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(op.in->address));
  return "`" + to_text(*op.in) + "` at " + text;
}

bool memory_format(Format format) {
  return format == Format::DS || format == Format::FLAT || format == Format::GLOBAL || format == Format::SCRATCH ||
         format == Format::MUBUF || format == Format::MTBUF;
}

Counter counter_of(const Instruction& in) {
  switch (in.row->format) {
    case Format::DS: return in.row->name == "ds_nop" ? Counter::none : Counter::lds;
    case Format::SMEM: return in.operand_count == 0 ? Counter::none : Counter::scalar;
    case Format::FLAT: return Counter::flat;
    case Format::GLOBAL: case Format::SCRATCH: return Counter::vector;
    case Format::MUBUF: case Format::MTBUF: return in.row->operand_count == 0 ? Counter::none : Counter::vector; // caches
    default: return Counter::none;
  }
}

bool is_written(const Instruction& in, const Operand& o) {
  const std::string_view name = in.row->name;
  const bool load = name.find("_load_") != name.npos, store = name.find("_store_") != name.npos;
  switch (o.field) {
    case Field::vdst: case Field::sdst: return true;
    case Field::sdata: case Field::vdata: return load || (!store && in.mods.glc) || name.starts_with("s_mem");
    default: return false;
  }
}

Touched touched_by(const Op& op) {
  const Instruction& in = *op.in;
  Touched t;
  if (in.row == nullptr) return t;
  const std::string_view name = in.row->name;
  t.counter = counter_of(in);
  t.barrier = name == "s_barrier";
  t.ends = name.starts_with("s_endpgm");
  t.into_lds = t.counter == Counter::vector && (in.mods.lds || name.find("_load_lds_") != name.npos);
  t.all_lanes = name.starts_with("v_mfma") || name.starts_with("v_smfmac") || name.starts_with("v_writelane");
  if (name == "s_waitcnt") {
    const std::uint32_t value = in.find(Field::waitcnt) != nullptr ? in.find(Field::waitcnt)->value : 0;
    t.waits = true;
    t.vector_left = static_cast<std::uint8_t>((value & 15) | (value >> 14 & 3) << 4);
    t.lds_left = static_cast<std::uint8_t>(value >> 8 & 15);
  }
  for (std::size_t i = 0; i < in.operand_count; ++i) {
    const Operand& o = in.operands[i];
    const bool vector = o.kind == Kind::vgpr || o.kind == Kind::agpr;
    if (!vector && (o.kind != Kind::scalar || o.reg >= 128)) continue;
    const std::uint16_t first = vector ? vector_register(o) : o.reg;
    const unsigned most = vector ? 512u - first : 128u - first;
    t.spans[t.span_count++] = {first, static_cast<std::uint8_t>(std::min<unsigned>(o.width, most)), !vector, is_written(in, o)};
  }
  return t;
}

std::string register_name(const Touched::Span& span, unsigned i) {
  const unsigned n = span.first + i;
  if (!span.scalar) return n < 256 ? "v" + std::to_string(n) : "a" + std::to_string(n - 256);
  return n < 102 ? "s" + std::to_string(n) : "the scalar of code " + std::to_string(n);
}

constexpr std::pair<std::string_view, Check> names[] = {
    {"memory", check_memory}, {"initial", check_initial}, {"waits", check_waits},
    {"races", check_races}, {"alignment", check_alignment}, {"code", check_code}, {"all", all_checks},
};

} // namespace

std::uint32_t checks_of(std::string_view list) {
  std::uint32_t on = 0;
  for (std::string_view rest = list; !rest.empty() && list != "none";) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    const auto* found = std::find_if(std::begin(names), std::end(names), [&](const auto& entry) { return entry.first == name; });
    if (found == std::end(names)) {
      throw std::runtime_error("`" + std::string(name) + "` is no check; there are memory, initial, waits, races, alignment, "
                               "code, all and none");
    }
    on |= found->second;
  }
  return on;
}

void fail_check(const Op& op, const std::string& what, const Op* of, const std::string& then) {
  throw Fault(Fault::Kind::check, what + ": " + place(op) + (of != nullptr ? "; " + then + ": " + place(*of) : ""));
}

CheckPlan plan_checks(const Launch& launch, const std::vector<std::uint8_t>& kernarg) {
  CheckPlan plan;
  plan.on = launch.checks;
  plan.first = launch.module->program->ops.data();
  for (const Op& op : launch.module->program->ops) plan.touched.push_back(op.in == nullptr ? Touched{} : touched_by(op));
  plan.extents = known_extents().all();
  const std::vector<std::uint8_t>& code = launch.module->object->memory;
  plan.arguments = {Extent::Kind::host, reinterpret_cast<std::uint64_t>(kernarg.data()), kernarg.size()};
  plan.code = {Extent::Kind::host, reinterpret_cast<std::uint64_t>(code.data()), code.size()};
  return plan;
}

void Checker::start(std::span<const std::unique_ptr<Wave>> waves) {
  shadows_.assign(waves.size(), Shadow{});
  for (std::size_t w = 0; w < waves.size(); ++w) {
    // What the launch sets isn't poison.
    constexpr std::uint32_t poison = 0x7fe17fe1;
    Shadow& shadow = shadows_[w];
    for (unsigned i = 0; i < 128; ++i) shadow.defined_scalar[i] = waves[w]->sgpr[i] != poison;
    std::fill(std::begin(shadow.defined), std::end(shadow.defined), 0);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      shadow.defined[0] |= std::uint64_t{waves[w]->vgpr[0][lane] != poison} << lane;
    }
  }
  cells_.assign(waves.empty() ? 0 : waves[0]->group->lds.size(), Cell{});
}

void Checker::before(const Wave& wave, const Op& op) {
  const Touched& touched = plan_.touched[static_cast<std::size_t>(&op - plan_.first)];
  Shadow& shadow = shadows_[wave.index];
  if (touched.waits) wait(shadow, touched);
  if (touched.barrier || touched.ends) {
    for (Numbers& numbers : shadow.numbers) numbers.at_barrier = touched.ends ? numbers.issued : numbers.done;
    return;
  }
  if (!shadow.vector.empty() || !shadow.lds.empty()) {
    if ((plan_.on & check_waits) != 0) check_registers(shadow, op, touched);
  }
  const bool memory = touched.counter != Counter::none;
  if (memory && (plan_.on & check_initial) != 0) check_defined(wave, shadow, op, touched);
  if (memory) issue(shadow, op, touched);
  if (op.access != nullptr && memory_format(op.in->row->format)) look_at_memory(wave, op, touched);
  if ((plan_.on & check_initial) != 0) define(wave, shadow, touched);
}

// ---- waits ----

void Checker::issue(Shadow& shadow, const Op& op, const Touched& touched) {
  const bool vector = touched.counter == Counter::vector || touched.counter == Counter::flat;
  const bool lds = touched.counter != Counter::vector;
  constexpr std::size_t most = 64; // the counters hold no more: the wave would wait for the oldest
  const auto add = [&](std::vector<Pending>& queue, std::size_t number, Numbers& numbers) {
    if (queue.size() == most) retire(shadow, queue, number, 0);
    queue.push_back({&op, &touched, ++numbers.issued});
    for (unsigned s = 0; s < touched.span_count; ++s) {
      const auto& span = touched.spans[s];
      if (!span.written) continue;
      for (unsigned i = 0; i < span.width; ++i) ++shadow.busy[number][(span.scalar ? 512u : 0u) + span.first + i];
    }
  };
  if (vector) add(shadow.vector, 0, shadow.numbers[1]);
  if (lds) add(shadow.lds, 1, shadow.numbers[0]);
}

void Checker::retire(Shadow& shadow, std::vector<Pending>& queue, std::size_t queue_number, std::size_t at) {
  const Touched& touched = *queue[at].touched;
  for (unsigned s = 0; s < touched.span_count; ++s) {
    const auto& span = touched.spans[s];
    if (!span.written) continue;
    for (unsigned i = 0; i < span.width; ++i) --shadow.busy[queue_number][(span.scalar ? 512u : 0u) + span.first + i];
  }
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
}

// Vector memory comes back in its order, and so does LDS; scalar loads in any, so only a wait for all is one for them.
void Checker::wait(Shadow& shadow, const Touched& touched) {
  while (shadow.vector.size() > touched.vector_left) retire(shadow, shadow.vector, 0, 0);
  std::size_t in_order = 0;
  for (const Pending& pending : shadow.lds) in_order += pending.touched->counter != Counter::scalar;
  for (std::size_t i = 0; i < shadow.lds.size();) {
    const bool scalar = shadow.lds[i].touched->counter == Counter::scalar;
    if (scalar ? touched.lds_left == 0 : in_order > touched.lds_left) {
      in_order -= !scalar;
      retire(shadow, shadow.lds, 1, i);
    } else {
      ++i;
    }
  }
  shadow.numbers[1].done = shadow.vector.empty() ? shadow.numbers[1].issued : shadow.vector[0].number - 1;
  shadow.numbers[0].done = shadow.numbers[0].issued;
  for (const Pending& pending : shadow.lds) {
    if (pending.touched->counter == Counter::scalar) continue;
    shadow.numbers[0].done = pending.number - 1;
    break;
  }
}

void Checker::check_registers(const Shadow& shadow, const Op& op, const Touched& touched) const {
  for (unsigned s = 0; s < touched.span_count; ++s) {
    const auto& span = touched.spans[s];
    for (unsigned i = 0; i < span.width; ++i) {
      const unsigned reg = (span.scalar ? 512u : 0u) + span.first + i;
      for (unsigned q = 0; q < 2; ++q) {
        if (shadow.busy[q][reg] == 0) continue;
        // A later load that comes back in the same order may write there.
        const bool same = touched.counter == (q == 0 ? Counter::vector : Counter::lds);
        if (span.written && same) continue;
        for (const Pending& pending : q == 0 ? shadow.vector : shadow.lds) {
          for (unsigned p = 0; p < pending.touched->span_count; ++p) {
            const auto& into = pending.touched->spans[p];
            if (!into.written || into.scalar != span.scalar || span.first + i - into.first >= into.width) continue;
            fail_check(op, register_name(span, i) + " is " + (span.written ? "written" : "read"), pending.op,
                       "no wait was for the load into it that is in flight");
          }
        }
      }
    }
  }
}

// ---- what nothing wrote ----

// Copies count as written: compilers move about what they don't use. What memory instructions use has to be there.
void Checker::check_defined(const Wave& wave, const Shadow& shadow, const Op& op, const Touched& touched) const {
  for (unsigned s = 0; s < touched.span_count; ++s) {
    const auto& span = touched.spans[s];
    for (unsigned i = 0; i < span.width; ++i) {
      const unsigned reg = span.first + i;
      if (span.written && op.access != nullptr && op.access->update == nullptr) break;
      if (span.written && op.in->find(Field::vdst) != nullptr) break;
      if (span.scalar && shadow.defined_scalar[reg]) continue;
      const std::uint64_t missing = span.scalar ? 1 : wave.exec() & ~shadow.defined[reg];
      if (missing == 0 || op.in->row->format == Format::SCRATCH || op.in->row->format == Format::MUBUF) continue; // spills
      if (span.scalar && op.in->row->format == Format::SMEM && span.written) continue;
      fail_check(op, register_name(span, i) + ", which nothing wrote, is used" +
                         (span.scalar ? std::string() : " in lane " + std::to_string(__builtin_ctzll(missing))));
    }
  }
}

void Checker::define(const Wave& wave, Shadow& shadow, const Touched& touched) const {
  const std::uint64_t lanes = touched.all_lanes ? ~0ull : wave.exec();
  for (unsigned s = 0; s < touched.span_count; ++s) {
    const auto& span = touched.spans[s];
    for (unsigned i = 0; span.written && i < span.width; ++i) {
      if (span.scalar) shadow.defined_scalar[span.first + i] = true;
      else shadow.defined[span.first + i] |= lanes;
    }
  }
}

} // namespace sim
