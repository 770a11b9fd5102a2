#include "sim/settings.h"

#include "sim/checks.h"

#include "sim/counts.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>

namespace sim {
namespace {

// A wave that runs on for so long, half a minute or so, is taken for one that never ends.
constexpr std::uint64_t usual_limit = 1'000'000'000;

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : text;
}

std::uint64_t number(const char* name, std::uint64_t otherwise, std::uint64_t most, const char* takes) {
  const std::string_view text = variable(name);
  if (text.empty()) return otherwise;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) {
    throw std::runtime_error(std::string(name) + " is '" + std::string(text) + "'; it takes " + takes);
  }
  return value;
}

} // namespace

void apply_environment(Launch& launch) {
  launch.threads = static_cast<unsigned>(
      number("AOTRITON_SIM_THREADS", 0, 1024, "a number of threads up to 1024; 0: one for each processor"));
  launch.most_instructions = number("AOTRITON_SIM_LIMIT", usual_limit, std::numeric_limits<std::uint64_t>::max(),
                                    "the most instructions that a wave may run; 0: no limit");
  launch.checks = checks_of(variable("AOTRITON_SIM_CHECKS"));
  const std::string_view order = variable("AOTRITON_SIM_ORDER");
  if (order == "forward") launch.wave_order = 0;
  else if (order == "backward") launch.wave_order = 1;
  else launch.wave_order = static_cast<std::uint32_t>(
      number("AOTRITON_SIM_ORDER", 0, 0xffffffff, "forward, backward, or the seed of a shuffle, from 2 on"));
}

void run_and_report(Launch launch) {
  const std::string path(variable("AOTRITON_SIM_REPORT"));
  if (path.empty()) return run(launch);
  Counts counts;
  launch.counts = &counts;
  run(launch);
  static std::mutex& one_at_a_time = *new std::mutex;
  const std::lock_guard lock(one_at_a_time);
  std::ofstream file(path, std::ios::app);
  file << report(launch, counts) << std::endl;
  if (!file) throw std::runtime_error("AOTRITON_SIM_REPORT: can't write to " + path);
}

} // namespace sim
