#include "flash/views.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace aotriton::flash {
namespace {

using core::cat;
using core::Status;
using Wide = __int128;  // sums of products of what was checked to fit into 64 bits

// Sorts the handful of entries that views have.
template <typename Entry, std::size_t Most, typename Before>
void sort_few(std::array<Entry, Most>& entries, int count, Before before) {
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && before(entries[j], entries[j - 1]); --j) std::swap(entries[j], entries[j - 1]);
  }
}

// A step through memory: `first` to `last` times `stride` bytes.
struct Step {
  std::int64_t stride;
  std::int64_t first;
  std::int64_t last;
};

// Steps of one view, or of the difference of two, such that each place is the base and one multiple of every stride.
class Steps {
 public:
  // The steps of a view, with `sign` -1 for those that are subtracted. Dimensions that continue each other are one.
  void add(const aotriton_tensor& view, int sign) {
    std::array<Step, AOTRITON_MAX_RANK + 1> own;
    const std::int64_t bytes = element_bytes(view.dtype);
    int count = 0;
    own[count++] = {1, 0, bytes - 1};
    for (int i = 0; i < view.rank; ++i) {
      if (view.sizes[i] > 1) own[count++] = {view.strides[i] * bytes, 0, view.sizes[i] - 1};
    }
    sort_few(own, count, [](const Step& a, const Step& b) { return a.stride < b.stride; });
    int merged = 0;
    for (int i = 1; i < count; ++i) {
      Step& inner = own[merged];
      if (own[i].stride == inner.stride * (inner.last + 1)) {
        inner.last = (inner.last + 1) * (own[i].last + 1) - 1;
      } else {
        own[++merged] = own[i];
      }
    }
    for (int i = 0; i <= merged; ++i) insert(own[i], sign);
  }

  // Whether the steps reach `distance` by other multiples than zeros alone, if `by_more_than_nothing`.
  Overlap reach(std::int64_t distance, bool by_more_than_nothing) {
    sort_few(steps_, count_, [](const Step& a, const Step& b) { return a.stride > b.stride; });
    budget_ = 4096;
    if (search(0, distance, !by_more_than_nothing)) return Overlap::some;
    return budget_ > 0 ? Overlap::none : Overlap::untold;
  }

 private:
  // Equal strides of both views add up to one step; so packed tensors, which share theirs, stay a short search.
  void insert(Step step, int sign) {
    if (sign < 0) step = {step.stride, -step.last, -step.first};
    for (int i = 0; i < count_; ++i) {
      if (steps_[i].stride != step.stride) continue;
      steps_[i].first += step.first;
      steps_[i].last += step.last;
      return;
    }
    steps_[count_++] = step;
  }

  // From the largest stride down: only multiples after which the smaller steps can still make up the difference.
  bool search(int level, Wide distance, bool moved) {
    if (--budget_ <= 0) return false;
    if (level == count_) return distance == 0 && moved;
    Wide least = 0, most = 0;
    for (int i = level + 1; i < count_; ++i) {
      least += Wide{steps_[i].stride} * steps_[i].first;
      most += Wide{steps_[i].stride} * steps_[i].last;
    }
    const Step& step = steps_[level];
    if (step.stride == 0) {
      // All multiples are the same place: more than one of them is an overlap of its own.
      return search(level + 1, distance, moved || step.first != step.last);
    }
    const Wide from = std::max<Wide>(step.first, divide_up(distance - most, step.stride));
    const Wide to = std::min<Wide>(step.last, divide_down(distance - least, step.stride));
    for (Wide times = from; times <= to && budget_ > 0; ++times) {
      if (search(level + 1, distance - times * step.stride, moved || times != 0)) return true;
    }
    return false;
  }

  static Wide divide_down(Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
  static Wide divide_up(Wide a, Wide b) { return -divide_down(-a, b); }

  std::array<Step, 2 * (AOTRITON_MAX_RANK + 1)> steps_;
  int count_ = 0;
  int budget_ = 0;
};

// By the strides alone, from the smallest up. `none`: they nest, as those of nearly all tensors do, each beyond all that
// the smaller ones reach. `some`: a stride is zero or there twice. `untold`: it takes a search.
Overlap overlap_of_strides(const aotriton_tensor& view) {
  std::array<std::pair<std::int64_t, std::int64_t>, AOTRITON_MAX_RANK> steps;
  int count = 0;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] > 1) steps[count++] = {view.strides[i], view.sizes[i] - 1};
  }
  sort_few(steps, count, [](const auto& a, const auto& b) { return a < b; });
  std::int64_t reached = 0;
  Overlap found = Overlap::none;
  for (int i = 0; i < count; ++i) {
    if (steps[i].first == (i > 0 ? steps[i - 1].first : 0)) return Overlap::some;
    if (steps[i].first <= reached) found = Overlap::untold;
    reached += steps[i].first * steps[i].second;
  }
  return found;
}

}  // namespace

std::string dtype_name(std::int32_t dtype) {
  switch (dtype) {
    case AOTRITON_NONE: return "none";
    case AOTRITON_FP32: return "fp32";
    case AOTRITON_FP16: return "fp16";
    case AOTRITON_BF16: return "bf16";
    case AOTRITON_FP64: return "fp64";
    case AOTRITON_I8: return "int8";
    case AOTRITON_I16: return "int16";
    case AOTRITON_I32: return "int32";
    case AOTRITON_I64: return "int64";
    case AOTRITON_BOOL: return "bool";
    case AOTRITON_U8: return "uint8";
    case AOTRITON_U16: return "uint16";
    case AOTRITON_U32: return "uint32";
    case AOTRITON_U64: return "uint64";
    default: return cat(dtype);
  }
}

int element_bytes(std::int32_t dtype) {
  switch (dtype) {
    case AOTRITON_FP16:
    case AOTRITON_BF16: return 2;
    case AOTRITON_FP32:
    case AOTRITON_I32: return 4;
    default: return 0;
  }
}

std::string shape_text(const aotriton_tensor& view) {
  std::string text = "(";
  for (int i = 0; i < view.rank && i < AOTRITON_MAX_RANK; ++i) {
    if (i > 0) text += ", ";
    core::append(text, view.sizes[i]);
  }
  return text + ")";
}

bool is_empty(const aotriton_tensor& view) {
  return std::any_of(view.sizes, view.sizes + view.rank, [](std::int64_t size) { return size == 0; });
}

Status check_view(const char* name, const aotriton_tensor& view, int rank) {
  if (view.rank != rank) {
    return Status(AOTRITON_INVALID_ARGUMENT, cat(name, " has rank ", view.rank, "; it takes rank ", rank));
  }
  constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();
  const int bytes = element_bytes(view.dtype);
  std::int64_t elements = bytes, reached = bytes;  // in bytes
  bool beyond = false;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = view.sizes[i], stride = view.strides[i];
    if (size < 0 || size > kMostSize) {
      return Status(AOTRITON_INVALID_ARGUMENT, cat(name, " has size ", size, " in dimension ", i,
                                                   "; sizes are 0 to 2147483647"));
    }
    if (stride < 0 && size > 1) {
      return Status(AOTRITON_INVALID_ARGUMENT, cat(name, " has stride ", stride, " in dimension ", i,
                                                   "; strides must not be negative: make a copy with positive ones"));
    }
    std::int64_t step = 0;
    if (size > 1) {
      beyond |= __builtin_mul_overflow(stride, (size - 1) * bytes, &step) || __builtin_add_overflow(reached, step, &reached);
    }
    beyond |= __builtin_mul_overflow(elements, size, &elements);
  }
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
  if ((beyond || elements >= kMostBytes || reached >= kMostBytes) && !is_empty(view)) {
    return Status(AOTRITON_INVALID_ARGUMENT, cat(name, " with shape ", shape_text(view), " and these strides reaches beyond "
                                                 "2^62 bytes, which no memory has; check its sizes and strides"));
  }
  if (view.data == nullptr && !is_empty(view)) {
    return Status(AOTRITON_INVALID_ARGUMENT, cat(name, " is null; it takes a tensor of rank ", rank));
  }
  // Sizes of elements are powers of two.
  if ((reinterpret_cast<std::uintptr_t>(view.data) & static_cast<std::uintptr_t>(bytes - 1)) != 0) {
    return Status(AOTRITON_INVALID_ARGUMENT, cat("the address of ", name, " is not a multiple of its element's ", bytes,
                                                 " bytes; a view must start at an element"));
  }
  return {};
}

Overlap overlaps_itself(const aotriton_tensor& view) {
  if (is_empty(view)) return Overlap::none;
  if (const Overlap found = overlap_of_strides(view); found != Overlap::untold) return found;
  // Two indices of one place differ by steps that, together, lead nowhere.
  Steps steps;
  steps.add(view, 1);
  steps.add(view, -1);
  return steps.reach(0, true);
}

Range range_of(const aotriton_tensor& view) {
  std::int64_t last = 0;
  for (int i = 0; i < view.rank; ++i) {
    if (view.sizes[i] == 0) return {};
    last += (view.sizes[i] - 1) * view.strides[i];
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
  return {begin, begin + static_cast<std::uintptr_t>((last + 1) * element_bytes(view.dtype))};
}

Overlap overlap(const aotriton_tensor& a, const aotriton_tensor& b) {
  const Range a_range = range_of(a), b_range = range_of(b);
  if (!a_range.meets(b_range)) return Overlap::none;
  Steps steps;
  steps.add(a, 1);
  steps.add(b, -1);
  return steps.reach(static_cast<std::int64_t>(b_range.begin - a_range.begin), false);
}

}  // namespace aotriton::flash
