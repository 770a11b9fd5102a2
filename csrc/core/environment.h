// The environment variables that every call asks for.
#pragma once

namespace aotriton::core {

enum class Variable { device, pack_path };  // AOTRITON_DEVICE, AOTRITON_PACK_PATH

// What std::getenv gives, or "" where it gives null. A call of std::getenv looks at every variable, which costs a launch
// more than all that dispatch does. So a thread remembers where it found ours, and looks again once `environ` lies
// elsewhere, an entry of ours is another one, or the first or last entry or their number is: what setenv, putenv, unsetenv
// and clearenv leave behind when they change one of ours, since they put a new one at the end, and close the gap of one
// that goes. (Not seen: a variable of ours that appears within the list, between two calls, by unsetting two others and
// then putting the very string back that stood last.)
const char* environment(Variable variable);
// The same right after a call of `environment` by this thread: without another look.
const char* environment_just_seen(Variable variable);

}  // namespace aotriton::core
