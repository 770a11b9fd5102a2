# The packs: `aotriton.images`, a part of the default target. A build goes on where the last one stopped.

set(AOTRITON_IMAGES_DIR "${PROJECT_BINARY_DIR}/aotriton.images")
if(NOT AOTRITON_NOIMAGE_MODE)
  execute_process(COMMAND "${AOTRITON_PYTHON}" -c "print(round(60 * ${AOTRITON_GPU_BUILD_TIMEOUT}), end='')"
                  OUTPUT_VARIABLE timeout_seconds COMMAND_ERROR_IS_FATAL ANY)
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
