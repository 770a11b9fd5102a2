// The environment variables that every call asks for.
#pragma once

namespace aotriton::core {

enum class Variable { device, pack_path };  // AOTRITON_DEVICE, AOTRITON_PACK_PATH

// What std::getenv gives, or "" where it gives null. Where the environment is the one that this thread saw last, the
// answer is the last one: setenv, putenv and unsetenv leave other pointers in `environ`, so comparing those finds every
// change without looking at one string. A call of std::getenv looks at all of them, which costs a launch more than all
// that dispatch does.
const char* environment(Variable variable);
// The same right after a call of `environment` by this thread: without another look.
const char* environment_just_seen(Variable variable);

}  // namespace aotriton::core
