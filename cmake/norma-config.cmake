# find_package(Norma)
#
# Finds normac and the runtime, next to this file in a clone (target/release, target/debug) or below the prefix where it is
# installed (bin, include, lib, lib/cmake/norma), and provides
#
#   Norma::runtime         the runtime as a shared object
#   Norma::runtime_static  the runtime as a static library, if it was built
#   norma_add_kernels      compiles kernels into a target
#   norma_add_bundles      compiles kernels to folders, for programs that open them
#
# The variables NORMA_NORMAC, NORMA_RUNTIME and NORMA_RUNTIME_STATIC override what it finds.
get_filename_component(_norma_clone "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
get_filename_component(_norma_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_norma_built "${_norma_clone}/target/release" "${_norma_clone}/target/debug")

find_program(NORMA_NORMAC normac HINTS ${_norma_built} "${_norma_prefix}/bin" DOC "Norma's ahead-of-time compiler")
find_path(NORMA_INCLUDE norma/runtime.h HINTS "${_norma_clone}/runtime/include" "${_norma_prefix}/include"
          DOC "The folder of Norma's headers")
find_library(NORMA_RUNTIME libnorma_runtime.so HINTS ${_norma_built} "${_norma_prefix}/lib" DOC "Norma's runtime")
find_library(NORMA_RUNTIME_STATIC libnorma_runtime.a HINTS ${_norma_built} "${_norma_prefix}/lib"
             DOC "Norma's runtime as an archive")

foreach(_norma_needed NORMA_NORMAC NORMA_INCLUDE NORMA_RUNTIME)
  if(NOT ${_norma_needed})
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "${_norma_needed} is not found; build Norma, or set it")
    return()
  endif()
endforeach()

if(NOT TARGET Norma::runtime)
  add_library(Norma::runtime SHARED IMPORTED)
  set_target_properties(Norma::runtime PROPERTIES
    IMPORTED_LOCATION "${NORMA_RUNTIME}"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${NORMA_INCLUDE}")
endif()
if(NORMA_RUNTIME_STATIC AND NOT TARGET Norma::runtime_static)
  add_library(Norma::runtime_static STATIC IMPORTED)
  set_target_properties(Norma::runtime_static PROPERTIES
    IMPORTED_LOCATION "${NORMA_RUNTIME_STATIC}"
    INTERFACE_INCLUDE_DIRECTORIES "${NORMA_INCLUDE}"
    # The system libraries that Rust's standard library needs.
    INTERFACE_LINK_LIBRARIES "gcc_s;pthread;dl;m")
endif()

# norma_add_kernels(TARGET FILE.mlir... [TARGETS sm_90a...] [OPTIONS OPTION...] [STATIC])
#
# Compiles the functions of each FILE.mlir into the program or library TARGET, for each of TARGETS (by default sm_90a), and
# links the runtime; with STATIC, as a static library. Sources of TARGET include "FILE.h", which declares a function for each,
# or "FILE.hpp" in C++:
#
#   find_package(Norma REQUIRED)
#   add_executable(my_app main.cpp)
#   norma_add_kernels(my_app rms_norm.mlir TARGETS sm_90a sm_100a)
function(norma_add_kernels target)
  cmake_parse_arguments(ARG "STATIC" "" "TARGETS;OPTIONS" ${ARGN})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "norma_add_kernels(${target}): there is no such target")
  endif()
  if(NOT ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "norma_add_kernels(${target}): expected sources")
  endif()
  _norma_targets(targets ${ARG_TARGETS})
  # The project's own compiler compiles the objects; a C++ compiler also compiles C.
  if(CMAKE_C_COMPILER)
    set(compiler "${CMAKE_C_COMPILER}")
  else()
    set(compiler "${CMAKE_CXX_COMPILER}")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/norma/${target}")
  file(MAKE_DIRECTORY "${folder}")
  set(stems)
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    _norma_source(path "norma_add_kernels(${target})" "${source}")
    get_filename_component(stem "${source}" NAME_WE)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "norma_add_kernels(${target}): two sources are called ${stem}")
    endif()
    list(APPEND stems "${stem}")
    set(outputs "${folder}/${stem}.o" "${folder}/${stem}.h" "${folder}/${stem}.hpp")
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND "${CMAKE_COMMAND}" -E env "CC=${compiler}" "${NORMA_NORMAC}" "${path}" --target "${targets}" ${ARG_OPTIONS}
              --emit=object -o "${folder}/${stem}.o"
      DEPENDS "${path}" "${NORMA_NORMAC}"
      COMMENT "Compiling ${stem} to GPU kernels"
      VERBATIM)
    set_source_files_properties("${folder}/${stem}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${outputs})
  endforeach()
  target_include_directories(${target} PRIVATE "${folder}")
  if(ARG_STATIC)
    target_link_libraries(${target} PRIVATE Norma::runtime_static)
  else()
    target_link_libraries(${target} PRIVATE Norma::runtime)
  endif()
endfunction()

# norma_add_bundles(NAME SOURCES FILE.mlir... [TARGETS sm_90a...] [OPTIONS OPTION...])
#
# Compiles kernels at build time: normac runs on each source, for each target (by default sm_90a), and writes a bundle
# (manifest.json, cubins) to a folder for the source. The custom target NAME builds all bundles, and its property
# NORMA_BUNDLES lists the folders, for install(DIRECTORY ...):
#
#   norma_add_bundles(my_kernels SOURCES rms_norm.mlir TARGETS sm_90a)
#   add_dependencies(my_app my_kernels)
#   get_target_property(bundles my_kernels NORMA_BUNDLES)
function(norma_add_bundles name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TARGETS;OPTIONS" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "norma_add_bundles(${name}): expected SOURCES")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "norma_add_bundles(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  _norma_targets(targets ${ARG_TARGETS})

  set(bundles)
  set(manifests)
  foreach(source IN LISTS ARG_SOURCES)
    _norma_source(path "norma_add_bundles(${name})" "${source}")
    get_filename_component(stem "${source}" NAME_WE)
    set(bundle "${CMAKE_CURRENT_BINARY_DIR}/${name}/${stem}")
    if(bundle IN_LIST bundles)
      message(FATAL_ERROR "norma_add_bundles(${name}): two sources are called ${stem}")
    endif()
    # A bundle for several targets has a manifest in a folder for each; the stamp represents all of them.
    add_custom_command(
      OUTPUT "${bundle}.stamp"
      COMMAND "${NORMA_NORMAC}" "${path}" --target "${targets}" ${ARG_OPTIONS} -o "${bundle}"
      COMMAND "${CMAKE_COMMAND}" -E touch "${bundle}.stamp"
      DEPENDS "${path}" "${NORMA_NORMAC}"
      COMMENT "Compiling ${stem} to GPU kernels"
      VERBATIM)
    list(APPEND bundles "${bundle}")
    list(APPEND manifests "${bundle}.stamp")
  endforeach()

  add_custom_target(${name} DEPENDS ${manifests})
  set_target_properties(${name} PROPERTIES NORMA_BUNDLES "${bundles}")
endfunction()

# The path of a source, which has to exist unless the build makes it. `caller` is named in the message.
function(_norma_source result caller source)
  get_filename_component(path "${source}" ABSOLUTE)
  get_source_file_property(generated "${path}" GENERATED)
  if(NOT generated AND NOT EXISTS "${path}")
    message(FATAL_ERROR "${caller}: expected a file of kernels, got '${source}', and there is no ${path}")
  endif()
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# The value of --target for a list of targets.
function(_norma_targets result)
  set(targets ${ARGN})
  if(NOT targets)
    set(targets sm_90a)
  endif()
  list(JOIN targets "," joined)
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()
