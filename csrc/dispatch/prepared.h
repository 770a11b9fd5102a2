// A launch that is decided but for the addresses.
#pragma once

#include "drivers/driver.h"

#include <array>
#include <cstdint>

namespace aotriton::dispatch {

struct Prepared {
  static constexpr std::size_t kMostParameters = 96;
  static constexpr std::size_t kMostAddresses = 32;

  // A parameter that is an address, and whose: the position of the kernel's argument, until a front end puts there
  // where it has the address (`from`).
  struct Address {
    std::uint8_t slot;
    std::uint8_t from;
  };

  drivers::Driver* driver;
  int ordinal;
  drivers::Function function;  // null: nothing was prepared
  std::array<std::uint32_t, 3> grid;
  std::uint32_t threads, shared;
  std::uint16_t parameters, addresses;  // how many
  std::array<std::uint64_t, kMostParameters> slots;
  std::array<Address, kMostAddresses> address;

  // `address_of(from)`: the bits of an address. What is kept stays as it is, since a driver may call back.
  template <typename AddressOf>
  core::Status launch(aotriton_stream stream, AddressOf address_of) const {
    std::uint64_t values[kMostParameters];
    void* pointers[kMostParameters];
    for (std::size_t i = 0; i < parameters; ++i) values[i] = slots[i], pointers[i] = &values[i];
    for (std::size_t i = 0; i < addresses; ++i) values[address[i].slot] = address_of(address[i].from);
    return driver->launch(ordinal, {function, grid, threads, shared, pointers, parameters}, stream);
  }
};

}  // namespace aotriton::dispatch
