# Measurements in C++: targets of their own, built when asked for and never installed.

# Linked with the library as its users are, and with a second copy of what lies behind its API, to look at launches.
add_executable(launch_cost EXCLUDE_FROM_ALL benchmarks/launch_cost.cc)
target_include_directories(launch_cost PRIVATE $<TARGET_PROPERTY:aotriton_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_include_directories(launch_cost SYSTEM PRIVATE $<TARGET_PROPERTY:aotriton_objects,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
target_sources(launch_cost PRIVATE $<FILTER:$<TARGET_OBJECTS:aotriton_objects>,EXCLUDE,/csrc/api/>)
target_link_libraries(launch_cost PRIVATE aotriton_v2 "${LZMA_STATIC_LIBRARY}" Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(launch_cost PROPERTIES BUILD_RPATH "$ORIGIN;$ORIGIN/../lib")
add_dependencies(launch_cost aotriton_objects)
if(TARGET aotriton_record)
  add_dependencies(launch_cost aotriton_record)
endif()
