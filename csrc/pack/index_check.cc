// What a well-formed FlatBuffer must mean to be an index that dispatch can trust.
#include "core/text.h"
#include "pack/index.h"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Status;
using index::Operation;
using index::Role;

// Tables and texts may be shared inside the buffer, so a small file can describe an endless index: all that is looked
// at, and all that would be printed, is counted.
constexpr std::size_t kMostWork = 100'000'000;

Status bad(std::string text) { return Status(AOTRITON_BAD_PACK, std::move(text)); }

template <typename Vector>
std::size_t size_of(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// FlatBuffers' verifier looks at where a vector's length lies, not at its elements of 8 bytes.
template <typename Vector>
bool is_aligned(const Vector& vector) {
  return reinterpret_cast<std::uintptr_t>(vector.Data()) % 8 == 0;
}

bool power_of_two_or_none(unsigned alignment) { return alignment == 0 || std::has_single_bit(alignment); }

class Check {
 public:
  explicit Check(const index::Index& index) : index_(index) {}

  Status all() {
    for (const auto part : {&Check::head, &Check::arguments, &Check::axes, &Check::signatures, &Check::configs,
                            &Check::tables, &Check::grid, &Check::targets}) {
      if (Status status = (this->*part)(); !status.ok()) return status;
    }
    return {};
  }

 private:
  Status spend(std::size_t work) {
    if (work > kMostWork - spent_) return bad("it describes more than an index can hold");
    spent_ += work;
    return {};
  }
  bool is_argument(unsigned position) const { return position < index_.arguments()->size(); }
  Role role(unsigned position) const { return index_.arguments()->Get(position)->role(); }
  bool is_tensor(unsigned position) const {
    return role(position) == Role::tensor || role(position) == Role::descriptor;
  }

  Status head() {
    if (index_.schema_version() != 1) {
      return bad(cat("its schema has version ", index_.schema_version(), ", this library reads 1"));
    }
    if (index_.scratch_parameters() > kMaxScratchParameters) return bad("too many scratch parameters");
    if (index_.symbol()->size() == 0) return bad("no symbol");
    return {};
  }

  Status arguments();
  Status expression(const index::Expression& expression, std::string_view where);
  Status axes();
  Status axis(const index::Axis& axis);
  Status choices(const index::Axis& axis);
  Status radices();
  Status signatures();
  Status configs();
  Status tables();
  Status grid();
  Status targets();
  Status functional(const index::Target& target, const index::Functional& functional);
  Status images(const index::Functional& functional, std::string_view where);
  Status tensor_maps(const index::Image& image, const index::Signature& signature, std::string_view where);
  Status exclusions(const index::Target& target);
  bool text_is_right(const index::Functional& functional) const;

  const index::Index& index_;
  std::size_t spent_ = 0;
  std::uint64_t total_ = 1;               // functionals in the choice space
  std::vector<bool> on_axis_;             // by argument
  std::vector<std::int64_t> last_cell_;   // by table: the largest cell
};

Status Check::arguments() {
  const auto& arguments = *index_.arguments();
  if (arguments.size() > kMaxArguments) return bad(cat("it has ", arguments.size(), " arguments"));
  on_axis_.assign(arguments.size(), false);
  std::set<std::string_view> names;
  for (const index::Argument* argument : arguments) {
    const std::string_view name = argument->name()->string_view();
    const auto wrong = [&](std::string_view what) { return bad(cat("argument '", name, "' ", what)); };
    if (name.empty() || !names.insert(name).second) return wrong("has no name of its own");
    if (argument->role() > Role::MAX) return wrong("has no role");
    if (argument->type() != index::Type::none && type_bytes(argument->type()) == 0) return wrong("has no type");
    if (argument->rank() < 0 || argument->rank() > AOTRITON_MAX_RANK) return wrong("has a wrong rank");
    if (argument->dense() < 0 || argument->dense() > argument->rank()) return wrong("is too dense");
    if (argument->role() == Role::descriptor && (argument->rank() < 1 || argument->rank() > kMaxDescriptorRank)) {
      return wrong("is a descriptor of a wrong rank");
    }
    if (argument->dimension() < 0 || argument->dimension() >= AOTRITON_MAX_RANK) return wrong("has a wrong dimension");
    if (argument->role() != Role::stride) continue;
    if (argument->tensor() < 0 || !is_argument(static_cast<unsigned>(argument->tensor())) ||
        role(static_cast<unsigned>(argument->tensor())) != Role::tensor) {
      return wrong("is a stride of no tensor");
    }
  }
  return {};
}

Status Check::expression(const index::Expression& expression, std::string_view where) {
  const auto wrong = [&](std::string_view what) { return bad(cat("the expression of ", where, " ", what)); };
  const auto& steps = *expression.steps();
  if (steps.size() > kMaxSteps || !is_aligned(steps)) return wrong("is too long, or lies askew");
  if (Status status = spend(steps.size() + expression.text()->size()); !status.ok()) return status;
  std::size_t depth = 0;
  for (const index::Step* step : steps) {
    const Operation operation = step->operation();
    if (operation > Operation::MAX) return wrong("has an unknown operation");
    const bool leaf = operation == Operation::constant || operation == Operation::argument;
    if (operation == Operation::argument &&
        (step->value() < 0 || step->value() >= static_cast<std::int64_t>(index_.arguments()->size()))) {
      return wrong("uses an argument that isn't there");
    }
    const bool one = operation == Operation::logical_not, three = operation == Operation::select;
    const std::size_t takes = leaf ? 0 : one ? 1 : three ? 3 : 2;
    if (depth < takes) return wrong("is malformed");
    depth += 1 - takes;
    if (depth > kMaxStack) return wrong("needs too deep a stack");
  }
  return depth == 1 ? Status() : wrong("is malformed");
}

Status Check::axes() {
  if (index_.axes()->size() > kMaxAxes) return bad(cat("it has ", index_.axes()->size(), " axes"));
  for (const index::Axis* one : *index_.axes()) {
    if (Status status = axis(*one); !status.ok()) return status;
  }
  return radices();
}

Status Check::axis(const index::Axis& axis) {
  const std::string_view label = axis.label()->string_view();
  const auto wrong = [&](std::string_view what) { return bad(cat("axis '", label, "' ", what)); };
  if (axis.arguments()->size() == 0) return wrong("has no argument");
  for (const unsigned position : *axis.arguments()) {
    if (!is_argument(position) || on_axis_[position]) return wrong("has an argument that isn't its own");
    on_axis_[position] = true;
  }
  if (axis.rule() > index::Rule::MAX) return wrong("has an unknown rule");
  if (Status status = choices(axis); !status.ok()) return status;
  const std::size_t count = axis.choices()->size();
  if (size_of(axis.substitutes()) != 0 && axis.substitutes()->size() != count) return wrong("has other substitutes");
  for (std::size_t i = 0; i < size_of(axis.substitutes()); ++i) {
    const auto* const instead = axis.substitutes()->Get(static_cast<unsigned>(i))->choices();
    if (size_of(instead) > kMaxChoices) return wrong("has too many substitutes");
    for (std::size_t k = 0; k < size_of(instead); ++k) {
      if (instead->Get(static_cast<unsigned>(k)) >= count) return wrong("has a substitute that isn't there");
    }
  }
  return axis.request() == nullptr ? Status() : expression(*axis.request(), label);
}

Status Check::choices(const index::Axis& axis) {
  const auto wrong = [&](std::string_view what) { return bad(cat("axis '", axis.label()->string_view(), "' ", what)); };
  const auto& choices = *axis.choices();
  if (choices.size() == 0 || choices.size() > kMaxChoices) return wrong("has no choices, or too many");
  for (const index::Choice* choice : choices) {
    using index::ChoiceKind;
    const ChoiceKind kind = choice->kind();
    if (Status status = spend(choice->text()->size()); !status.ok()) return status;
    if (kind > ChoiceKind::MAX) return wrong("has a choice of no kind");
    if (choice->type() != index::Type::none && type_bytes(choice->type()) == 0) return wrong("has a choice of no type");
    const bool typed = kind == ChoiceKind::pointer || kind == ChoiceKind::scalar;
    if (typed && choice->type() == index::Type::none) return wrong("has a choice with no type");
    if (!power_of_two_or_none(choice->alignment())) return wrong("has a choice with a wrong alignment");
    if (kind == ChoiceKind::pointer && !is_tensor(axis.arguments()->Get(0))) return wrong("is of no tensor");
    const bool ordered = kind == ChoiceKind::integer || kind == ChoiceKind::boolean;
    if (axis.rule() == index::Rule::at_least && !ordered) return wrong("has choices without an order");
  }
  return {};
}

// The weights are those of a mixed-radix number, whichever axis comes first.
Status Check::radices() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> weights;
  for (const index::Axis* axis : *index_.axes()) weights.emplace_back(axis->radix_stride(), axis->choices()->size());
  std::ranges::sort(weights);
  for (const auto& [weight, radix] : weights) {
    if (weight != total_) return bad("the weights of its axes don't number the functionals");
    total_ *= radix;
    if (total_ > UINT32_MAX) return bad("it has more functionals than can be numbered");
  }
  return {};
}

Status Check::signatures() {
  for (const index::Signature* signature : *index_.signatures()) {
    const auto& parameters = *signature->parameters();
    if (parameters.size() > kMaxArguments) return bad("a signature has too many parameters");
    if (Status status = spend(parameters.size() + size_of(signature->fixed())); !status.ok()) return status;
    std::size_t descriptors = 0;
    for (const index::Parameter* parameter : parameters) {
      if (!is_argument(parameter->argument())) return bad("a signature takes an argument that isn't there");
      const Role is = role(parameter->argument());
      const std::string_view name = index_.arguments()->Get(parameter->argument())->name()->string_view();
      const auto wrong = [&](std::string_view what) { return bad(cat("a signature takes '", name, "' ", what)); };
      if (type_bytes(parameter->type()) == 0) return wrong("with no type");
      if (!power_of_two_or_none(parameter->alignment())) return wrong("with a wrong alignment");
      if (is == Role::performance) return wrong("which its configs decide");
      if (is == Role::descriptor && parameter->type() == index::Type::i1) return wrong("with no type of a descriptor");
      if (is == Role::descriptor && ++descriptors > kMaxDescriptors) return wrong("after too many other descriptors");
      if (parameter->pointer() != is_tensor(parameter->argument())) return wrong("as what it isn't");
    }
    for (std::size_t i = 0; i < size_of(signature->fixed()); ++i) {
      const unsigned argument = signature->fixed()->Get(static_cast<unsigned>(i))->argument();
      if (!is_argument(argument)) return bad("a signature fixes an argument that isn't there");
    }
  }
  return {};
}

Status Check::configs() {
  for (const index::Config* config : *index_.configs()) {
    const std::size_t texts = config->performance()->size() + config->options()->size();
    if (Status status = spend(config->values()->size() + texts); !status.ok()) return status;
    for (const index::Value* value : *config->values()) {
      if (Status status = spend(value->text()->size()); !status.ok()) return status;
      if (!is_argument(value->argument()) || role(value->argument()) != Role::performance) {
        return bad("a config decides an argument that is no performance choice");
      }
    }
  }
  return {};
}

Status Check::tables() {
  for (const index::LookupTable* table : *index_.tables()) {
    if (size_of(table->keys()) > kMaxKeys) return bad("a table has too many keys");
    std::uint64_t cells = 1;
    for (std::size_t i = 0; i < size_of(table->keys()); ++i) {
      const index::Key& key = *table->keys()->Get(static_cast<unsigned>(i));
      if (!is_argument(key.argument())) return bad("a table's key isn't there");
      const auto& bins = *key.bins();
      if (Status status = spend(bins.size()); !status.ok()) return status;
      if (bins.size() == 0 || !is_aligned(bins)) return bad("a table's key has no bins, or they lie askew");
      for (unsigned k = 1; k < bins.size(); ++k) {
        if (bins.Get(k - 1) >= bins.Get(k)) return bad("a table's bins are not in order");
      }
      cells *= bins.size();
      if (cells > UINT32_MAX) return bad("a table's bins are too many");
    }
    if (table->cells()->size() != cells) return bad("a table has another number of cells than its bins ask for");
    if (Status status = spend(cells + table->source()->size()); !status.ok()) return status;
    std::int64_t last = -1;
    for (const std::int64_t cell : *table->cells()) {
      if (cell < -1) return bad("a table has a negative cell");
      last = std::max(last, cell);
    }
    last_cell_.push_back(last);
  }
  return {};
}

Status Check::grid() {
  if (index_.grid()->size() != 3 && index_.grid()->size() != 0) return bad("its grid has not three dimensions");
  for (const index::Expression* one : *index_.grid()) {
    if (Status status = expression(*one, "the grid"); !status.ok()) return status;
  }
  return {};
}

Status Check::targets() {
  std::set<std::string_view> names;
  for (const index::Target* target : *index_.targets()) {
    const std::string_view name = target->name()->string_view();
    if (name.empty() || !names.insert(name).second) return bad(cat("target '", name, "' has no name of its own"));
    const index::Functional* before = nullptr;
    for (const index::Functional* one : *target->functionals()) {
      if (before != nullptr && before->number() >= one->number()) return bad(cat(name, ": functionals out of order"));
      if (Status status = functional(*target, *one); !status.ok()) return status;
      before = one;
    }
    if (Status status = exclusions(*target); !status.ok()) return status;
  }
  return {};
}

Status Check::functional(const index::Target& target, const index::Functional& functional) {
  const std::string where = cat(target.name()->string_view(), ", functional ", functional.number());
  const auto wrong = [&](std::string_view what) { return bad(cat(where, ": ", what)); };
  const auto& configs = *functional.configs();
  if (Status status = spend(configs.size() + functional.text()->size() + 1); !status.ok()) return status;
  if (functional.number() >= total_) return wrong("its number is not in the choice space");
  if (!text_is_right(functional)) return wrong("its text is another functional's");
  if (functional.signature() >= index_.signatures()->size()) return wrong("its signature isn't there");
  if (functional.table() >= index_.tables()->size()) return wrong("its table isn't there");
  for (const unsigned config : configs) {
    if (config >= index_.configs()->size()) return wrong("a config isn't there");
  }
  if (last_cell_[functional.table()] >= static_cast<std::int64_t>(configs.size())) return wrong("a cell has no config");
  return images(functional, where);
}

Status Check::images(const index::Functional& functional, std::string_view where) {
  const auto& configs = *functional.configs();
  std::set<unsigned> seen;
  for (const index::Image* image : *functional.images()) {
    const auto wrong = [&](std::string_view what) { return bad(cat(where, ": image ", what)); };
    const std::size_t size = configs.size() + image->name()->size() + image->sha256()->size();
    if (Status status = spend(size); !status.ok()) return status;
    const bool listed = std::ranges::any_of(configs, [&](unsigned config) { return config == image->config(); });
    if (!listed || !seen.insert(image->config()).second) return wrong("of no config of its own");
    if (image->name()->size() == 0) return wrong("without a name");
    if (image->sha256()->size() != 32) return wrong("without a SHA-256");
    if (image->bytes() == 0) return wrong("without bytes");
    if (!std::has_single_bit(image->num_ctas()) || image->num_ctas() > 16) return wrong("with a wrong cluster");
    const index::Signature& signature = *index_.signatures()->Get(functional.signature());
    if (Status status = tensor_maps(*image, signature, where); !status.ok()) return status;
    if (image->threads() == 0 || image->threads() > 65535) return wrong("with a wrong number of threads");
  }
  return {};
}

// None, or one for each descriptor, of what CUDA can build.
Status Check::tensor_maps(const index::Image& image, const index::Signature& signature, std::string_view where) {
  constexpr unsigned kMostElements = 256, kLeastBytes = 16;
  const auto wrong = [&](std::string_view what) { return bad(cat(where, ": image with ", what)); };
  const std::size_t count = size_of(image.tensor_maps());
  if (count == 0) return {};
  unsigned at = 0;
  for (const index::Parameter* parameter : *signature.parameters()) {
    if (role(parameter->argument()) != Role::descriptor) continue;
    if (at == count) return wrong("too few tensor maps");
    const index::TensorMap& map = *image.tensor_maps()->Get(at++);
    const auto& block = *map.block();
    if (Status status = spend(1 + block.size()); !status.ok()) return status;
    if (static_cast<int>(block.size()) != index_.arguments()->Get(parameter->argument())->rank()) {
      return wrong("a tensor map of another rank");
    }
    if (std::ranges::any_of(block, [](unsigned size) { return size == 0 || size > kMostElements; })) {
      return wrong("a tensor map whose block is empty or too large");
    }
    const unsigned row = block.Get(block.size() - 1) * type_bytes(parameter->type()), swizzle = map.swizzle();
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) return wrong("an unknown swizzle");
    if (row % kLeastBytes != 0 || (swizzle != 0 && row > swizzle)) return wrong("a tensor map of wrong rows");
  }
  return at == count ? Status() : wrong("too many tensor maps");
}

Status Check::exclusions(const index::Target& target) {
  for (std::size_t i = 0; i < size_of(target.exclusions()); ++i) {
    const index::Exclusion& exclusion = *target.exclusions()->Get(static_cast<unsigned>(i));
    const auto wrong = [&](std::string_view what) { return bad(cat(target.name()->string_view(), ": ", what)); };
    if (exclusion.kind() > index::ExclusionKind::MAX) return wrong("an exclusion of no kind");
    const std::size_t size = exclusion.numbers()->size() + exclusion.reason()->size();
    if (Status status = spend(size); !status.ok()) return status;
    std::int64_t before = -1;
    for (const std::uint32_t number : *exclusion.numbers()) {
      if (number >= total_) return wrong("an exclusion of what is not in the choice space");
      if (number <= before) return wrong("an exclusion's numbers out of order");
      before = number;
    }
  }
  return {};
}

// The text lists the choices that the number means: 'label=choice;label=choice', or says 'single' where there are none.
bool Check::text_is_right(const index::Functional& functional) const {
  std::string_view text = functional.text()->string_view();
  if (index_.axes()->size() == 0) return text == "single";
  const auto eat = [&](std::string_view piece) {
    if (!text.starts_with(piece)) return false;
    text.remove_prefix(piece.size());
    return true;
  };
  for (unsigned i = 0; i < index_.axes()->size(); ++i) {
    const index::Axis& axis = *index_.axes()->Get(i);
    const auto digit = functional.number() / axis.radix_stride() % axis.choices()->size();
    const std::string_view choice = axis.choices()->Get(digit)->text()->string_view();
    if ((i > 0 && !eat(";")) || !eat(axis.label()->string_view()) || !eat("=") || !eat(choice)) return false;
  }
  return text.empty();
}

}  // namespace

Status check_index(const index::Index& index) { return Check(index).all(); }

}  // namespace aotriton::pack
