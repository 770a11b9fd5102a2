// Damaged packs of all kinds: whatever the bytes, reading ends in an answer or in an error, never in a crash, a read
// outside the file, or memory without bounds. Run it under address sanitizer.
//
//   fuzz_pack [files] [seed] [keep]    `keep`: writes the file that is being read there, to look at after a crash
#include "dispatch/packed_kernel.h"
#include "pack/verify.h"
#include "tests/fake.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sys/resource.h>

using namespace aotriton;
using tests::Buffer;
using tests::Sample;

namespace {

std::mt19937_64 random_bits;

std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_bits() % limit; }
bool one_in(std::uint64_t n) { return below(n) == 0; }

// Numbers that break parsers: ends of ranges, sizes, neighbours of what was there.
std::uint64_t nasty(std::uint64_t was, std::uint64_t size) {
  const std::uint64_t all[] = {0, 1, was + 1, was - 1, was * 2, size, size + 1, size - 1, 0x7f, 0x80, 0xff, 0x7fff,
                               0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, random_bits()};
  return all[below(std::size(all))];
}

void set_number(Buffer& bytes, std::size_t at, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i, number >>= 8) {
    bytes[at + i] = static_cast<std::uint8_t>(number);
  }
}

std::uint64_t number_at(const Buffer& bytes, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) number |= std::uint64_t{bytes[at + i]} << 8 * i;
  return number;
}

// One change to a run of bytes.
void damage(Buffer& bytes) {
  if (bytes.empty()) return;
  const std::size_t at = below(bytes.size()), width = std::size_t{1} << below(4);
  const auto place = [&](std::size_t offset) { return bytes.begin() + static_cast<std::ptrdiff_t>(offset); };
  switch (below(8)) {
    case 0: bytes[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
    case 1: bytes[at] = static_cast<std::uint8_t>(random_bits()); break;
    case 2: case 3: set_number(bytes, at, nasty(number_at(bytes, at, width), bytes.size()), width); break;
    case 4: bytes.resize(at); break;
    case 5: bytes.erase(place(at), place(std::min(bytes.size(), at + width))); break;
    case 6: {
      const std::size_t from = below(bytes.size()), count = std::min(below(64), bytes.size() - std::max(at, from));
      std::memmove(bytes.data() + at, bytes.data() + from, count);
      break;
    }
    default: bytes.insert(place(at), width, static_cast<std::uint8_t>(random_bits()));
  }
}

void damage_some(Buffer& bytes) {
  for (std::uint64_t i = 1 + below(4); i > 0; --i) damage(bytes);
}

// A number of the index at a place where FlatBuffers keep one (all are aligned): lengths, offsets, counts, positions.
void damage_index_number(Buffer& index) {
  const std::size_t width = std::size_t{1} << below(4), at = below(index.size() / width) * width;
  set_number(index, at, nasty(number_at(index, at, width), index.size()), width);
}

// A field of the ZIP's headers: found by their magic.
void damage_zip_field(Buffer& archive) {
  std::vector<std::size_t> headers;
  for (std::size_t i = 0; i + 4 <= archive.size(); ++i) {
    if (archive[i] == 'P' && archive[i + 1] == 'K' && archive[i + 2] < 8) headers.push_back(i);
  }
  if (headers.empty()) return;
  const std::size_t at = headers[below(headers.size())] + below(46), width = one_in(2) ? 2 : 4;
  set_number(archive, at, nasty(number_at(archive, at, width), archive.size()), width);
}

// ---- kinds of damage to a whole pack; each gives the bytes of a file ----

Buffer random_bytes() {
  Buffer bytes(below(5000));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random_bits());
  return bytes;
}

Buffer damaged_bytes(Sample sample) {
  Buffer archive = sample.zip();
  damage_some(archive);
  return archive;
}

Buffer damaged_headers(Sample sample) {
  Buffer archive = sample.zip();
  for (std::uint64_t i = 1 + below(3); i > 0; --i) damage_zip_field(archive);
  return archive;
}

Buffer truncated(Sample sample) {
  Buffer archive = sample.zip();
  archive.resize(below(archive.size()));
  return archive;
}

// The ZIP is sound, the index isn't: so damage gets past the CRC.
Buffer damaged_index(Sample sample) {
  if (one_in(4)) {
    damage_some(sample.index);
  } else {
    for (std::uint64_t i = 1 + below(3); i > 0; --i) damage_index_number(sample.index);
  }
  return sample.zip();
}

Buffer swapped_entries(Sample sample) {
  auto& clusters = sample.clusters;
  for (std::uint64_t i = 1 + below(8); i > 0; --i) {
    auto &a = clusters[below(clusters.size())], &b = clusters[below(clusters.size())];
    switch (below(5)) {
      case 0: std::swap(a.data, b.data); break;
      case 1: std::swap(a.name, b.name); break;
      case 2: a.name = b.name; break;
      case 3: std::swap(a.data, sample.index); break;
      default: a.name[below(a.name.size())] ^= static_cast<char>(1u << below(8));
    }
  }
  return sample.zip();
}

Buffer damaged_clusters(Sample sample) {
  for (auto& cluster : sample.clusters) {
    if (one_in(2)) damage_some(cluster.data);
    if (!one_in(4)) continue;
    const std::size_t at = 4 + 4 * below(3);  // a number of the header
    set_number(cluster.data, at, nasty(number_at(cluster.data, at, 4), cluster.data.size()), 4);
  }
  return sample.zip();
}

// The xz stream is sound, what is in it isn't: directories with wrong offsets, sizes, names.
Buffer damaged_directories(Sample sample) {
  for (auto& cluster : sample.clusters) {
    const auto decoded = pack::read_cluster(cluster.data);
    std::vector<tests::TestImage> images;
    for (const auto& one : decoded->entries) {
      const auto code = decoded->image(one);
      images.push_back({one.name, std::string(code.begin(), code.end()), one.shared, one.threads});
    }
    tests::PlainCluster plain = tests::plain_cluster(images);
    const std::size_t at = below(plain.directory.size() / 4) * (one_in(2) ? 4 : 1);
    set_number(plain.directory, at, nasty(number_at(plain.directory, at, 4), plain.images.size()), 4);
    if (one_in(8)) damage(plain.directory);
    if (one_in(8)) plain.count = static_cast<std::uint32_t>(nasty(plain.count, plain.directory.size()));
    cluster.data = tests::aks2(plain);
  }
  return sample.zip();
}

// Little that becomes much: zeros by the megabyte, headers that claim a gigabyte, many names for one cluster.
Buffer bombs(Sample sample) {
  static const Buffer zeros = tests::aks2({{"bomb", std::string(8u << 20, '\0')}});
  auto& cluster = sample.clusters[below(sample.clusters.size())].data;
  cluster = zeros;
  if (one_in(2)) set_number(cluster, 4, 1u << 30, 4);
  if (one_in(4)) set_number(cluster, 12, 1u << 29, 4);
  if (one_in(4)) set_number(cluster, 8, 1u << 24, 4);
  return sample.zip();
}

using Kind = Buffer (*)(Sample);
struct Named {
  const char* name;
  Kind make;
};
constexpr Named kKinds[] = {
    {"random bytes", [](Sample) { return random_bytes(); }}, {"damaged bytes", damaged_bytes},
    {"damaged headers", damaged_headers}, {"truncated", truncated}, {"damaged index", damaged_index},
    {"swapped entries", swapped_entries}, {"damaged clusters", damaged_clusters},
    {"damaged directories", damaged_directories}, {"bombs", bombs},
};

// ---- what is done with a file: all that a program may do ----

struct Count {
  long opened = 0, chosen = 0, loaded = 0, sound = 0;
};

std::vector<dispatch::Value> some_values(std::size_t count) {
  std::vector<dispatch::Value> values = tests::sample_values();
  values.resize(count);
  for (dispatch::Value& value : values) {
    if (!one_in(6)) continue;
    value = {nasty(value.bits, 64), 1.0, one_in(2) ? AOTRITON_FP16 : AOTRITON_FP32, one_in(2)};
  }
  return values;
}

void use(const std::shared_ptr<const pack::KernelFile>& file, Count& count) {
  count.opened += 1;
  if (pack::index_to_json(file->index()).size() > (std::size_t{1} << 30)) std::abort();
  for (const index::Target* target : *file->index().targets()) {
    tests::FakeDevice fake;
    dispatch::PackedKernel kernel(dispatch::make_plan({file, target, true}), fake.device);
    for (int call = 0; call < 6; ++call) {
      const auto values = call == 0 && kernel.plan().names.size() == tests::kSampleArguments
                              ? tests::sample_values()
                              : some_values(kernel.plan().names.size());
      std::string trace;
      dispatch::Options options;
      options.config = one_in(4) ? static_cast<int>(below(4)) : -1;
      const core::Status status = kernel.run(values, nullptr, options, &trace);
      if (status.ok() || trace.find("\"functional\": {") != trace.npos) count.chosen += 1;
      count.loaded += status.ok();
    }
  }
}

void read_all(const Buffer& bytes, const tests::TemporaryFolder& folder, Count& count) {
  // Exactly as large as the file, so that a sanitizer sees a step beyond it.
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), exact.get() + 1);
  const auto file = pack::KernelFile::of_bytes({exact.get() + 1, bytes.size()}, "fuzz.zip");
  if (file.ok()) use(*file, count);
  std::string report;
  count.sound += pack::verify_zip(folder.write("fuzz.zip", bytes), report).ok();
  // The readers alone, with what stands in front of the ZIP's own checks out of the way.
  (void)pack::read_cluster({exact.get() + 1, bytes.size()});
  (void)pack::read_image({exact.get() + 1, bytes.size()}, "image", 1 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  const long files = argc > 1 ? std::atol(argv[1]) : 2000;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  random_bits.seed(seed);
  const tests::TemporaryFolder folder;
  tests::SampleOptions options;
  options.targets = {"gfx942"};
  options.step = 4;
  options.descriptor = true;
  options.blocks = {{64, 32}};
  const Sample small = tests::make_sample(options);
  const auto start = std::chrono::steady_clock::now();
  Count counts[std::size(kKinds)];
  for (long i = 0; i < files; ++i) {
    const auto kind = static_cast<std::size_t>(i) % std::size(kKinds);
    const Buffer bytes = kKinds[kind].make(small);
    if (argc > 3) {
      std::ofstream(argv[3], std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }
    read_all(bytes, folder, counts[kind]);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%ld files, seed %lu, %.1f s\n", files, seed, spent.count());
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    const Count& count = counts[i];
    std::printf("%-20s %6ld opened %6ld chosen %6ld launched %6ld sound\n", kKinds[i].name, count.opened, count.chosen,
                count.loaded, count.sound);
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("at most %ld MiB of memory\n", usage.ru_maxrss / 1024);
  return 0;
}
