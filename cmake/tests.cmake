# One program per file of csrc/tests, built when ctest runs or by the target `tests`, not by default.

enable_testing()
file(GLOB AOTRITON_TEST_SOURCES CONFIGURE_DEPENDS csrc/tests/*.cc)
add_custom_target(tests)
add_test(NAME build_tests COMMAND "${CMAKE_COMMAND}" --build "${PROJECT_BINARY_DIR}" --target tests)
set_tests_properties(build_tests PROPERTIES FIXTURES_SETUP programs TIMEOUT 600)
foreach(source IN LISTS AOTRITON_TEST_SOURCES)
  get_filename_component(program "${source}" NAME_WE)
  add_executable(${program} EXCLUDE_FROM_ALL "${source}")
  if(program MATCHES "_sim$")
    target_link_libraries(${program} PRIVATE aotriton_sim_objects)
  else()
    target_link_libraries(${program} PRIVATE aotriton_objects)
  endif()
  if(TARGET aotriton_record)
    add_dependencies(${program} aotriton_record)
  endif()
  add_dependencies(tests ${program})
  add_test(NAME ${program} COMMAND ${program})
  # 77: the program says what it lacks. Nothing from the caller's environment decides what a test sees.
  set_tests_properties(${program} PROPERTIES FIXTURES_REQUIRED programs SKIP_RETURN_CODE 77 TIMEOUT 300
                       ENVIRONMENT_MODIFICATION "AOTRITON_DEVICE=unset:;AOTRITON_PACK_PATH=unset:")
endforeach()
