// Damaged code objects and random code: reading and decoding end in an answer or an error, never in a crash or a read
// outside. Run it under address sanitizer.   fuzz_sim [rounds] [seed]
#include "sim/launch.h"
#include "tests/sim_sample.h"

#include <cstdio>
#include <cstdlib>
#include <random>

namespace {

std::mt19937_64 random_bits;

std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_bits() % limit; }

void damage(std::vector<std::uint8_t>& bytes) {
  const std::uint64_t nasty[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff, ~0ull, bytes.size(), random_bits()};
  const std::size_t at = below(bytes.size());
  switch (below(4)) {
    case 0: bytes[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
    case 1: bytes[at] = static_cast<std::uint8_t>(random_bits()); break;
    case 2: bytes.resize(at); break;
    default: {
      const std::uint64_t value = nasty[below(std::size(nasty))];
      std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(std::size_t{1} << below(4), bytes.size() - at));
    }
  }
}

int read_damaged(const std::vector<std::uint8_t>& whole, unsigned long rounds) {
  int good = 0;
  for (unsigned long i = 0; i < rounds; ++i) {
    std::vector<std::uint8_t> bytes = whole;
    for (std::uint64_t count = 1 + below(3); count > 0 && !bytes.empty(); --count) damage(bytes);
    const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end()); // so that a read behind the end is seen
    std::string error;
    const auto object = sim::read_code_object(exact, error);
    if (!object && error.empty()) std::abort();
    if (object) {
      sim::make_program(*object);
      ++good;
    }
  }
  return good;
}

unsigned long decode_random(unsigned long rounds) {
  unsigned long good = 0;
  for (unsigned long i = 0; i < rounds; ++i) {
    std::vector<std::uint8_t> bytes(below(21));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_bits());
    if (bytes.size() >= 4 && below(2) == 0) bytes[3] = static_cast<std::uint8_t>(0xbe + below(0x2d));
    std::string error;
    const auto found = sim::decode(static_cast<sim::Arch>(below(sim::arch_count)), bytes, 64, error);
    if (found ? found->size > bytes.size() || sim::to_text(*found).empty() : error.empty()) std::abort();
    good += found.has_value();
  }
  return good;
}

} // namespace

int main(int count, char** arguments) {
  const unsigned long rounds = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000;
  random_bits.seed(count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 1);
  const aotriton::tests::SampleObject sample({0xbf800000, 0xc0060002, 0x00000000, 0x7e000281, 0xbf8cc07f, 0xbf810000});
  std::string error;
  if (!sim::read_code_object(sample.bytes(), error)) {
    std::printf("the sample isn't read: %s\n", error.c_str());
    return 1;
  }
  const int good = read_damaged(sample.bytes(), rounds);
  std::printf("%d of %lu damaged files were read\n", good, rounds);
  std::printf("%lu of %lu random words were instructions\n", decode_random(100 * rounds), 100 * rounds);
  return 0;
}
