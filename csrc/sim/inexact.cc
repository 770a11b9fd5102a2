#include "sim/inexact.h"

namespace sim {
namespace {

constexpr Inexact table[] = {
#define X(prefix, what) {prefix, what},
#include "sim/tables/inexact.inc"
#undef X
};

} // namespace

std::span<const Inexact> inexact_table() { return table; }

std::string_view inexactness(std::string_view name) {
  for (const Inexact& row : table) {
    if (name.starts_with(row.prefix)) return row.what;
  }
  return {};
}

} // namespace sim
