// The kernel of a pack: its plan, and the code objects that it has loaded for its device.
#pragma once

#include "dispatch/parameters.h"
#include "dispatch/select.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace aotriton::dispatch {

class PackedKernel final : public Kernel {
 public:
  PackedKernel(Plan plan, aotriton_device& device);
  ~PackedKernel() override;  // unloads what it loaded

  std::span<const std::string> argument_names() const override { return plan_.names; }
  int position(std::string_view name) const override { return names_.find(name); }
  core::Status expect_arguments(std::span<const char* const> names) const override;
  core::Status resolve(std::span<const aotriton_argument> arguments, std::span<Value> values) const override;
  std::string refusal(const core::Status& status, const Options& options) const override;
  core::Status run(std::span<const Value> values, aotriton_stream stream, const Options& options,
                   std::string* trace_json, Prepared* prepared = nullptr) override;
  bool stale() const override { return stale_.load(std::memory_order_relaxed); }

  // A driver's failure, with what failed and where.
  core::Status named(const index::Functional& functional, const index::Image& image, const core::Status& status) const;

  const Plan& plan() const { return plan_; }

 private:
  // Positions by name: a hash table of fixed size, with open addressing.
  class Names {
   public:
    explicit Names(const std::vector<std::string>& names);
    int find(std::string_view name) const;

   private:
    const std::vector<std::string>& names_;
    std::vector<std::int16_t> slots_;
  };

  core::Status enqueue(const Selection& selection, std::span<const Value> values, aotriton_stream stream,
                       const Options& options, bool& loaded, bool& launched);
  drivers::Launch launch_of(const Selection& selection, const Parameters& parameters) const;
  void prepare(const Selection& selection, std::span<const Value> values, Prepared& prepared) const;
  std::string label_of(const index::Functional& functional, const index::Image& image) const;
  core::Result<drivers::Function> function_of(const Selection& selection);
  core::Result<drivers::Function> load(const Selection& selection);

  Plan plan_;
  Names names_;
  aotriton_device& device_;
  // By image of the target: its function once it is loaded. Written under the mutex, read without.
  std::unique_ptr<std::atomic<drivers::Function>[]> functions_;
  std::mutex loading_;
  std::atomic<bool> stale_{false};
};

}  // namespace aotriton::dispatch
