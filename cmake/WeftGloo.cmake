# c10d's Gloo backend as found in LibTorch: target weft_gloo gives its header. The wheels lack
# Gloo's own headers; then our declarations stand in. Tried once by running it, the answer kept.

find_path(WEFT_GLOO_HEADERS gloo/rendezvous/store.h PATHS ${TORCH_INCLUDE_DIRS} NO_DEFAULT_PATH)
add_library(weft_gloo INTERFACE)
target_compile_definitions(weft_gloo INTERFACE USE_C10D_GLOO)
set(WEFT_GLOO_INCLUDE_DIRS ${TORCH_INCLUDE_DIRS})
if(NOT WEFT_GLOO_HEADERS)
  list(APPEND WEFT_GLOO_INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/src/comm/gloo_declarations)
  target_include_directories(weft_gloo SYSTEM INTERFACE
    ${PROJECT_SOURCE_DIR}/src/comm/gloo_declarations)
endif()

if(NOT DEFINED WEFT_GLOO_RUNS)
  message(STATUS "Trying c10d with Gloo")
  # By file: LibTorch's imported targets name others that a trial project does not have.
  find_library(WEFT_TORCH_CPU torch_cpu PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH REQUIRED)
  find_library(WEFT_C10 c10 PATHS ${TORCH_INSTALL_PREFIX}/lib NO_DEFAULT_PATH REQUIRED)
  try_run(WEFT_GLOO_RUNS WEFT_GLOO_COMPILES
    ${CMAKE_BINARY_DIR}/gloo_check ${PROJECT_SOURCE_DIR}/cmake/gloo_check.cpp
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${WEFT_GLOO_INCLUDE_DIRS}"
    COMPILE_DEFINITIONS -DUSE_C10D_GLOO -DFMT_HEADER_ONLY
    LINK_LIBRARIES ${WEFT_TORCH_CPU} ${WEFT_C10} Threads::Threads
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    COMPILE_OUTPUT_VARIABLE WEFT_GLOO_COMPILE_OUTPUT
    RUN_OUTPUT_VARIABLE WEFT_GLOO_RUN_OUTPUT)
  if(NOT WEFT_GLOO_COMPILES OR NOT WEFT_GLOO_RUNS EQUAL 0)
    unset(WEFT_GLOO_RUNS CACHE)
    message(FATAL_ERROR "This LibTorch has no Gloo that works; ranks as processes need one.\n"
      "${WEFT_GLOO_COMPILE_OUTPUT}${WEFT_GLOO_RUN_OUTPUT}")
  endif()
  message(STATUS "Trying c10d with Gloo - works")
endif()
