# Headers that are generated: config.h when CMake runs, the others (index, argument structs, machine facts) by the build.

set(AOTRITON_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
set(AOTRITON_CONFIG_INCLUDE_DIR "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${AOTRITON_GENERATED_DIR}")

# ---- config.h ----

# Of the commit at hand when CMake ran: a header that changed with each commit would compile everything anew.
set(AOTRITON_GIT_SHA1 "$ENV{AOTRITON_CI_SUPPLIED_SHA1}")
if(NOT AOTRITON_GIT_SHA1)
  find_package(Git QUIET)
  if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" -C "${PROJECT_SOURCE_DIR}" rev-parse HEAD
                    OUTPUT_VARIABLE AOTRITON_GIT_SHA1 OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT AOTRITON_GIT_SHA1)
  set(AOTRITON_GIT_SHA1 unknown)
endif()
set(AOTRITON_ENABLE_SUFFIX 0)
if(AOTRITON_NAME_SUFFIX)
  set(AOTRITON_ENABLE_SUFFIX 1)
endif()
configure_file(include/aotriton/config.h.in "${AOTRITON_CONFIG_INCLUDE_DIR}/aotriton/config.h" @ONLY)

# ---- headers of the build ----

set(AOTRITON_INDEX_HEADER "${AOTRITON_GENERATED_DIR}/index_generated.h")
add_custom_command(
  OUTPUT "${AOTRITON_INDEX_HEADER}"
  COMMAND "${AOTRITON_FLATC_PATH}/bin/flatc" --cpp --scoped-enums -o "${AOTRITON_GENERATED_DIR}"
          "${PROJECT_SOURCE_DIR}/schema/index.fbs"
  DEPENDS schema/index.fbs VERBATIM)

set(AOTRITON_MACHINES_HEADER "${AOTRITON_GENERATED_DIR}/machines.h")
add_custom_command(
  OUTPUT "${AOTRITON_MACHINES_HEADER}"
  COMMAND ${AOTRITON_RUN} aotriton.generate.machines --out "${AOTRITON_GENERATED_DIR}"
  DEPENDS aotriton/generate/machines.py aotriton/targets.py VERBATIM)
set(AOTRITON_GENERATED_HEADERS "${AOTRITON_INDEX_HEADER}" "${AOTRITON_MACHINES_HEADER}")

# The argument struct of each kernel that has a front end here.
if(EXISTS "${PROJECT_SOURCE_DIR}/aotriton/generate/shims.py")
  file(GLOB_RECURSE description_sources CONFIGURE_DEPENDS aotriton/describe/*.py aotriton/flash/*.py aotriton/generate/shims.py)
  set(AOTRITON_SHIM_HEADER "${AOTRITON_GENERATED_DIR}/attn_fwd_arguments.h")
  add_custom_command(
    OUTPUT "${AOTRITON_SHIM_HEADER}"
    COMMAND ${AOTRITON_RUN} aotriton.generate.shims --out "${AOTRITON_GENERATED_DIR}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${AOTRITON_SHIM_HEADER}"
    DEPENDS ${description_sources} VERBATIM)
  list(APPEND AOTRITON_GENERATED_HEADERS "${AOTRITON_SHIM_HEADER}")
endif()
