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
# The variables NORMA_NORMAC, NORMA_INCLUDE, NORMA_RUNTIME and NORMA_RUNTIME_STATIC override what it finds. What is not there is searched
# where CMake searches by default.
get_filename_component(_norma_clone "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(EXISTS "${_norma_clone}/Cargo.toml")
  set(_norma_include "${_norma_clone}/runtime/include")
  set(_norma_bin "${_norma_clone}/target/release" "${_norma_clone}/target/debug")
  set(_norma_lib ${_norma_bin})
else()
  get_filename_component(_norma_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set(_norma_include "${_norma_prefix}/include")
  set(_norma_bin "${_norma_prefix}/bin")
  set(_norma_lib "${_norma_prefix}/lib")
endif()

# The parts have to be of one version, so those that another copy of this file has found are searched for again. _NORMA_FOUND_<variable> is
# what was found: a value that differs was set by the user, and stays.
set(_norma_searched)
foreach(_norma_variable NORMA_NORMAC NORMA_INCLUDE NORMA_RUNTIME NORMA_RUNTIME_STATIC)
  if(NOT "${_NORMA_FOUND_BY}" STREQUAL "${CMAKE_CURRENT_LIST_DIR}" AND DEFINED CACHE{_NORMA_FOUND_${_norma_variable}}
     AND "$CACHE{${_norma_variable}}" STREQUAL "$CACHE{_NORMA_FOUND_${_norma_variable}}")
    unset(${_norma_variable} CACHE)
  endif()
  if(NOT DEFINED ${_norma_variable} OR "${${_norma_variable}}" MATCHES "-NOTFOUND$")
    list(APPEND _norma_searched ${_norma_variable})
  endif()
endforeach()

# CMake would search the prefixes of the user before HINTS.
find_program(NORMA_NORMAC normac PATHS ${_norma_bin} NO_DEFAULT_PATH DOC "Norma's ahead-of-time compiler")
find_path(NORMA_INCLUDE norma/runtime.h PATHS "${_norma_include}" NO_DEFAULT_PATH DOC "The folder of Norma's headers")
find_library(NORMA_RUNTIME libnorma_runtime.so PATHS ${_norma_lib} NO_DEFAULT_PATH DOC "Norma's runtime")
find_library(NORMA_RUNTIME_STATIC libnorma_runtime.a PATHS ${_norma_lib} NO_DEFAULT_PATH DOC "Norma's runtime as an archive")
find_program(NORMA_NORMAC normac)
find_path(NORMA_INCLUDE norma/runtime.h)
find_library(NORMA_RUNTIME libnorma_runtime.so)
find_library(NORMA_RUNTIME_STATIC libnorma_runtime.a)

set(_NORMA_FOUND_BY "${CMAKE_CURRENT_LIST_DIR}" CACHE INTERNAL "")
foreach(_norma_variable IN LISTS _norma_searched)
  set(_NORMA_FOUND_${_norma_variable} "${${_norma_variable}}" CACHE INTERNAL "")
endforeach()

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
    IMPORTED_SONAME libnorma_runtime.so
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

# norma_add_kernels(TARGET FILE.mlir... [TARGETS sm_90a...] [OPTIONS OPTION...] [VISIBILITY hidden|default] [STATIC])
#
# Compiles the functions of each FILE.mlir into TARGET, an executable or a library of this directory, for each of TARGETS (by default
# sm_90a), and links the runtime; with STATIC, as a static library. Sources of TARGET include "FILE.h", which declares a function for
# each, or "FILE.hpp" in C++:
#
#   find_package(Norma REQUIRED)
#   add_executable(my_app main.cpp)
#   norma_add_kernels(my_app rms_norm.mlir TARGETS sm_90a sm_100a)
#
# Only what is linked into the same executable or shared library calls the functions, unless VISIBILITY is `default`, with which a shared
# library exports them. What links a static library, or a shared one that exports them, includes the headers as well. A library may
# consist of kernels alone. OBJECT and INTERFACE libraries have no kernels: those that link them do not get their objects. Several calls
# may add to one TARGET; the stems of all its sources differ.
function(norma_add_kernels target)
  cmake_parse_arguments(ARG "STATIC" "VISIBILITY" "TARGETS;OPTIONS" ${ARGN})
  set(caller "norma_add_kernels(${target})")
  if(NOT ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${caller}: expected sources")
  endif()
  if(NOT ARG_VISIBILITY)
    set(ARG_VISIBILITY hidden)
  endif()
  if(NOT ARG_VISIBILITY MATCHES "^(hidden|default)$")
    message(FATAL_ERROR "${caller}: expected VISIBILITY hidden or default, got ${ARG_VISIBILITY}")
  endif()
  _norma_check_target("${caller}" ${target})
  get_target_property(type ${target} TYPE)
  _norma_targets(targets ${ARG_TARGETS})
  _norma_c_compiler(compiler "${caller}")

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/norma/${target}")
  file(MAKE_DIRECTORY "${folder}")
  get_property(stems TARGET ${target} PROPERTY NORMA_KERNELS)
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    _norma_source(path "${caller}" "${source}")
    get_filename_component(stem "${source}" NAME_WLE)
    if(stem IN_LIST stems)
      message(FATAL_ERROR "${caller}: two sources are called ${stem}")
    endif()
    list(APPEND stems "${stem}")
    set(outputs "${folder}/${stem}.o" "${folder}/${stem}.h" "${folder}/${stem}.hpp")
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND "${CMAKE_COMMAND}" -E env "CC=${compiler}" "${NORMA_NORMAC}" "${path}" --target "${targets}" ${ARG_OPTIONS}
              --emit=object --visibility ${ARG_VISIBILITY} -o "${folder}/${stem}.o"
      DEPENDS "${path}" "${NORMA_NORMAC}"
      COMMENT "Compiling ${stem} to GPU kernels"
      VERBATIM)
    set_source_files_properties("${folder}/${stem}.o" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE ${outputs})
  endforeach()
  set_target_properties(${target} PROPERTIES NORMA_KERNELS "${stems}")

  if(NOT type STREQUAL "EXECUTABLE")
    _norma_add_language(${target} "${folder}")
  endif()
  # The functions of a static library are in what links it. Those of a shared one are out of reach unless it exports them.
  if(type STREQUAL "STATIC_LIBRARY" OR (type STREQUAL "SHARED_LIBRARY" AND ARG_VISIBILITY STREQUAL "default"))
    set(scope PUBLIC)
  else()
    set(scope PRIVATE)
  endif()
  # The folder is searched for "FILE.h" and not for <FILE.h>, which may be a header of the system, such as math.h. nvcc passes the option
  # on to its preprocessor.
  set(quoted "-iquote${folder}")
  target_compile_options(${target} ${scope}
    "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:C,CXX,OBJC,OBJCXX>:${quoted}>>"
    "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CUDA,Clang>:${quoted}>>"
    "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-Xcompiler=${quoted}>>")
  if(ARG_STATIC)
    target_link_libraries(${target} ${scope} Norma::runtime_static)
  else()
    target_link_libraries(${target} ${scope} Norma::runtime)
  endif()
endfunction()

# Refuses what no kernels can be compiled into. `caller` is named in the message.
function(_norma_check_target caller target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${caller}: there is no such target")
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(imported ${target} IMPORTED)
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(imported OR NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "${caller}: expected an executable or a STATIC, SHARED or MODULE library of this project, got a target of type "
                        "${type}")
  endif()
  if(aliased)
    message(FATAL_ERROR "${caller}: expected the target itself, ${aliased}, got its alias")
  endif()
  get_target_property(directory ${target} SOURCE_DIR)
  if(NOT directory STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "${caller}: expected a target of this directory, because only its directory runs the commands that make its "
                        "sources; got one of ${directory}")
  endif()
endfunction()

# Adds a source without functions, which gives a library of kernels alone a language to be linked by.
function(_norma_add_language target folder)
  if(CMAKE_C_COMPILER)
    set(source "${folder}/language.c")
  else()
    set(source "${folder}/language.cpp")
  endif()
  # A source that is written again would be compiled again.
  if(NOT EXISTS "${source}")
    file(WRITE "${source}" "/* Standard C has no source without a declaration. */\nextern int norma_kernels;\n")
  endif()
  target_sources(${target} PRIVATE "${source}")
endfunction()

# The value of CC with which normac compiles objects for what the project's own compiler compiles for; a C++ compiler also compiles C.
function(_norma_c_compiler result caller)
  if(CMAKE_C_COMPILER)
    set(language C)
  elseif(CMAKE_CXX_COMPILER)
    set(language CXX)
  else()
    message(FATAL_ERROR "${caller}: expected a project with the language C or CXX")
  endif()
  set(compiler "${CMAKE_${language}_COMPILER}${CMAKE_${language}_COMPILER_ARG1}")
  # A compiler of several targets, and one that finds the system's headers elsewhere.
  if(CMAKE_${language}_COMPILER_TARGET AND CMAKE_${language}_COMPILE_OPTIONS_TARGET)
    string(APPEND compiler " ${CMAKE_${language}_COMPILE_OPTIONS_TARGET}${CMAKE_${language}_COMPILER_TARGET}")
  endif()
  if(CMAKE_SYSROOT AND CMAKE_${language}_COMPILE_OPTIONS_SYSROOT)
    string(APPEND compiler " ${CMAKE_${language}_COMPILE_OPTIONS_SYSROOT}${CMAKE_SYSROOT}")
  endif()
  set(${result} "${compiler}" PARENT_SCOPE)
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
  string(REPLACE "," ";" folders "${targets}")
  list(LENGTH folders count)

  set(bundles)
  set(manifests)
  foreach(source IN LISTS ARG_SOURCES)
    _norma_source(path "norma_add_bundles(${name})" "${source}")
    get_filename_component(stem "${source}" NAME_WLE)
    set(bundle "${CMAKE_CURRENT_BINARY_DIR}/${name}/${stem}")
    if(bundle IN_LIST bundles)
      message(FATAL_ERROR "norma_add_bundles(${name}): two sources are called ${stem}")
    endif()
    # A bundle for several targets has a manifest in a folder for each.
    set(outputs "${bundle}/manifest.json")
    if(count GREATER 1)
      list(TRANSFORM folders REPLACE "(.+)" "${bundle}/\\1/manifest.json" OUTPUT_VARIABLE outputs)
    endif()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND "${NORMA_NORMAC}" "${path}" --target "${targets}" ${ARG_OPTIONS} -o "${bundle}"
      DEPENDS "${path}" "${NORMA_NORMAC}"
      COMMENT "Compiling ${stem} to GPU kernels"
      VERBATIM)
    list(APPEND bundles "${bundle}")
    list(APPEND manifests ${outputs})
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

# The value of --target for a list of targets, each once.
function(_norma_targets result)
  set(targets ${ARGN})
  if(NOT targets)
    set(targets sm_90a)
  endif()
  list(REMOVE_DUPLICATES targets)
  list(JOIN targets "," joined)
  set(${result} "${joined}" PARENT_SCOPE)
endfunction()
