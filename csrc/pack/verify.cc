#include "pack/verify.h"

#include "core/json.h"
#include "core/text.h"
#include "pack/kernel_file.h"

#include <algorithm>
#include <map>
#include <vector>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Result;
using core::Status;

struct Report {
  std::size_t entries = 0, functionals = 0, images = 0, bytes = 0;
  std::vector<std::string> problems;
};

using ImagesOfEntry = std::map<std::string_view, std::vector<const index::Image*>>;

// What the index says of each entry; several targets may share one.
ImagesOfEntry images_of_entries(const index::Index& index, Report& report) {
  ImagesOfEntry images;
  for (const index::Target* target : *index.targets()) {
    report.functionals += target->functionals()->size();
    for (const index::Functional* functional : *target->functionals()) {
      auto& list = images[functional->text()->string_view()];
      list.insert(list.end(), functional->images()->begin(), functional->images()->end());
    }
  }
  return images;
}

void check_cluster(const Zip& zip, std::string_view name, const std::vector<const index::Image*>& images,
                   Report& report) {
  const auto problem = [&](std::string_view text) { report.problems.push_back(cat("entry '", name, "': ", text)); };
  const ZipEntry* const entry = zip.find(name);
  if (entry == nullptr) return problem("the index names it, and it isn't there");
  const auto archive = zip.data(*entry);
  if (!archive.ok()) return;  // reported with the entries
  const Result<Cluster> cluster = read_cluster(*archive);
  if (!cluster.ok()) return problem(cluster.status().text());
  for (const index::Image* image : images) {
    const std::string_view wanted = image->name()->string_view();
    const auto found = std::ranges::find(cluster->entries, wanted, &ClusterEntry::name);
    if (found == cluster->entries.end()) {
      problem(cat("image '", wanted, "' isn't there"));
      continue;
    }
    if (const std::string text = image_problem(*image, *found, cluster->image(*found)); !text.empty()) problem(text);
    report.images += 1;
    report.bytes += found->size;
  }
}

void check_file(const KernelFile& file, Report& report) {
  const Zip& zip = file.zip();
  const ImagesOfEntry images = images_of_entries(file.index(), report);
  report.entries = zip.entries().size();
  for (const ZipEntry& entry : zip.entries()) {
    if (const auto bytes = zip.checked_data(entry); !bytes.ok()) report.problems.push_back(bytes.status().text());
    if (entry.name != kIndexEntry && !images.contains(entry.name)) {
      report.problems.push_back(cat("entry '", core::utf8(entry.name), "' is in no functional of the index"));
    }
  }
  if (const Status status = zip.check_overlaps(); !status.ok()) report.problems.push_back(status.text());
  for (const auto& [name, list] : images) check_cluster(zip, name, list, report);
}

std::string to_json(const std::string& path, const Report& report) {
  core::JsonWriter json;
  json.begin_object().member("file", path).member("entries", report.entries);
  json.member("functionals", report.functionals).member("images", report.images).member("bytes", report.bytes);
  json.key("problems").begin_array();
  for (const std::string& problem : report.problems) json.value(problem);
  return json.end_array().end_object().take();
}

}  // namespace

Status verify_zip(const std::string& path, std::string& report) {
  Report facts;
  const auto file = KernelFile::open(path);
  Status status = file.status();
  if (file.ok()) {
    check_file(**file, facts);
  } else {
    facts.problems.push_back(status.text());
  }
  report = to_json(path, facts);
  if (!status.ok() || facts.problems.empty()) return status;
  return Status(AOTRITON_BAD_PACK,
                cat(path, ": ", facts.problems.size(), " problem(s), the first: ", facts.problems[0]));
}

}  // namespace aotriton::pack
