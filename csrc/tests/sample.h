// A made-up kernel for tests, `sample/scale`, with one of everything that dispatch knows, as index and as ZIP.
//
//   arguments  X Y (tensors of rank 2 that an axis types) S (fp32, may be null) stride_x stride_xu (unit) alpha N
//              W (16, 32, 64: at least what was asked) PAD (W != N) MODE (0, 3) FLAG (settled: 0) BLOCK (performance)
//   holes      MODE 3 with W 64: excluded; unaligned bf16 with W 64: failed; unaligned fp16 with W 16: not in the pack
//   configs    BLOCK 64 with 1000 bytes of shared memory for N <= 16, BLOCK 128 with 70000 bytes for more
#pragma once

#include "core/sha256.h"
#include "tests/archives.h"

#include <index_generated.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace aotriton::tests {

namespace fb = flatbuffers;

enum SampleArgument {
  kX, kY, kS, kStrideX, kStrideXUnit, kAlpha, kN, kW, kPad, kMode, kFlag, kBlock, kSampleArguments
};

struct SampleOptions {
  std::vector<std::string> targets{"gfx942", "gfx1100"};
  std::map<std::string, std::vector<std::string>> serves;
  std::string kernel = "scale";
  int num_ctas = 1;
  std::vector<std::int16_t> cells{0, 1};
  std::uint32_t step = 1;  // functionals whose number is no multiple of it are left out
  bool descriptor = false;  // Y is one
  std::vector<std::vector<std::uint16_t>> blocks;  // of the images' tensor maps
  std::uint8_t swizzle = 0;
};

struct Sample {
  Buffer index;
  std::vector<TestEntry> clusters;

  Buffer zip() const {
    std::vector<TestEntry> entries{{"__index__", index, true}};
    entries.insert(entries.end(), clusters.begin(), clusters.end());
    return tests::zip(entries);
  }
};

class SampleWriter {
 public:
  explicit SampleWriter(SampleOptions options) : options_(std::move(options)) {}

  Sample write() {
    std::vector<fb::Offset<index::Target>> targets;
    for (const std::string& name : options_.targets) targets.push_back(target(name));
    const auto family = text("sample"), kernel = text(options_.kernel), symbol = text("scale_kernel");
    const auto hash = text("d1");
    const auto all_arguments = arguments();
    const auto all_axes = axes();
    const auto all_signatures = signatures();
    const auto all_configs = configs();
    const auto all_tables = tables();
    const auto all_targets = b_.CreateVector(targets);
    const auto all_grid = grid();
    index::IndexBuilder root(b_);
    root.add_schema_version(1);
    root.add_family(family);
    root.add_kernel(kernel);
    root.add_symbol(symbol);
    root.add_arguments(all_arguments);
    root.add_axes(all_axes);
    root.add_signatures(all_signatures);
    root.add_configs(all_configs);
    root.add_tables(all_tables);
    root.add_targets(all_targets);
    root.add_grid(all_grid);
    root.add_description_hash(hash);
    b_.Finish(root.Finish(), index::IndexIdentifier());
    Sample sample;
    sample.index.assign(b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize());
    for (const auto& [name, images] : images_) sample.clusters.push_back({name, aks2(images)});
    return sample;
  }

 private:
  using Steps = std::vector<index::Step>;

  fb::Offset<fb::String> text(const std::string& content) { return b_.CreateString(content); }

  fb::Offset<index::Expression> expression(const Steps& steps, const std::string& content) {
    const auto all = b_.CreateVectorOfStructs(steps);
    return index::CreateExpression(b_, all, text(content));
  }

  fb::Offset<fb::Vector<fb::Offset<index::Argument>>> arguments() {
    using index::Role;
    using index::Type;
    std::vector<fb::Offset<index::Argument>> all;
    const auto add = [&](const char* name, Role role, Type type, int tensor, int rank, bool optional, int dimension) {
      all.push_back(index::CreateArgument(b_, text(name), role, type, static_cast<std::int16_t>(tensor),
                                          static_cast<std::int8_t>(dimension), static_cast<std::int8_t>(rank), optional,
                                          std::int8_t(rank == 1)));
    };
    add("X", Role::tensor, Type::none, -1, 2, false, 0);
    add("Y", options_.descriptor ? Role::descriptor : Role::tensor, Type::none, -1, 2, false, 0);
    add("S", Role::tensor, Type::fp32, -1, 1, true, 0);
    add("stride_x", Role::stride, Type::u64, kX, 0, false, 0);
    add("stride_xu", Role::stride, Type::u64, kX, 0, false, 1);
    add("alpha", Role::scalar, Type::fp32, -1, 0, false, 0);
    add("N", Role::scalar, Type::i32, -1, 0, false, 0);
    for (const char* name : {"W", "PAD", "MODE", "FLAG"}) add(name, Role::choice, Type::none, -1, 0, false, 0);
    add("BLOCK", Role::performance, Type::none, -1, 0, false, 0);
    return b_.CreateVector(all);
  }

  struct Option {
    std::string text;
    index::ChoiceKind kind;
    std::int64_t integer;
    index::Type type;
    std::uint16_t alignment;
  };
  struct AxisPlan {
    std::string label;
    std::vector<std::uint16_t> arguments;
    std::vector<Option> options;
    index::Rule rule;
    std::vector<std::vector<std::uint8_t>> substitutes;
    std::uint32_t weight;
  };

  static std::vector<AxisPlan> axis_plans() {
    using index::ChoiceKind;
    using index::Rule;
    using index::Type;
    const auto pointer = [](const char* name, Type type, std::uint16_t alignment) {
      const std::string content = std::string("'*") + name + (alignment != 0 ? ":16'" : "'");
      return Option{content, ChoiceKind::pointer, 0, type, alignment};
    };
    const auto number = [](std::int64_t n) {
      return Option{std::to_string(n), ChoiceKind::integer, n, Type::none, 0};
    };
    const auto truth = [](bool b) { return Option{b ? "True" : "False", ChoiceKind::boolean, b, Type::none, 0}; };
    return {
        {"X", {kX, kY},
         {pointer("fp16", Type::fp16, 0), pointer("bf16", Type::bf16, 0), pointer("fp16", Type::fp16, 16),
          pointer("bf16", Type::bf16, 16)},
         Rule::exact, {}, 12},
        {"W", {kW}, {number(16), number(32), number(64)}, Rule::at_least, {}, 4},
        {"PAD", {kPad}, {truth(false), truth(true)}, Rule::exact, {{1}, {}}, 2},
        {"MODE", {kMode}, {number(0), number(3)}, Rule::exact, {}, 1},
    };
  }

  fb::Offset<fb::Vector<fb::Offset<index::Axis>>> axes() {
    std::vector<fb::Offset<index::Axis>> all;
    for (const AxisPlan& plan : axis_plans()) {
      std::vector<fb::Offset<index::Choice>> choices;
      for (const Option& one : plan.options) {
        choices.push_back(index::CreateChoice(b_, text(one.text), one.kind, one.integer, 0, one.type, one.alignment));
      }
      std::vector<fb::Offset<index::Substitutes>> substitutes;
      for (const auto& list : plan.substitutes) {
        substitutes.push_back(index::CreateSubstitutes(b_, b_.CreateVector(list)));
      }
      fb::Offset<index::Expression> request;
      using index::Operation;
      if (plan.label == "PAD") {
        request = expression({{kW, Operation::argument}, {kN, Operation::argument}, {0, Operation::not_equal}},
                             "W != N");
      }
      const auto label = text(plan.label);
      const auto arguments = b_.CreateVector(plan.arguments);
      const auto all_choices = b_.CreateVector(choices);
      const auto all_substitutes = b_.CreateVector(substitutes);
      all.push_back(index::CreateAxis(b_, label, arguments, all_choices, plan.weight, plan.rule, request,
                                      all_substitutes));
    }
    return b_.CreateVector(all);
  }

  // One signature for each choice of the first axis.
  fb::Offset<fb::Vector<fb::Offset<index::Signature>>> signatures() {
    using index::Type;
    std::vector<fb::Offset<index::Signature>> all;
    const std::vector<AxisPlan> plans = axis_plans();
    for (const Option& one : plans[0].options) {
      const std::uint16_t stride = one.alignment != 0 ? 8 : 0;
      const std::vector<fb::Offset<index::Parameter>> parameters{
          index::CreateParameter(b_, kX, one.type, true, one.alignment),
          index::CreateParameter(b_, kY, one.type, true, one.alignment),
          index::CreateParameter(b_, kS, Type::fp32, true, 0),
          index::CreateParameter(b_, kStrideX, Type::u64, false, stride),
          index::CreateParameter(b_, kAlpha, Type::fp32, false, 0),
          index::CreateParameter(b_, kN, Type::i32, false, 0)};
      const std::vector<fb::Offset<index::Fixed>> fixed{index::CreateFixed(b_, kStrideXUnit, 1),
                                                        index::CreateFixed(b_, kFlag, 0)};
      const auto all_parameters = b_.CreateVector(parameters);
      all.push_back(index::CreateSignature(b_, all_parameters, b_.CreateVector(fixed)));
    }
    return b_.CreateVector(all);
  }

  fb::Offset<fb::Vector<fb::Offset<index::Config>>> configs() {
    std::vector<fb::Offset<index::Config>> all;
    for (const std::string block : {"64", "128"}) {
      const std::vector<fb::Offset<index::Value>> values{
          index::CreateValue(b_, kBlock, std::stoi(block), text(block))};
      const auto performance = text("BLOCK=" + block), options = text("num_warps=4");
      all.push_back(index::CreateConfig(b_, performance, options, b_.CreateVector(values)));
    }
    return b_.CreateVector(all);
  }

  fb::Offset<fb::Vector<fb::Offset<index::LookupTable>>> tables() {
    const std::vector<fb::Offset<index::Key>> keys{index::CreateKey(b_, kN, b_.CreateVector<std::int64_t>({16, 256}))};
    const auto all_keys = b_.CreateVector(keys);
    const auto cells = b_.CreateVector(options_.cells);
    return b_.CreateVector(std::vector{index::CreateLookupTable(b_, all_keys, cells, text("measured"))});
  }

  fb::Offset<fb::Vector<fb::Offset<index::Expression>>> grid() {
    using index::Operation;
    const auto first = expression({{kN, Operation::argument}, {kBlock, Operation::argument}, {0, Operation::cdiv}},
                                  "cdiv(N, BLOCK)");
    const auto one = expression({{1, Operation::constant}}, "1");
    return b_.CreateVector(std::vector{first, one, one});
  }

  fb::Offset<index::Image> image(const std::string& functional, const std::string& target, int config) {
    TestImage image;
    image.name = ";;#F;" + functional + ";;#P;BLOCK=" + (config == 0 ? "64" : "128") + ";;#CO;num_warps=4;;arch=";
    image.name += target;
    image.code = "code of " + image.name;
    image.shared = config == 0 ? 1000 : 70000;
    image.threads = 256;
    const auto hash = core::sha256({reinterpret_cast<const std::uint8_t*>(image.code.data()), image.code.size()});
    const auto name = text(image.name);
    const auto sha = b_.CreateVector(hash.data(), hash.size());
    images_[functional].push_back(image);
    std::vector<fb::Offset<index::TensorMap>> maps;
    for (const auto& block : options_.blocks) {
      maps.push_back(index::CreateTensorMap(b_, b_.CreateVector(block), options_.swizzle));
    }
    const auto all_maps = maps.empty() ? fb::Offset<fb::Vector<fb::Offset<index::TensorMap>>>() : b_.CreateVector(maps);
    return index::CreateImage(b_, static_cast<std::uint16_t>(config), name, sha,
                              static_cast<std::uint32_t>(image.code.size()), image.shared, image.threads,
                              static_cast<std::uint8_t>(options_.num_ctas), 100, 0, 0, all_maps);
  }

  fb::Offset<index::Target> target(const std::string& name) {
    std::vector<fb::Offset<index::Functional>> functionals;
    std::vector<std::uint32_t> excluded, failed;
    const std::vector<AxisPlan> plans = axis_plans();
    for (std::uint32_t number = 0; number < 48; ++number) {
      const unsigned type = number / 12, width = number / 4 % 3, mode = number % 2;
      if (mode == 1 && width == 2) {
        excluded.push_back(number);
      } else if (type == 1 && width == 2) {
        failed.push_back(number);
      } else if ((type != 0 || width != 0) && number % options_.step == 0) {
        functionals.push_back(functional(plans, number, name));
      }
    }
    const std::vector<fb::Offset<index::Exclusion>> exclusions{
        index::CreateExclusion(b_, text("mode 3 has no wide form"), index::ExclusionKind::described,
                               b_.CreateVector(excluded)),
        index::CreateExclusion(b_, text("the compiler crashed"), index::ExclusionKind::failed,
                               b_.CreateVector(failed))};
    std::vector<fb::Offset<fb::String>> serves;
    for (const std::string& other : options_.serves[name]) serves.push_back(text(other));
    const auto label = text(name);
    const auto all_functionals = b_.CreateVector(functionals);
    const auto all_exclusions = b_.CreateVector(exclusions);
    return index::CreateTarget(b_, label, all_functionals, all_exclusions, b_.CreateVector(serves));
  }

  fb::Offset<index::Functional> functional(const std::vector<AxisPlan>& plans, std::uint32_t number,
                                           const std::string& target) {
    std::string signature;
    for (const AxisPlan& plan : plans) {
      const Option& option = plan.options[number / plan.weight % plan.options.size()];
      signature += (signature.empty() ? "" : ";") + plan.label + "=" + option.text;
    }
    const std::vector<fb::Offset<index::Image>> images{image(signature, target, 0), image(signature, target, 1)};
    const auto content = text(signature);
    const auto configs = b_.CreateVector<std::uint16_t>({0, 1});
    const auto all_images = b_.CreateVector(images);
    const auto type = static_cast<std::uint16_t>(number / 12);
    return index::CreateFunctional(b_, number, content, type, 0, configs, all_images);
  }

  SampleOptions options_;
  fb::FlatBufferBuilder b_;
  std::map<std::string, std::vector<TestImage>> images_;
};

inline Sample make_sample(SampleOptions options = {}) { return SampleWriter(std::move(options)).write(); }

}  // namespace aotriton::tests
