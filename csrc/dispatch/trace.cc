#include "dispatch/trace.h"

#include "core/json.h"
#include "core/status_name.h"
#include "core/text.h"

#include <algorithm>
#include <set>
#include <vector>

namespace aotriton::dispatch {
namespace {

using core::cat;
using core::JsonWriter;

std::vector<std::string> notes_of(const Plan& plan, const aotriton_device& device, const Selection& selection) {
  std::vector<std::string> notes;
  if (!plan.located.exact) {
    notes.push_back(cat("no pack has code for ", device.machine.target, "; code for ",
                        plan.target().name()->string_view(), " serves it"));
  }
  const bool chosen = selection.failure.reason == Reason::none;
  if (chosen && selection.other_config) {
    notes.push_back(cat("the table's config needs more shared memory than the device's ", device.machine.shared_memory,
                        " bytes; the first config that fits is used"));
  }
  if (chosen && selection.empty) notes.push_back("the grid is empty: nothing to launch");
  if (selection.rejected.count() > Rejections::kKept) {
    notes.push_back(cat(selection.rejected.count(), " candidates were turned down; the first ", Rejections::kKept,
                        " are listed"));
  }
  if (selection.functional != nullptr && selection.image->compiled_for() != nullptr) {
    notes.push_back(cat("the code was compiled for ", selection.image->compiled_for()->string_view(),
                        ", whose code is the same"));
  }
  return notes;
}

void substituted(JsonWriter& json, const Plan& plan, const Selection& selection) {
  json.key("substituted").begin_array();
  for (std::size_t i = 0; selection.functional != nullptr && i < plan.axes.size(); ++i) {
    const AxisFacts& axis = plan.axes[i];
    const ChoiceFacts& used = axis.choices[selection.choices[i]];
    const ChoiceFacts& best = axis.choices[selection.preferred[i]];
    const bool numeric = !axis.tensors && used.kind != index::ChoiceKind::scalar;
    const bool other_number = axis.rule == index::Rule::at_least && used.integer != selection.requested[i];
    if (&used == &best && !other_number) continue;
    json.begin_object().member("axis", axis.label);
    json.member("requested", numeric && other_number ? cat(selection.requested[i]) : std::string(best.text));
    json.member("used", used.text).end_object();
  }
  json.end_array();
}

void rejected(JsonWriter& json, const Plan& plan, const Selection& selection) {
  json.key("rejected").begin_array();
  std::set<std::string> of_axes;  // come up again under every choice of the axes before
  for (const Problem& problem : selection.rejected.kept()) {
    if (!problem.numbered && !of_axes.insert(describe(problem, plan)).second) continue;
    json.begin_object().key("functional");
    if (problem.numbered) {
      json.value(plan.signature_text(problem.number));
    } else {
      json.null();
    }
    json.member("reason", describe(problem, plan)).end_object();
  }
  json.end_array();
}

void functional(JsonWriter& json, const Selection& selection) {
  json.begin_object().member("number", selection.functional->number());
  json.member("signature", selection.functional->text()->string_view()).end_object();
}

void table(JsonWriter& json, const Plan& plan, const Selection& selection) {
  const index::LookupTable& table = *selection.table;
  json.begin_object().member("source", table.source()->string_view()).key("keys").begin_object();
  for (unsigned i = 0; table.keys() != nullptr && i < table.keys()->size(); ++i) {
    const index::Key& key = *table.keys()->Get(i);
    json.key(plan.names[key.argument()]).begin_object();
    json.member("value", selection.numbers.value[key.argument()]);
    json.member("bin", key.bins()->Get(selection.bins[i])).end_object();
  }
  json.end_object().end_object();
}

void config(JsonWriter& json, const Plan& plan, const Selection& selection) {
  const unsigned position = selection.functional->configs()->Get(selection.config);
  const index::Config& config = *plan.index().configs()->Get(position);
  json.begin_object().member("performance", config.performance()->string_view());
  json.member("options", config.options()->string_view()).member("index", selection.config).end_object();
}

void image(JsonWriter& json, const Selection& selection) {
  const index::Image& image = *selection.image;
  json.begin_object().member("name", image.name()->string_view());
  json.member("sha256", core::hex({image.sha256()->data(), image.sha256()->size()}));
  json.member("shared", image.shared()).member("threads", image.threads());
  json.member("registers", image.registers()).member("spills", image.spills()).end_object();
}

template <typename Write>
void maybe(JsonWriter& json, const char* name, bool there, Write write) {
  json.key(name);
  if (there) {
    write();
  } else {
    json.null();
  }
}

// The distinct reasons of the other candidates, a few of them.
std::string other_reasons(const Plan& plan, const Selection& selection, const std::string& main) {
  constexpr std::size_t kMost = 4;
  std::set<std::string> seen{main};
  std::string text;
  for (const Problem& problem : selection.rejected.kept()) {
    const std::string reason = describe(problem, plan);
    if (!seen.insert(reason).second) continue;
    if (seen.size() > kMost) return text + "; …";
    text += cat("; ", problem.numbered ? plan.signature_text(problem.number) + ": " : std::string(), reason);
  }
  return text;
}

}  // namespace

std::string trace_of(const Plan& plan, const aotriton_device& device, const Selection& selection,
                     const Options& options, const Outcome& outcome) {
  const bool found = selection.functional != nullptr;
  JsonWriter json;
  json.begin_object();
  maybe(json, "operator", options.operation != nullptr, [&] { json.value(options.operation); });
  json.member("family", plan.index().family()->string_view()).member("kernel", plan.index().kernel()->string_view());
  json.member("device", device.name).member("target", device.machine.target);
  json.member("status", core::status_name(outcome.status.code()));
  maybe(json, "reason", !outcome.status.ok(), [&] { json.value(outcome.status.text()); });
  json.member("pack", plan.located.file->path());
  maybe(json, "functional", found, [&] { functional(json, selection); });
  substituted(json, plan, selection);
  rejected(json, plan, selection);
  maybe(json, "table", found && selection.table != nullptr, [&] { table(json, plan, selection); });
  maybe(json, "config", found, [&] { config(json, plan, selection); });
  maybe(json, "image", found, [&] { image(json, selection); });
  maybe(json, "grid", found && selection.failure.reason == Reason::none, [&] {
    json.begin_array();
    for (const std::uint32_t size : selection.grid) json.value(size);
    json.end_array();
  });
  json.key("notes").begin_array();
  for (const std::string& note : notes_of(plan, device, selection)) json.value(note);
  json.end_array().member("loaded", outcome.loaded).member("launched", outcome.launched);
  return json.end_object().take();
}

core::Status failure_of(const Plan& plan, const aotriton_device& device, const Selection& selection) {
  const Problem& problem = selection.failure;
  const std::string reason = describe(problem, plan);
  const aotriton_status code = code_of(problem.reason);
  std::string text = cat(plan.index().family()->string_view(), ".", plan.index().kernel()->string_view());
  if (code == AOTRITON_INVALID_ARGUMENT) return {code, cat(text, ": ", reason)};
  text += cat(" can't serve this call on ", device.name, " (", device.machine.target, "): ");
  if (problem.numbered) text += plan.signature_text(problem.number) + ": ";
  text += reason + other_reasons(plan, selection, reason);
  text += cat("; pack ", plan.located.file->path());
  if (code == AOTRITON_NOT_BUILT) text += "; a build set that has it is needed (aotriton build --set)";
  return {code, std::move(text)};
}

}  // namespace aotriton::dispatch
