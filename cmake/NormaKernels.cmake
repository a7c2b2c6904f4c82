# norma_add_kernels(NAME SOURCES FILE.mlir... [TARGETS sm_90a...] [OPTIONS OPTION...])
#
# Compiles kernels at build time: normac runs on each source, for each target (sm_90a unless told), and writes a bundle
# (manifest.json, cubins) to a folder of its own. The custom target NAME builds them all, and its property
# NORMA_BUNDLES lists the folders, for install(DIRECTORY ...) or to be compiled in:
#
#   include(NormaKernels)
#   norma_add_kernels(my_kernels SOURCES rms_norm.mlir TARGETS sm_90a)
#   add_dependencies(my_app my_kernels)
#   get_target_property(bundles my_kernels NORMA_BUNDLES)
#
# normac is looked for on PATH; set NORMA_NORMAC to name another.
find_program(NORMA_NORMAC normac DOC "Norma's ahead-of-time compiler")

function(norma_add_kernels name)
  cmake_parse_arguments(ARG "" "" "SOURCES;TARGETS;OPTIONS" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "norma_add_kernels(${name}): expected SOURCES")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "norma_add_kernels(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT NORMA_NORMAC)
    message(FATAL_ERROR "norma_add_kernels(${name}): normac is not on PATH; set NORMA_NORMAC to its path")
  endif()
  if(NOT ARG_TARGETS)
    set(ARG_TARGETS sm_90a)
  endif()
  list(JOIN ARG_TARGETS "," targets)

  set(bundles)
  set(manifests)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(stem "${source}" NAME_WE)
    set(bundle "${CMAKE_CURRENT_BINARY_DIR}/${name}/${stem}")
    if(bundle IN_LIST bundles)
      message(FATAL_ERROR "norma_add_kernels(${name}): two sources are called ${stem}")
    endif()
    # A bundle without its manifest is none, so the manifest stands for the whole folder.
    add_custom_command(
      OUTPUT "${bundle}/manifest.json"
      COMMAND "${NORMA_NORMAC}" "${path}" --target "${targets}" ${ARG_OPTIONS} -o "${bundle}"
      DEPENDS "${path}" "${NORMA_NORMAC}"
      COMMENT "Compiling ${stem} to GPU kernels"
      VERBATIM)
    list(APPEND bundles "${bundle}")
    list(APPEND manifests "${bundle}/manifest.json")
  endforeach()

  add_custom_target(${name} DEPENDS ${manifests})
  set_target_properties(${name} PROPERTIES NORMA_BUNDLES "${bundles}")
endfunction()
