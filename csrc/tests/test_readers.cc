// The readers of packs: what they read, and what they say of what they can't.
#include "core/text.h"
#include "pack/kernel_file.h"
#include "pack/verify.h"
#include "tests/check.h"
#include "tests/fake.h"

#include <algorithm>

using namespace aotriton;
using tests::Buffer;
using tests::TemporaryFolder;
using tests::TestEntry;
using tests::TestImage;

static Buffer bytes(const std::string& text) { return Buffer(text.begin(), text.end()); }

static std::string zip_error(const Buffer& archive) {
  const auto zip = pack::Zip::parse(archive);
  if (!zip.ok()) return zip.status().text();
  for (const pack::ZipEntry& entry : zip->entries()) {
    const auto data = zip->checked_data(entry);
    if (!data.ok()) return data.status().text();
  }
  return zip->check_overlaps().text();
}

// A copy with `count` bytes at `offset` replaced by a number.
static Buffer with(Buffer archive, std::size_t offset, std::uint64_t number, int count) {
  for (int i = 0; i < count; ++i) archive.at(offset + i) = static_cast<std::uint8_t>(number >> (8 * i));
  return archive;
}

TEST(zip_entries_are_found_by_name) {
  const Buffer archive = tests::zip({{"b", bytes("second"), true}, {"a", bytes("first")}, {"", bytes("no name")}});
  const auto zip = pack::Zip::parse(archive);
  CHECK(zip.ok());
  CHECK_EQUAL(zip->entries().size(), 3u);
  const std::pair<const char*, const char*> wanted[] = {{"a", "first"}, {"b", "second"}, {"", "no name"}};
  for (const auto& [name, text] : wanted) {
    const pack::ZipEntry* const entry = zip->find(name);
    CHECK(entry != nullptr);
    const auto data = zip->checked_data(*entry);
    CHECK(data.ok() && std::string(data->begin(), data->end()) == text);
  }
  CHECK(zip->find("c") == nullptr);
  const auto aligned = zip->data(*zip->find("b"));
  CHECK_EQUAL((aligned->data() - archive.data()) % 16, 0);
  CHECK_EQUAL(zip_error(archive), "");
}

TEST(zip_with_a_comment_is_read) {
  Buffer archive = tests::zip({{"a", bytes("first")}});
  archive = with(archive, archive.size() - 2, 5, 2);
  tests::put(archive, std::string("hello"));
  CHECK_EQUAL(zip_error(archive), "");
}

TEST(damaged_zips_are_refused) {
  const Buffer good = tests::zip({{"aa", bytes("first")}, {"bb", bytes("other")}});
  const std::size_t local = 0, data = 32, central = 2 * (30 + 2 + 5), end = central + 2 * (46 + 2);
  CHECK_EQUAL(good.size(), end + 22);
  CHECK_CONTAINS(zip_error({}), "no ZIP directory");
  CHECK_CONTAINS(zip_error(Buffer(good.begin(), good.end() - 1)), "no ZIP directory");
  CHECK_CONTAINS(zip_error(Buffer(good.begin() + 1, good.end())), "not where the end record says");
  CHECK_CONTAINS(zip_error(with(good, end + 4, 1, 2)), "split");
  CHECK_CONTAINS(zip_error(with(good, end + 10, 3, 2)), "split");
  CHECK_CONTAINS(zip_error(with(with(good, end + 10, 9, 2), end + 8, 9, 2)), "can't hold 9");
  CHECK_CONTAINS(zip_error(with(with(good, end + 10, 1, 2), end + 8, 1, 2)), "bytes after its last record");
  CHECK_CONTAINS(zip_error(with(good, end + 12, 1u << 30, 4)), "not where the end record says");
  CHECK_CONTAINS(zip_error(with(good, end + 16, 0xffffffff, 4)), "not where the end record says");
  CHECK_CONTAINS(zip_error(with(good, central, 0, 4)), "no directory record");
  CHECK_CONTAINS(zip_error(with(good, central + 8, 1, 2)), "encrypted");
  CHECK_CONTAINS(zip_error(with(good, central + 8, 8, 2)), "flags");
  CHECK_CONTAINS(zip_error(with(good, central + 10, 8, 2)), "compressed (method 8)");
  CHECK_CONTAINS(zip_error(with(good, central + 20, 4, 4)), "two sizes");
  CHECK_CONTAINS(zip_error(with(with(good, central + 20, 1u << 31, 4), central + 24, 1u << 31, 4)), "outside the file");
  CHECK_CONTAINS(zip_error(with(good, central + 28, 60000, 2)), "over the directory's end");
  CHECK_CONTAINS(zip_error(with(good, central + 42, 0xfffffff0, 4)), "outside the file");
  CHECK_CONTAINS(zip_error(with(good, central + 46, 0, 1)), "zero byte");
  CHECK_CONTAINS(zip_error(with(good, central + 46, 'b', 1)), "another name");
  CHECK_CONTAINS(zip_error(with(with(good, central + 46, 'b', 1), central + 47, 'b', 1)), "two entries are named 'bb'");
  CHECK_CONTAINS(zip_error(with(good, local, 0, 4)), "local header of entry 'aa' is not there");
  CHECK_CONTAINS(zip_error(with(good, local + 6, 1, 2)), "encrypted");
  CHECK_CONTAINS(zip_error(with(good, local + 14, 7, 4)), "another CRC");
  CHECK_CONTAINS(zip_error(with(good, local + 18, 7, 4)), "another size");
  CHECK_CONTAINS(zip_error(with(good, local + 26, 1, 2)), "another name");
  CHECK_CONTAINS(zip_error(with(good, local + 28, 60000, 2)), "outside the file");
  CHECK_CONTAINS(zip_error(with(good, data, 'x', 1)), "the CRC of entry 'aa' is wrong");
  CHECK_CONTAINS(zip_error(with(good, local + 28, 1, 2)), "the CRC of entry 'aa' is wrong");
}

TEST(zip_entries_that_share_bytes_are_seen) {
  // The second entry's header lies inside the first one's data.
  Buffer inner = tests::zip({{"b", bytes("payload")}});
  inner.resize(30 + 1 + 7);
  Buffer archive = tests::zip({{"a", inner}, {"b", bytes("payload")}});
  const std::size_t central = (31 + inner.size()) + (31 + 7);
  archive = with(archive, central + 47 + 42, 31, 4);
  CHECK_CONTAINS(zip_error(archive), "share bytes");
}

// ---- AKS2 ----

static std::string image_error(const Buffer& archive, const std::string& name, std::size_t most = 1 << 20) {
  return pack::read_image(archive, name, most).status().text();
}
static std::string cluster_error(const Buffer& archive) { return pack::read_cluster(archive).status().text(); }

TEST(aks2_images_are_found_by_name) {
  const std::string large(300000, 'x');
  const Buffer archive = tests::aks2({{"one", "first image", 100, 128}, {"two", large, 200, 256},
                                      {"three", "last", 0, 64}, {"one", "a duplicate", 1, 1}});
  const auto two = pack::read_image(archive, "two", large.size());
  CHECK(two.ok());
  CHECK_EQUAL(two->entry.shared, 200u);
  CHECK_EQUAL(two->entry.threads, 256u);
  CHECK(std::string(two->bytes.begin(), two->bytes.end()) == large);
  const auto one = pack::read_image(archive, "one", 100);
  CHECK(one.ok() && std::string(one->bytes.begin(), one->bytes.end()) == "first image");
  CHECK_CONTAINS(image_error(archive, "four"), "no image is named 'four'");
  CHECK_CONTAINS(image_error(archive, "two", 299999), "has 300000 bytes, not 299999");
  const auto all = pack::read_cluster(archive);
  CHECK(all.ok());
  CHECK_EQUAL(all->entries.size(), 4u);
  const auto last = all->image(all->entries[2]);
  CHECK(std::string(last.begin(), last.end()) == "last");
}

TEST(aks2_header_is_the_format_s) {
  const std::string name(32, 'n');
  const Buffer archive = tests::aks2({{name, "eleven byte", 1, 2}, {name, "", 0, 0}});
  const Buffer head{0x41, 0x4b, 0x53, 0x32, 0x75, 0, 0, 0, 2, 0, 0, 0, 0x6a, 0, 0, 0, 0xfd, 0x37, 0x7a, 0x58, 0x5a, 0};
  CHECK(std::equal(head.begin(), head.end(), archive.begin()));
  CHECK(pack::read_cluster(archive).ok());
}

TEST(aks2_decodes_no_further_than_it_must) {
  // The end of the stream is damaged: the first image is still there, the whole isn't.
  std::string noise;
  for (unsigned i = 0, state = 1; i < 1u << 20; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<char>(state >> 24));
  }
  Buffer archive = tests::aks2({{"one", noise.substr(0, 1000)}, {"two", noise}});
  archive.resize(archive.size() / 2);
  CHECK(pack::read_image(archive, "one", 1000).ok());
  CHECK_CONTAINS(image_error(archive, "two", noise.size()), "cut off");
  CHECK_CONTAINS(cluster_error(archive), "cut off");
}

TEST(damaged_aks2_archives_are_refused) {
  const std::vector<TestImage> images{{"one", "first", 1, 64}, {"two", "second", 2, 64}};
  const Buffer good = tests::aks2(images);
  const std::uint32_t total = 2 * (20 + 4) + 11, directory = 48;
  CHECK_EQUAL(cluster_error(good), "");
  CHECK_CONTAINS(cluster_error({}), "doesn't start with AKS2");
  CHECK_CONTAINS(cluster_error(Buffer(good.begin(), good.begin() + 15)), "doesn't start with AKS2");
  CHECK_CONTAINS(cluster_error(with(good, 3, '3', 1)), "doesn't start with AKS2");
  CHECK_CONTAINS(cluster_error(with(good, 4, (1u << 30) + 1, 4)), "at most 1 GiB");
  CHECK_CONTAINS(cluster_error(with(good, 4, directory - 1, 4)), "larger than the whole");
  CHECK_CONTAINS(cluster_error(with(good, 8, 3, 4)), "can't hold so many");
  CHECK_CONTAINS(cluster_error(with(good, 8, 1, 4)), "bytes after the last entry");
  CHECK_CONTAINS(cluster_error(with(good, 12, directory - 1, 4)), "wrong length");
  CHECK_CONTAINS(cluster_error(with(good, 4, total + 1, 4)), "holds less than its header says");
  CHECK_CONTAINS(cluster_error(with(good, 4, total - 1, 4)), "lies outside the image area");
  CHECK_CONTAINS(cluster_error(with(good, 16, 0, 4)), "no .xz stream");
  CHECK_CONTAINS(cluster_error(Buffer(good.begin(), good.begin() + 16)), "cut off");
  Buffer longer = good;
  longer.push_back(0);
  CHECK_CONTAINS(cluster_error(longer), "bytes stand behind");

  const auto changed = [&](std::size_t offset, std::uint32_t number) {
    tests::PlainCluster cluster = tests::plain_cluster(images);
    cluster.directory = with(cluster.directory, offset, number, 4);
    return tests::aks2(cluster);
  };
  CHECK_CONTAINS(cluster_error(changed(8, 12)), "lies outside the image area");            // offset
  CHECK_CONTAINS(cluster_error(changed(8, 0xffffffff)), "lies outside the image area");
  CHECK_CONTAINS(cluster_error(changed(12, 12)), "lies outside the image area");           // size
  CHECK_CONTAINS(cluster_error(changed(12, 0xffffffff)), "lies outside the image area");
  CHECK_CONTAINS(cluster_error(changed(16, 0)), "wrong length");                           // name
  CHECK_CONTAINS(cluster_error(changed(16, 0xffffffff)), "wrong length");
  CHECK_CONTAINS(cluster_error(changed(16, 3)), "has no end");
  tests::PlainCluster more = tests::plain_cluster(images);
  more.images.push_back('x');
  Buffer extra = with(tests::aks2(more), 4, total, 4);
  CHECK_CONTAINS(cluster_error(extra), "holds more than its header says");
}

TEST(a_decompression_bomb_costs_what_is_asked_for) {
  // 64 MiB of zeros in 10 KB; the header claims 1 GiB.
  const Buffer bomb = tests::aks2({{"bomb", std::string(64u << 20, '\0')}});
  CHECK(bomb.size() < 20000);
  CHECK_CONTAINS(image_error(bomb, "bomb", 1000), "has 67108864 bytes, not 1000");
  CHECK_CONTAINS(cluster_error(with(bomb, 4, 1u << 30, 4)), "holds less than its header says");
}

// ---- the index and whole files ----

static std::shared_ptr<const pack::KernelFile> opened(const Buffer& archive) {
  const auto file = pack::KernelFile::of_bytes(archive, "test.zip");
  if (!file.ok()) tests::fail(__FILE__, __LINE__, file.status().text());
  return file.ok() ? *file : nullptr;
}

static std::string file_error(const Buffer& archive) {
  return pack::KernelFile::of_bytes(archive, "test.zip").status().text();
}

TEST(the_sample_is_sound) {
  const TemporaryFolder folder;
  const std::string path = folder.write("scale.zip", tests::make_sample().zip());
  std::string report;
  CHECK_EQUAL(pack::verify_zip(path, report).text(), "");
  CHECK_CONTAINS(report, "\"problems\": []");
  CHECK_CONTAINS(report, "\"functionals\": 68, \"images\": 136");
}

TEST(images_are_checked_against_the_index) {
  tests::Sample sample = tests::make_sample();
  const Buffer archive = sample.zip();
  const auto file = opened(archive);
  const index::Functional& functional = *file->index().targets()->Get(1)->functionals()->Get(3);
  const index::Image& image = *functional.images()->Get(1);
  const auto code = file->image(functional, image);
  CHECK(code.ok() && std::string(code->begin(), code->end()) == "code of " + image.name()->str());

  // Two clusters change places under their names.
  std::swap(sample.clusters[0].data, sample.clusters[1].data);
  const Buffer swapped = sample.zip();
  const auto wrong = opened(swapped);
  int errors = 0;
  for (const index::Functional* one : *wrong->index().targets()->Get(0)->functionals()) {
    const auto result = wrong->image(*one, *one->images()->Get(0));
    if (!result.ok()) CHECK_CONTAINS(result.status().text(), "no image is named"), ++errors;
  }
  CHECK_EQUAL(errors, 2);
}

TEST(images_with_other_resources_or_bytes_are_refused) {
  const auto problem = [](auto change) {
    tests::Sample sample = tests::make_sample();
    const Buffer intact = sample.zip();
    const auto file = opened(intact);
    const index::Functional& functional = *file->index().targets()->Get(0)->functionals()->Get(0);
    auto entry = std::ranges::find(sample.clusters, functional.text()->str(), &TestEntry::name);
    const auto cluster = pack::read_cluster(entry->data);
    std::vector<TestImage> images;
    for (const auto& one : cluster->entries) {
      const auto code = cluster->image(one);
      images.push_back({one.name, std::string(code.begin(), code.end()), one.shared, one.threads});
    }
    change(images[0]);
    entry->data = tests::aks2(images);
    const Buffer archive = sample.zip();
    return opened(archive)->image(functional, *functional.images()->Get(0)).status().text();
  };
  CHECK_EQUAL(problem([](TestImage&) {}), "");
  CHECK_CONTAINS(problem([](TestImage& image) { image.code[0] ^= 1; }), "SHA-256");
  CHECK_CONTAINS(problem([](TestImage& image) { image.shared += 1; }), "bytes of shared memory, the index says 1000");
  CHECK_CONTAINS(problem([](TestImage& image) { image.threads = 32; }), "has 32 threads, the index says 256");
  CHECK_CONTAINS(problem([](TestImage& image) { image.code.pop_back(); }), "bytes, the index says");
  CHECK_CONTAINS(problem([](TestImage& image) { image.code += "x"; }), "bytes, not");
}

TEST(files_without_a_sound_index_are_refused) {
  const tests::Sample sample = tests::make_sample();
  CHECK_CONTAINS(file_error(tests::zip(sample.clusters)), "no index");
  CHECK_CONTAINS(file_error(tests::zip({{"__index__", bytes("AOTI"), true}})), "its index is no index");
  Buffer other = sample.index;
  other[4] = 'X';
  CHECK_CONTAINS(file_error(tests::zip({{"__index__", other, true}})), "its index is no index");
  Buffer shorter(sample.index.begin(), sample.index.begin() + static_cast<std::ptrdiff_t>(sample.index.size() / 2));
  CHECK_CONTAINS(file_error(tests::zip({{"__index__", shorter, true}})), "its index is damaged");
  // Where another tool dropped the padding, a copy serves.
  CHECK(opened(tests::zip({{"x", bytes("y")}, {"__index__", sample.index, false}})) != nullptr);
}

TEST(a_cell_without_config_is_seen) {
  tests::SampleOptions options;
  options.cells = {0, 2};
  CHECK_CONTAINS(file_error(tests::make_sample(options).zip()), "a cell has no config");
  options.cells = {0, -2};
  CHECK_CONTAINS(file_error(tests::make_sample(options).zip()), "negative cell");
  options.cells = {0};
  CHECK_CONTAINS(file_error(tests::make_sample(options).zip()), "another number of cells");
}

TEST(the_index_prints_as_json) {
  const Buffer archive = tests::make_sample().zip();
  const std::string json = pack::index_to_json(opened(archive)->index());
  CHECK_CONTAINS(json, "\"family\": \"sample\", \"kernel\": \"scale\", \"symbol\": \"scale_kernel\"");
  CHECK_CONTAINS(json, "\"text\": \"W != N\"");
  CHECK_CONTAINS(json, "[\"argument\", 7], [\"argument\", 6], [\"not_equal\", 0]");
  CHECK_CONTAINS(json, "\"reason\": \"mode 3 has no wide form\", \"kind\": \"described\"");
  CHECK_EQUAL(json, pack::index_to_json(opened(archive)->index()));
}

TEST(verify_names_every_problem) {
  const TemporaryFolder folder;
  tests::Sample sample = tests::make_sample();
  sample.clusters[0].data.back() ^= 1;
  sample.clusters[1].name += "x";
  sample.clusters.push_back({"stranger", bytes("?")});
  std::string report;
  const core::Status status = pack::verify_zip(folder.write("scale.zip", sample.zip()), report);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), "problem(s), the first");
  CHECK_CONTAINS(report, "'stranger' is in no functional");
  CHECK_CONTAINS(report, "the index names it, and it isn't there");
  CHECK_CONTAINS(report, ".xz stream is damaged");
  CHECK_EQUAL(pack::verify_zip(folder.path() + "/absent.zip", report).code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(report, "No such file");
}

int main() { return tests::run_all(); }
