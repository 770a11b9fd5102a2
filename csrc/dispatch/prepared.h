// A launch that is decided but for the addresses.
#pragma once

#include "drivers/driver.h"

#include <array>
#include <cstdint>

namespace aotriton::index {
struct Functional;
struct Image;
}  // namespace aotriton::index

namespace aotriton::dispatch {

class PackedKernel;

struct Prepared {
  static constexpr std::size_t kMostParameters = 96;
  static constexpr std::size_t kMostAddresses = 32;

  // A parameter that is an address, and whose: the position of the kernel's argument, until a front end puts there
  // where it has the address (`from`).
  struct Address {
    std::uint8_t slot;
    std::uint8_t from;
  };

  const PackedKernel* kernel;
  const index::Functional* functional;
  const index::Image* image;
  drivers::Driver* driver;
  int ordinal;
  std::uint32_t addresses;  // how many
  drivers::Launch facts;    // all but the parameters' addresses; no function: nothing was prepared
  std::array<std::uint64_t, kMostParameters> slots;
  std::array<Address, kMostAddresses> address;

  bool ready() const { return facts.function != nullptr; }

  // `address_of(from)`: the bits of an address. What is kept stays as it is, since a driver may call back. The caller
  // holds the kernel.
  template <typename AddressOf>
  core::Status launch(aotriton_stream stream, AddressOf address_of) const {
    std::uint64_t values[kMostParameters];
    void* pointers[kMostParameters];
    for (std::size_t i = 0; i < facts.count; ++i) values[i] = slots[i], pointers[i] = &values[i];
    for (std::size_t i = 0; i < addresses; ++i) values[address[i].slot] = address_of(address[i].from);
    drivers::Launch launch = facts;
    launch.parameters = pointers;
    core::Status status = driver->launch(ordinal, launch, stream);
    return status.ok() ? status : failure(status);
  }

 private:
  // The driver's failure as the kernel tells it.
  core::Status failure(const core::Status& status) const;
};

}  // namespace aotriton::dispatch
