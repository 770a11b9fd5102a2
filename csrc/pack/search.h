// Where packs are looked for, and which kernel file serves a target.
#pragma once

#include "core/status.h"
#include "pack/kernel_file.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace aotriton::pack {

// Searches `folder` before all others from now on.
void add_path(std::string folder);
// The folders, first one first: those that were added, AOTRITON_PACK_PATH, `aotriton.images` beside the library.
std::vector<std::string> search_path();
// Grows whenever the search path may have become another; whoever keeps an opened kernel can compare.
std::uint64_t search_generation();

struct Located {
  std::shared_ptr<const KernelFile> file;
  const index::Target* target = nullptr;  // the device's own, or one that serves it
  bool exact = true;
};

// The file of `family`/`kernel` for `target`: its own target in any pack of any folder before one that only serves it.
// `folder` is a folder of packs, "" the search path.
core::Result<Located> locate(std::string_view folder, std::string_view family, std::string_view kernel,
                             std::string_view target);

// Whether a pack folder's name is what packs of `target` are called: amd-gfx110x for gfx1101, nvidia-sm90 for sm_90.
// A guess that saves looking into other packs, never the decision.
bool named_for(std::string_view pack, std::string_view target);

}  // namespace aotriton::pack
