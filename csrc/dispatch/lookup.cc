// From a functional and the caller's sizes to a config of its look-up table, and the image that was built for it.
#include "dispatch/select.h"

#include <algorithm>

namespace aotriton::dispatch {
namespace {

Problem simple(Reason reason, std::int64_t asked, std::int64_t found) {
  Problem problem;
  problem.reason = reason;
  problem.asked = asked;
  problem.found = found;
  return problem;
}

// The position of the first bin that is not below the value, the last one for larger values.
std::uint32_t bin_of(const flatbuffers::Vector<std::int64_t>& bins, std::int64_t value) {
  const auto count = bins.size();
  std::uint32_t bin = 0;
  while (bin + 1 < count && bins.Get(bin) < value) ++bin;
  return bin;
}

Problem look_up(const index::LookupTable& table, Selection& selection, std::int64_t& cell) {
  std::size_t position = 0;
  for (unsigned i = 0; table.keys() != nullptr && i < table.keys()->size(); ++i) {
    const index::Key& key = *table.keys()->Get(i);
    if (!selection.numbers.known[key.argument()]) {
      Problem problem = simple(Reason::missing, 0, 0);
      problem.argument = key.argument();
      return problem;
    }
    selection.bins[i] = bin_of(*key.bins(), selection.numbers.value[key.argument()]);
    position = position * key.bins()->size() + selection.bins[i];
  }
  cell = table.cells()->Get(static_cast<unsigned>(position));
  return cell < 0 ? simple(Reason::no_config, 0, 0) : Problem();
}

// The position of the image of a config among the functional's images; their number if there is none.
unsigned image_of(const index::Functional& functional, unsigned config) {
  const auto& images = *functional.images();
  const auto wanted = functional.configs()->Get(config);
  // Where all were built, images stand as configs do.
  if (config < images.size() && images.Get(config)->config() == wanted) return config;
  unsigned at = 0;
  while (at < images.size() && images.Get(at)->config() != wanted) ++at;
  return at;
}

bool fits(const index::Image& image, const drivers::Machine& machine) {
  return machine.shared_memory <= 0 || image.shared() <= machine.shared_memory;
}

// The first config of the functional whose image fits the device; the number of configs if none does.
unsigned first_that_fits(const index::Functional& functional, const drivers::Machine& machine) {
  const unsigned count = functional.configs()->size();
  for (unsigned config = 0; config < count; ++config) {
    const unsigned image = image_of(functional, config);
    if (image < functional.images()->size() && fits(*functional.images()->Get(image), machine)) return config;
  }
  return count;
}

// Takes the image of a config; the config's values join what is known.
Problem take(const Plan& plan, std::size_t functional, unsigned config, Selection& selection) {
  const index::Functional& facts = *selection.functional;
  const unsigned at = image_of(facts, config);
  if (at == facts.images()->size()) return simple(Reason::no_image, config, 0);
  selection.config = config;
  selection.image = facts.images()->Get(at);
  selection.image_number = plan.first_image[functional] + at;
  for (const index::Value* value : *plan.index().configs()->Get(facts.configs()->Get(config))->values()) {
    selection.numbers.set(value->argument(), value->integer());
  }
  return {};
}

}  // namespace

Problem choose_image(const Plan& plan, const drivers::Machine& machine, std::size_t functional, const Options& options,
                     Selection& selection) {
  const index::Functional& facts = *selection.functional;
  std::int64_t config = options.config;
  selection.other_config = false;
  selection.table = nullptr;
  if (config < 0) {
    selection.table = plan.index().tables()->Get(facts.table());
    if (Problem problem = look_up(*selection.table, selection, config); problem.reason != Reason::none) return problem;
  } else if (config >= facts.configs()->size()) {
    return simple(Reason::no_such_config, config, facts.configs()->size());
  }
  Problem problem = take(plan, functional, static_cast<unsigned>(config), selection);
  if (problem.reason != Reason::none) return problem;
  if (!fits(*selection.image, machine)) {
    const unsigned other = first_that_fits(facts, machine);
    if (options.config >= 0 || other == facts.configs()->size()) {
      return simple(Reason::shared_memory, selection.image->shared(), machine.shared_memory);
    }
    selection.other_config = true;
    problem = take(plan, functional, other, selection);
  }
  if (selection.image->num_ctas() > machine.largest_cluster) {
    return simple(Reason::cluster, selection.image->num_ctas(), machine.largest_cluster);
  }
  return problem;
}

}  // namespace aotriton::dispatch
