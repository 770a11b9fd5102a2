// The counts of a launch as JSON, and what is worked out from them.
#include "sim/counts.h"

#include <algorithm>
#include <cstdio>

namespace sim {
namespace {

class Json {
 public:
  Json& open(char bracket) { return separate(), text_ += bracket, fresh_ = true, *this; }
  Json& close(char bracket) { return text_ += bracket, fresh_ = false, *this; }
  Json& key(std::string_view name) {
    separate();
    text(name);
    text_ += ": ";
    fresh_ = true;
    return *this;
  }
  Json& value(std::uint64_t number) { return separate(), text_ += std::to_string(number), *this; }
  Json& value(double number) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", number);
    return separate(), text_ += digits, *this;
  }
  Json& value(std::string_view what) { return separate(), text(what), *this; }
  template <typename T>
  Json& member(std::string_view name, T what) { return key(name).value(what); }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }
  void text(std::string_view what) {
    text_ += '"';
    for (const char c : what) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    }
    text_ += '"';
  }

  std::string text_;
  bool fresh_ = true;
};

// Operations from `first` to `last`, both within.
struct Range {
  std::size_t first = 0, last = 0;
  std::uint64_t executed = 0;
};

// Of the loops that hold no other, the one that most instructions were executed in: from the target of a branch back to it.
Range hottest_loop(const Program& program, const Counts& counts) {
  std::vector<Range> loops;
  for (std::size_t i = 0; i < counts.ops.size(); ++i) {
    const Op* target = program.ops[i].target;
    if (target == nullptr || counts.ops[i].executed == 0 || target > &program.ops[i]) continue;
    Range loop{static_cast<std::size_t>(target - program.ops.data()), i};
    for (std::size_t j = loop.first; j <= loop.last; ++j) loop.executed += counts.ops[j].executed;
    loops.push_back(loop);
  }
  Range best;
  for (const Range& loop : loops) {
    const bool inner = std::none_of(loops.begin(), loops.end(), [&](const Range& other) {
      return other.first >= loop.first && other.last <= loop.last && (other.first != loop.first || other.last != loop.last);
    });
    if (inner && loop.executed > best.executed) best = loop;
  }
  return best;
}

void write_classes(Json& json, const Program& program, const Counts& counts, std::size_t first, std::size_t end) {
  std::array<std::uint64_t, class_count> sums{};
  for (std::size_t i = first; i < std::min(end, counts.ops.size()) && i < program.instructions.size(); ++i) {
    sums[static_cast<std::size_t>(class_of(program.instructions[i]))] += counts.ops[i].executed;
  }
  json.open('{');
  for (std::size_t i = 0; i < class_count; ++i) {
    if (sums[i] != 0) json.member(class_name(static_cast<Class>(i)), sums[i]);
  }
  json.close('}');
}

// The memory instructions that ran: what they touch, those that cost most first.
void write_memory(Json& json, const Program& program, const Counts& counts) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < counts.ops.size() && i < program.instructions.size(); ++i) {
    if (counts.ops[i].bytes != 0) found.push_back(i);
  }
  const auto cost = [&](std::size_t i) { return counts.ops[i].lines + counts.ops[i].cycles; };
  std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  json.open('[');
  for (const std::size_t i : found) {
    const OpCount& count = counts.ops[i];
    json.open('{').member("address", program.instructions[i].address).member("text", std::string_view(to_text(program.instructions[i])));
    json.member("class", class_name(class_of(program.instructions[i]))).member("executed", count.executed).member("bytes", count.bytes);
    if (count.cycles != 0) json.member("cycles", count.cycles).member("cycles_without_conflicts", count.best);
    if (count.lines != 0) json.member("cache_lines", count.lines);
    json.close('}');
  }
  json.close(']');
}

void write_loop(Json& json, const Program& program, const Counts& counts) {
  const Range loop = hottest_loop(program, counts);
  json.key("hottest_loop");
  if (loop.executed == 0) {
    json.open('{').close('}');
    return;
  }
  json.open('{').member("first", program.instructions[loop.first].address).member("last", program.instructions[loop.last].address);
  json.member("executed", loop.executed).member("rounds", counts.ops[loop.last].executed).key("classes");
  write_classes(json, program, counts, loop.first, loop.last + 1);
  json.close('}');
}

} // namespace

std::string report(const Launch& launch, const Counts& counts) {
  const CodeObject& object = *launch.module->object;
  const Program& program = *launch.module->program;
  const Kernel& kernel = *launch.kernel;
  OpCount all, matrix;
  std::uint64_t lanes = 0, vector = 0, scratch = 0;
  for (std::size_t i = 0; i < counts.ops.size() && i < program.instructions.size(); ++i) {
    all.add(counts.ops[i]);
    const Class one = class_of(program.instructions[i]);
    if (one == Class::matrix) matrix.add(counts.ops[i]);
    if (one == Class::scratch) scratch += counts.ops[i].bytes;
    if (one == Class::vector) lanes += counts.ops[i].lanes, vector += counts.ops[i].executed;
  }
  const std::uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  const Occupancy held = occupancy(object, kernel, threads, launch.dynamic_lds);
  Json json;
  json.open('{').member("kernel", std::string_view(kernel.name)).member("target", arch_name(object.arch)).key("grid").open('[');
  for (const std::uint32_t size : launch.grid) json.value(std::uint64_t{size});
  json.close(']').member("threads", std::uint64_t{threads}).member("workgroups", counts.blocks).member("waves", counts.waves);
  json.member("instructions", counts.instructions).key("classes");
  write_classes(json, program, counts, 0, counts.ops.size());
  json.member("matrix_share", all.executed == 0 ? 0.0 : static_cast<double>(matrix.executed) / static_cast<double>(all.executed));
  json.member("vector_lanes_on", vector == 0 ? 0.0 : static_cast<double>(lanes) / static_cast<double>(vector * lane_count));
  write_loop(json, program, counts);
  json.member("lds_bytes", std::uint64_t{kernel.lds_size} + launch.dynamic_lds).member("lds_cycles", all.cycles);
  json.member("lds_cycles_without_conflicts", all.best).member("cache_lines", all.lines).member("bytes", all.bytes);
  json.member("vector_registers", std::uint64_t{kernel.vgpr_count}).member("accumulation_registers", std::uint64_t{kernel.agpr_count});
  json.member("scalar_registers", std::uint64_t{kernel.sgpr_count}).member("scratch_bytes", std::uint64_t{kernel.private_size});
  json.member("scratch_traffic", scratch);
  json.key("occupancy").open('{').member("waves_of_a_simd", std::uint64_t{held.waves}).member("most", std::uint64_t{held.most});
  json.member("limited_by", held.limit).close('}').key("memory");
  write_memory(json, program, counts);
  return json.close('}').take();
}

} // namespace sim
