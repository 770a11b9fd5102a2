# What goes into the prefix: headers, the CMake package, and below lib/ all that runs: libraries, packs, Python.
# `PYTHONPATH=<prefix>/lib` serves for the Python part.

include(CMakePackageConfigHelpers)

set(package_folder lib/cmake/aotriton)
install(TARGETS aotriton aotriton_v2 EXPORT aotriton_targets LIBRARY DESTINATION lib)
install(EXPORT aotriton_targets FILE aotritonTargets.cmake DESTINATION ${package_folder})
if(TARGET aotriton_record)
  install(TARGETS aotriton_record LIBRARY DESTINATION lib)
endif()
install(TARGETS aotriton_sim LIBRARY DESTINATION lib)
# Under HIP's names in a folder of its own, for programs that are linked against HIP: LD_LIBRARY_PATH=<prefix>/lib/hip-sim
set(hip_names "${PROJECT_BINARY_DIR}/hip-sim")
file(MAKE_DIRECTORY "${hip_names}")
foreach(version "" .5 .6 .7)
  file(CREATE_LINK "../libaotriton${AOTRITON_NAME_SUFFIX}_sim.so" "${hip_names}/libamdhip64.so${version}" SYMBOLIC)
endforeach()
install(DIRECTORY "${hip_names}" DESTINATION lib)
install(DIRECTORY include/aotriton DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES "${AOTRITON_CONFIG_INCLUDE_DIR}/aotriton/config.h" DESTINATION include/aotriton)

configure_package_config_file(cmake/aotritonConfig.cmake.in "${PROJECT_BINARY_DIR}/aotritonConfig.cmake"
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/aotritonConfigVersion.cmake" COMPATIBILITY AnyNewerVersion)
install(FILES "${PROJECT_BINARY_DIR}/aotritonConfig.cmake" "${PROJECT_BINARY_DIR}/aotritonConfigVersion.cmake"
        DESTINATION ${package_folder})

# The run-time part of the Python package, and the commands, of which those that build say what they lack: it needs
# neither Triton nor PyTorch.
install(FILES aotriton/__init__.py aotriton/__main__.py aotriton/errors.py aotriton/targets.py aotriton/py.typed
        DESTINATION lib/aotriton OPTIONAL)
foreach(folder aotriton/runtime aotriton/cli pyaotriton)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY ${folder}/ DESTINATION lib/${folder} PATTERN "__pycache__" EXCLUDE)
  endif()
endforeach()

if(NOT AOTRITON_NOIMAGE_MODE)
  install(DIRECTORY "${AOTRITON_IMAGES_DIR}" DESTINATION lib PATTERN ".lock" EXCLUDE)
endif()
