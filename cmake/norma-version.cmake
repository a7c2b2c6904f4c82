# Sets NORMA_VERSION: what Cargo.toml of a clone says. An installation has another file of this name, which says what that was.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../Cargo.toml" _norma_version REGEX "^version = \"[0-9.]+\"$" LIMIT_COUNT 1)
string(REGEX REPLACE "^version = \"(.*)\"$" "\\1" NORMA_VERSION "${_norma_version}")
