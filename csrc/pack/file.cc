#include "pack/file.h"

#include "core/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace aotriton::pack {
namespace {

using core::cat;
using core::Status;

FileIdentity describe(const struct stat& facts) {
  return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec,
          facts.st_mtim.tv_nsec};
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Status unreadable(const std::string& path, int error) {
  const aotriton_status code = error == ENOENT || error == ENOTDIR ? AOTRITON_NO_PACK : AOTRITON_BAD_PACK;
  return Status(code, cat("can't read ", path, ": ", std::strerror(error)));
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return describe(facts);
}

core::Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Non-blocking, so that a pipe of that name is an error below and not a wait.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) return unreadable(path, errno);
  struct stat facts;
  if (::fstat(file.number, &facts) != 0) return unreadable(path, errno);
  if (!S_ISREG(facts.st_mode)) return Status(AOTRITON_BAD_PACK, cat(path, " is no regular file"));
  if (facts.st_size == 0) return Status(AOTRITON_BAD_PACK, cat(path, " is empty; build the pack again"));
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) return unreadable(path, errno);
  const std::span<const std::uint8_t> bytes(static_cast<const std::uint8_t*>(memory), size);
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, describe(facts)));
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size()); }

}  // namespace aotriton::pack
