// Which instructions are executed otherwise than the hardware may do it.
#pragma once

#include <span>
#include <string_view>

namespace sim {

struct Inexact {
  std::string_view prefix, what;
};

// The table (tables/inexact.inc), in its order.
std::span<const Inexact> inexact_table();

// What isn't exact about the instruction of that name; empty where it is.
std::string_view inexactness(std::string_view name);

} // namespace sim
