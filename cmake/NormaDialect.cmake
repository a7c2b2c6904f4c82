# norma_add_dialect(FOLDER CLASS [LINK_LIBS LIB...])
#
# Adds the library norma_dialect_FOLDER for the dialect in FOLDER, whose files begin with CLASS. It generates the same files
# as dialects/build.rs, with the same names (dialects/README.md lists them).
#
# The check of a tile's layout against its shape is written in Rust and left out of these libraries; all other checks of the
# verifiers are included.
function(norma_add_dialect folder class)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${folder}")
  file(MAKE_DIRECTORY "${out}")

  file(GLOB sources CONFIGURE_DEPENDS "${source}/*.cpp")
  if(folder STREQUAL "gl")
    list(APPEND sources "${CMAKE_CURRENT_SOURCE_DIR}/capi/LayoutCheck.cpp")
  endif()

  set(LLVM_TARGET_DEFINITIONS "${source}/${class}Ops.td")
  set(flags -I "${CMAKE_CURRENT_SOURCE_DIR}" -I "${MLIR_INCLUDE_DIRS}")
  foreach(side decls defs)
    string(REPLACE "decls" "h" extension "${side}")
    string(REPLACE "defs" "cpp" extension "${extension}")
    mlir_tablegen("${folder}/${class}Dialect.${extension}.inc" -gen-dialect-${side} -dialect=${folder} ${flags})
    mlir_tablegen("${folder}/${class}Enums.${extension}.inc" -gen-enum-${side} ${flags})
    mlir_tablegen("${folder}/${class}Attrs.${extension}.inc" -gen-attrdef-${side} -attrdefs-dialect=${folder} ${flags})
    mlir_tablegen("${folder}/${class}Types.${extension}.inc" -gen-typedef-${side} -typedefs-dialect=${folder} ${flags})
    mlir_tablegen("${folder}/${class}Ops.${extension}.inc" -gen-op-${side} -dialect=${folder} ${flags})
  endforeach()
  add_public_tablegen_target(norma_dialect_${folder}_inc)

  add_library(norma_dialect_${folder} STATIC ${sources})
  add_dependencies(norma_dialect_${folder} norma_dialect_${folder}_inc)
  target_include_directories(norma_dialect_${folder} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}")
  target_include_directories(norma_dialect_${folder} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(norma_dialect_${folder} PRIVATE NORMA_WITHOUT_RUST)
  target_link_libraries(norma_dialect_${folder} PUBLIC MLIRIR ${ARG_LINK_LIBS})
endfunction()
