# The packs: `aotriton.images`, a part of the default target. A build goes on where the last one stopped.

set(AOTRITON_IMAGES_DIR "${PROJECT_BINARY_DIR}/aotriton.images")
if(NOT AOTRITON_NOIMAGE_MODE)
  execute_process(COMMAND "${AOTRITON_PYTHON}" -c "print(round(60 * ${AOTRITON_GPU_BUILD_TIMEOUT}), end='')"
                  OUTPUT_VARIABLE timeout_seconds COMMAND_ERROR_IS_FATAL ANY)
  # A name that isn't there is found now, not after the library is built; a path is relative to the build folder.
  set(check_names "import sys; from aotriton.errors import AotritonError; from aotriton.targets import parse_targets
from aotriton.compile.sets import load_set
try: parse_targets(sys.argv[1:2]), load_set(sys.argv[2])
except AotritonError as error: sys.exit(str(error))")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PYTHONPATH=${PROJECT_SOURCE_DIR}" "${AOTRITON_PYTHON}" -c
                          "${check_names}" "${AOTRITON_TARGET_ARCH}" "${AOTRITON_BUILD_SET}"
                  RESULT_VARIABLE failed ERROR_VARIABLE complaint)
  if(failed)
    message(FATAL_ERROR "AOTRITON_TARGET_ARCH is '${AOTRITON_TARGET_ARCH}', AOTRITON_BUILD_SET is "
                        "'${AOTRITON_BUILD_SET}': ${complaint}")
  endif()
  set(image_options --set "${AOTRITON_BUILD_SET}" --timeout ${timeout_seconds} --out "${AOTRITON_IMAGES_DIR}")
  foreach(target IN LISTS AOTRITON_TARGET_ARCH)
    list(APPEND image_options --target "${target}")
  endforeach()
  file(GLOB_RECURSE image_sources CONFIGURE_DEPENDS aotriton/describe/*.py aotriton/flash/*.py aotriton/compile/*.py
       aotriton/pack/*.py aotriton/data/*.json)
  # The stamp names the options: other ones are another build.
  string(SHA256 image_key "${image_options}")
  string(SUBSTRING "${image_key}" 0 16 image_key)
  set(image_stamp "${PROJECT_BINARY_DIR}/images-${image_key}.stamp")
  add_custom_command(
    OUTPUT "${image_stamp}"
    COMMAND ${AOTRITON_RUN} aotriton build ${image_options}
    COMMAND "${CMAKE_COMMAND}" -E touch "${image_stamp}"
    DEPENDS ${image_sources} schema/index.fbs
    COMMENT "Compiling the packs: set ${AOTRITON_BUILD_SET}" USES_TERMINAL VERBATIM)
  add_custom_target(aotriton_images ALL DEPENDS "${image_stamp}")
endif()
