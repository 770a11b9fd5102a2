// Code becomes operations: decoded once, bound to what runs them, constants spread over lanes.
#include "sim/wave.h"

#include <bit>
#include <cstdio>

namespace sim {
namespace {

constexpr float floats[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f, 0.15915494309189532f};
constexpr std::uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr double one_over_two_pi = 0.15915494309189532;

bool wide(Type type) { return type == Type::u64 || type == Type::i64 || type == Type::f64; }

// What a constant or a literal is to an operand of that type.
std::uint64_t constant_value(const Operand& o, Type type) {
  if (o.kind == Kind::immediate) return o.value;
  if (o.kind == Kind::literal) {
    if (type == Type::f64) return std::uint64_t{o.value} << 32;
    return type == Type::i64 ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(o.value)}) : o.value;
  }
  if (o.reg <= 208) return static_cast<std::uint64_t>(std::int64_t{o.reg <= 192 ? o.reg - 128 : 192 - o.reg});
  const unsigned i = o.reg - 240u;
  if (wide(type)) return std::bit_cast<std::uint64_t>(i == 8 ? one_over_two_pi : double{floats[i]});
  if (type == Type::bf16) return std::bit_cast<std::uint32_t>(floats[i]) >> 16;
  if (type == Type::f16 || type == Type::u16 || type == Type::i16 || o.constant != Constant::full) return halves[i];
  return std::bit_cast<std::uint32_t>(floats[i]);
}

std::uint32_t sign_of(Type type) {
  const bool half = type == Type::f16 || type == Type::bf16 || type == Type::u16 || type == Type::i16;
  return half ? 0x8000u : 0x80000000u;
}

void run_unknown(Wave&, const Op& op) { fail_at(op, "the simulator doesn't execute this instruction"); }

void bind(Program& program, Op& op) {
  if (bind_matrix(program, op) || bind_scalar(program, op) || bind_vector(program, op) || bind_memory(program, op)) return;
  op.run = run_unknown;
}

} // namespace

void fail_at(const Op& op, const std::string& what) {
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(op.in->address));
  throw std::runtime_error(what + ": `" + to_text(*op.in) + "` at " + place);
}

Source make_source(Program& program, const Operand& operand, Type type) {
  Source s;
  s.width = wide(type) ? 2 : 1;
  s.type = type;
  s.neg = operand.neg;
  s.abs = operand.abs;
  if (s.neg || s.abs) s.sign_bit = sign_of(type);
  switch (operand.kind) {
    case Kind::vgpr: case Kind::agpr:
      s.kind = Source::Kind::vector;
      s.reg = vector_register(operand);
      return s;
    case Kind::scalar:
      s.kind = Source::Kind::scalar;
      s.reg = operand.reg;
      return s;
    default: break;
  }
  s.kind = Source::Kind::constant;
  s.value = constant_value(operand, type);
  auto rows = std::make_unique<std::uint32_t[]>(2 * lane_count);
  for (unsigned i = 0; i < 2 * lane_count; ++i) rows[i] = static_cast<std::uint32_t>(s.value >> (i < lane_count ? 0 : 32));
  s.lanes = rows.get();
  program.constants.push_back(std::move(rows));
  return s;
}

const Op* Program::entry(std::uint64_t address) const {
  std::size_t low = 0, high = instructions.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (instructions[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low < instructions.size() && instructions[low].address == address ? &ops[low] : nullptr;
}

std::unique_ptr<Program> make_program(const CodeObject& object) {
  auto program = std::make_unique<Program>();
  program->shift = object.loaded(0);
  for (const Segment& segment : object.segments) {
    if (!segment.executable) continue;
    const std::span<const std::uint8_t> code(object.memory.data() + (segment.address - object.base), segment.file_size);
    for (std::uint64_t at = 0; at < code.size();) {
      std::string error;
      auto found = decode(object.arch, code.subspan(at), segment.address + at, error);
      // Between and behind kernels there may be other bytes: they are an error only when they are reached.
      if (!found) {
        found.emplace();
        found->address = segment.address + at;
        found->size = 4;
        program->errors.emplace(program->instructions.size(), error);
      }
      program->instructions.push_back(*found);
      at += found->size;
    }
  }
  program->ops.resize(program->instructions.size() + 1);
  for (std::size_t i = 0; i < program->instructions.size(); ++i) {
    program->ops[i].in = &program->instructions[i];
    const auto wrong = program->errors.find(i);
    if (wrong == program->errors.end()) {
      bind(*program, program->ops[i]);
    } else {
      program->ops[i].error = wrong->second.c_str();
      program->ops[i].run = [](Wave&, const Op& op) { throw std::runtime_error(op.error); };
    }
  }
  Op& end = program->ops.back();
  end.run = [](Wave&, const Op&) { throw std::runtime_error("the program ran past the end of its code"); };
  return program;
}

} // namespace sim
