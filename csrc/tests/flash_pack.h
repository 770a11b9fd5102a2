// A pack for the flash front end: `flash/attn_fwd` with its real arguments, one functional for all problems, and code
// objects that the recording library can load. What is launched is a part of the arguments, of every kind. Sequences of
// more than 1000 queries have a config, and so a code object, of their own.
#pragma once

#include "attn_fwd_arguments.h"
#include "core/sha256.h"
#include "tests/archives.h"
#include "tests/code_objects.h"

#include <index_generated.h>

#include <cctype>
#include <string_view>

namespace aotriton::tests {

namespace fb = flatbuffers;

class FlashPackWriter {
 public:
  // `damaged`: the code object for long sequences isn't the one that the index tells the hash of.
  explicit FlashPackWriter(bool damaged = false) : damaged_(damaged) {}

  Buffer zip() {
    const auto symbol = text("attn_fwd");
    const auto all_arguments = arguments();
    const auto axes = b_.CreateVector(std::vector<fb::Offset<index::Axis>>{});
    const auto all_signatures = b_.CreateVector(std::vector{signature()});
    const auto all_configs = b_.CreateVector(std::vector{config("BLOCK_M=1"), config("BLOCK_M=2")});
    const auto bins = b_.CreateVector<std::int64_t>({1000, 1001});
    const auto keys = b_.CreateVector(std::vector{index::CreateKey(b_, position("Max_seqlen_q"), bins)});
    const auto cells = b_.CreateVector<std::int16_t>({0, 1});
    const auto tables = b_.CreateVector(std::vector{index::CreateLookupTable(b_, keys, cells, text("made up"))});
    const auto targets = b_.CreateVector(std::vector{target("gfx942", amd_code(kGfx942, code())),
                                                     target("sm_90", nvidia_code(90, code()))});
    const auto rows = expression({{position("Max_seqlen_q"), index::Operation::argument},
                                  {64, index::Operation::constant},
                                  {0, index::Operation::cdiv}},
                                 "cdiv(Max_seqlen_q, 64)");
    const auto one = expression({{1, index::Operation::constant}}, "1");
    const auto grid = b_.CreateVector(std::vector{rows, one, one});
    const auto family = text("flash"), kernel = text("attn_fwd"), hash = text("d1");
    index::IndexBuilder root(b_);
    root.add_schema_version(1);
    root.add_family(family);
    root.add_kernel(kernel);
    root.add_symbol(symbol);
    root.add_arguments(all_arguments);
    root.add_axes(axes);
    root.add_signatures(all_signatures);
    root.add_configs(all_configs);
    root.add_tables(tables);
    root.add_targets(targets);
    root.add_grid(grid);
    root.add_description_hash(hash);
    b_.Finish(root.Finish(), index::IndexIdentifier());
    const Buffer index(b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize());
    return tests::zip({{"__index__", index, true}, {"single", aks2(images_), false}});
  }

 private:
  using Type = index::Type;
  struct Launched {
    const char* name;
    Type type;
    bool pointer;
  };
  // Then follow two null pointers, which are Triton's scratch memory.
  static constexpr Launched kLaunched[] = {
      {"Q", Type::fp16, true},           {"Sm_scale", Type::fp32, false},    {"L", Type::fp32, true},
      {"stride_kn", Type::u64, false},   {"Num_head_k", Type::i32, false},   {"Window_right", Type::i32, false},
      {"persistent_atomic_counter", Type::i32, true}, {"Num_CU", Type::i32, false},
  };

  static std::uint16_t position(std::string_view name) {
    for (std::uint16_t i = 0; i < flash::kAttnFwdArgumentNames.size(); ++i) {
      if (name == flash::kAttnFwdArgumentNames[i]) return i;
    }
    throw std::runtime_error("no argument " + std::string(name));
  }

  static FakeCode code() {
    FakeCode code;
    code.symbol = "attn_fwd";
    code.parameters = {{0, 8}, {8, 4}, {16, 8}, {24, 8}, {32, 4}, {36, 4}, {40, 8}, {48, 4}, {56, 8}, {64, 8}};
    return code;
  }

  fb::Offset<fb::String> text(const std::string& content) { return b_.CreateString(content); }

  fb::Offset<index::Expression> expression(const std::vector<index::Step>& steps, const std::string& content) {
    const auto all = b_.CreateVectorOfStructs(steps);
    return index::CreateExpression(b_, all, text(content));
  }

  fb::Offset<fb::Vector<fb::Offset<index::Argument>>> arguments() {
    const std::string_view performance = " PERSISTENT_TYPE GRID_CU_MULTIP BLOCK_M BLOCK_N PRE_LOAD_V NUM_XCDS ";
    const std::string_view scalars = " Sm_scale Num_head_q Num_head_k Num_seqlens Max_seqlen_q Max_seqlen_k Hdim_qk "
                                     "Hdim_vo dropout_p philox_offset2 Window_left Window_right Num_CU Batch ";
    std::vector<fb::Offset<index::Argument>> all;
    for (const std::string_view name : flash::kAttnFwdArgumentNames) {
      const std::string padded = " " + std::string(name) + " ";
      const bool real = name == "Sm_scale" || name == "dropout_p";
      if (name.starts_with("stride_")) {
        const std::string tensor(1, static_cast<char>(std::toupper(name[7])));
        const char dimension = name[8];
        const int number = dimension == 'z' ? 0 : dimension == 'h' ? 1 : dimension == 'k' ? 3 : 2;
        const bool last = name == "stride_bn" || name == "stride_kk";
        all.push_back(argument(name, index::Role::stride, Type::u64, position(tensor == "O" ? "Out" : tensor),
                               last ? 3 : number, 0));
      } else if (performance.find(padded) != performance.npos) {
        all.push_back(argument(name, index::Role::performance, Type::none, -1, 0, 0));
      } else if (scalars.find(padded) != scalars.npos) {
        all.push_back(argument(name, index::Role::scalar, real ? Type::fp32 : Type::i32, -1, 0, 0));
      } else if (std::isupper(static_cast<unsigned char>(name[0])) != 0 && name.size() > 3) {
        all.push_back(argument(name, index::Role::choice, Type::none, -1, 0, 0));
      } else {
        all.push_back(argument(name, index::Role::tensor, type_of(name), -1, 0, rank_of(name)));
      }
    }
    return b_.CreateVector(all);
  }

  static Type type_of(std::string_view name) {
    if (name == "L" || name == "A") return Type::fp32;
    if (name.starts_with("philox")) return Type::u64;
    return name.size() > 3 ? Type::i32 : Type::fp16;
  }
  static int rank_of(std::string_view name) {
    if (name == "L" || name == "A") return 2;
    return name.size() <= 3 ? 4 : name.starts_with("cu_") || name.starts_with("seq_") ? 1 : 0;
  }

  fb::Offset<index::Argument> argument(std::string_view name, index::Role role, Type type, int tensor, int dimension,
                                       int rank) {
    return index::CreateArgument(b_, text(std::string(name)), role, type, static_cast<std::int16_t>(tensor),
                                 static_cast<std::int8_t>(dimension), static_cast<std::int8_t>(rank),
                                 role == index::Role::tensor, std::int8_t(name == "L" ? 2 : 0));
  }

  fb::Offset<index::Signature> signature() {
    std::vector<fb::Offset<index::Parameter>> parameters;
    for (const auto& [name, type, pointer] : kLaunched) {
      parameters.push_back(index::CreateParameter(b_, position(name), type, pointer, 0));
    }
    return index::CreateSignature(b_, b_.CreateVector(parameters));
  }

  fb::Offset<index::Config> config(const std::string& content) {
    std::vector<fb::Offset<index::Value>> values;
    for (const char* name : {"PERSISTENT_TYPE", "GRID_CU_MULTIP", "BLOCK_M", "BLOCK_N", "PRE_LOAD_V", "NUM_XCDS"}) {
      values.push_back(index::CreateValue(b_, position(name), 1, text("1")));
    }
    const auto performance = text(content), options = text("num_warps=4");
    return index::CreateConfig(b_, performance, options, b_.CreateVector(values));
  }

  fb::Offset<index::Image> image(std::uint16_t config, const std::string& performance, const std::string& target,
                                 const std::string& bytes, bool damaged) {
    TestImage image{";;#F;single;;#P;" + performance + ";;#CO;num_warps=4;;arch=" + target, bytes, 2048, 128};
    const auto hash = core::sha256({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (damaged) image.code.back() = static_cast<char>(image.code.back() ^ 1);
    const auto name = text(image.name);
    const auto sha = b_.CreateVector(hash.data(), hash.size());
    images_.push_back(image);
    return index::CreateImage(b_, config, name, sha, static_cast<std::uint32_t>(bytes.size()), image.shared, image.threads, 1,
                              100, 0);
  }

  fb::Offset<index::Target> target(const std::string& name, const std::string& bytes) {
    const std::vector<fb::Offset<index::Image>> both{image(0, "BLOCK_M=1", name, bytes, false),
                                                     image(1, "BLOCK_M=2", name, bytes, damaged_)};
    const auto single = text("single");
    const auto configs = b_.CreateVector<std::uint16_t>({0, 1});
    const auto images = b_.CreateVector(both);
    const auto functional = index::CreateFunctional(b_, 0, single, 0, 0, configs, images);
    const auto label = text(name);
    return index::CreateTarget(b_, label, b_.CreateVector(std::vector{functional}));
  }

  bool damaged_;
  fb::FlatBufferBuilder b_;
  std::vector<TestImage> images_;
};

}  // namespace aotriton::tests
