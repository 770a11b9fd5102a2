// Where this library lies: what belongs to it lies beside it.
#pragma once

#include <string>

namespace aotriton::core {

// The folder of libaotriton_v2.so (of a test program, the program's), with no slash at the end; "" if it can't be told.
const std::string& library_folder();

}  // namespace aotriton::core
