# find_package(optctx CONFIG) finds the headers that come with the Python package:
#
#   execute_process(COMMAND "${Python_EXECUTABLE}" -c "print(__import__('optctx').get_include())"
#                   OUTPUT_VARIABLE optctx_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
#   find_package(optctx CONFIG REQUIRED)
#   target_link_libraries(mine PRIVATE optctx::optctx)
#
# There is no library to link: the headers find optctx's extension module in the running process.
if(CMAKE_VERSION VERSION_LESS 3.12)
  set(optctx_FOUND FALSE)
  set(optctx_NOT_FOUND_MESSAGE "optctx needs CMake 3.12 or later; this is ${CMAKE_VERSION}.")
  return()
endif()

get_filename_component(optctx_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT EXISTS "${optctx_INCLUDE_DIR}/optctx/optctx.hpp")
  set(optctx_FOUND FALSE)
  set(optctx_NOT_FOUND_MESSAGE "optctx has no headers in ${optctx_INCLUDE_DIR}; install it again.")
  return()
endif()

if(NOT TARGET optctx::optctx)
  add_library(optctx::optctx INTERFACE IMPORTED)
  set_target_properties(optctx::optctx PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${optctx_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
