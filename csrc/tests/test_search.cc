// Finding the pack of a kernel: the search path, the target's own pack, damaged and foreign ones.
#include "pack/search.h"
#include "tests/fake.h"

using namespace aotriton;
using dispatch::Kernel;
using tests::FakeDevice;
using tests::OnePack;
using tests::open_in;
using tests::TemporaryFolder;

static core::Status open_error(const std::string& folder, FakeDevice& fake) {
  return Kernel::open(folder, "sample", "scale", fake.device).status();
}

TEST(pack_names_are_guessed_for_targets) {
  CHECK(pack::named_for("amd-gfx942", "gfx942"));
  CHECK(pack::named_for("amd-gfx110x", "gfx1103"));
  CHECK(pack::named_for("nvidia-sm90", "sm_90"));
  CHECK(pack::named_for("host", "host"));
  CHECK(!pack::named_for("amd-gfx110x", "gfx1150"));
  CHECK(!pack::named_for("amd-gfx90a", "gfx942"));
  CHECK(!pack::named_for("nvidia-sm80", "sm_86"));
}

TEST(a_missing_pack_is_told_with_what_is_there) {
  const TemporaryFolder folder;
  FakeDevice fake;
  core::Status status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "no pack has sample/scale for gfx942");
  CHECK_CONTAINS(status.text(), folder.path() + " has: none");
  tests::SampleOptions options;
  options.targets = {"gfx90a"};
  folder.write("amd-gfx90a/sample/scale.zip", tests::make_sample(options).zip());
  status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "it is in amd-gfx90a (for gfx90a)");
  CHECK_CONTAINS(status.text(), folder.path() + " has: amd-gfx90a");
  // A failure isn't remembered.
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error(folder.path(), fake).ok());
}

TEST(a_pack_of_another_architecture_is_seen_under_any_name) {
  const TemporaryFolder folder;
  FakeDevice fake;
  tests::SampleOptions options;
  options.targets = {"gfx90a"};
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample(options).zip());
  const core::Status status = open_error(folder.path(), fake);
  CHECK_EQUAL(status.code(), AOTRITON_NO_PACK);
  CHECK_CONTAINS(status.text(), "amd-gfx942 (for gfx90a)");
  // The right one, oddly named, is found all the same.
  folder.write("mine/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error(folder.path(), fake).ok());
}

TEST(a_damaged_pack_is_an_error_even_beside_a_good_one) {
  const OnePack good;
  const TemporaryFolder bad;
  FakeDevice fake;
  tests::Buffer archive = tests::make_sample().zip();
  archive.resize(archive.size() / 2);
  const std::string path = bad.write("amd-gfx942/sample/scale.zip", archive);
  pack::add_path(good.path());
  pack::add_path(bad.path());
  core::Status status = open_error("", fake);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), path);
  CHECK_CONTAINS(status.text(), "sample/scale for gfx942");
  CHECK_CONTAINS(status.text(), "truncated");
  bad.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_error("", fake).ok());
  tests::SampleOptions other;
  other.kernel = "shift";
  bad.write("amd-gfx942/sample/scale.zip", tests::make_sample(other).zip());
  status = open_error("", fake);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), "it is the file of sample/shift under another name");
}

TEST(a_damaged_image_is_an_error_at_the_call) {
  const TemporaryFolder folder;
  FakeDevice fake;
  tests::Sample sample = tests::make_sample();
  for (auto& cluster : sample.clusters) cluster.data[cluster.data.size() / 2] ^= 0x10;
  folder.write("amd-gfx942/sample/scale.zip", sample.zip());
  const auto kernel = open_in(folder.path(), fake);
  const core::Status status = kernel->run(tests::sample_values(), nullptr, {}, nullptr);
  CHECK_EQUAL(status.code(), AOTRITON_BAD_PACK);
  CHECK_CONTAINS(status.text(), "entry 'X='*fp16:16';W=32;PAD=False;MODE=0'");
  CHECK_EQUAL(fake.driver.launches.load(), 0);
  folder.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_in(folder.path(), fake)->run(tests::sample_values(), nullptr, {}, nullptr).ok());
}

TEST(the_target_s_own_pack_comes_before_one_that_serves) {
  const TemporaryFolder first, second;
  FakeDevice fake("sm_86");
  tests::SampleOptions options;
  options.targets = {"sm_80"};
  options.serves = {{"sm_80", {"sm_86"}}};
  first.write("nvidia-sm80/sample/scale.zip", tests::make_sample(options).zip());
  pack::add_path(second.path());
  pack::add_path(first.path());
  const auto served = open_in("", fake);
  std::string trace;
  CHECK(served->run(tests::sample_values(), nullptr, {}, &trace).ok());
  CHECK_CONTAINS(trace, "code for sm_80 serves it");
  options.targets = {"sm_86"};
  second.write("nvidia-sm86/sample/scale.zip", tests::make_sample(options).zip());
  // What is open stays as it is while its file and the search path do.
  pack::add_path(first.path() + "/.");
  CHECK(open_in("", fake)->run(tests::sample_values(), nullptr, {}, &trace).ok());
  CHECK_CONTAINS(trace, second.path());
  CHECK_CONTAINS(trace, "arch=sm_86");
}

TEST(the_same_question_gives_the_same_kernel) {
  const OnePack pack;
  FakeDevice fake, other;
  const auto kernel = open_in(pack.path(), fake);
  CHECK(open_in(pack.path(), fake) == kernel);
  CHECK(open_in(pack.path(), other) != kernel);
  pack.write("amd-gfx942/sample/scale.zip", tests::make_sample().zip());
  CHECK(open_in(pack.path(), fake) != kernel);
  CHECK(kernel->run(tests::sample_values(), nullptr, {}, nullptr).ok());  // the old file is still mapped
}

TEST(names_can_not_leave_the_folder) {
  FakeDevice fake;
  for (const char* name : {"", "..", "../scale", "a/b", ".hidden"}) {
    CHECK_EQUAL(Kernel::open("/tmp", "sample", name, fake.device).status().code(), AOTRITON_INVALID_ARGUMENT);
    CHECK_EQUAL(Kernel::open("/tmp", name, "scale", fake.device).status().code(), AOTRITON_INVALID_ARGUMENT);
  }
}

int main() { return tests::run_all(); }
