# Targets of the two halves. A source of the plan half cannot see LibTorch: its include path is not
# there.

set(WEFT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 reports overlapping copies, overflows and uninitialised members inside its own string,
  # optional and variant where there are none.
  list(APPEND WEFT_WARNINGS
    -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)
endif()
if(WEFT_WERROR)
  list(APPEND WEFT_WARNINGS -Werror)
endif()

# weft_plan_library(name SOURCES ... LINK ... [JOINED]): a folder of the plan half as weft_<name>.
# JOINED: an optimised build compiles several of its sources as one, for a third of the time; so
# names in their anonymous namespaces differ within the folder.
function(weft_plan_library name)
  cmake_parse_arguments(ARG "JOINED" "" "SOURCES;LINK" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  target_include_directories(weft_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(weft_${name} PRIVATE ${WEFT_WARNINGS})
  target_link_libraries(weft_${name} PUBLIC ${ARG_LINK})
  if(ARG_JOINED AND CMAKE_BUILD_TYPE STREQUAL Release)
    set_target_properties(weft_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 9)
  endif()
endfunction()

# The part of the training half's preamble that every source includes, compiled once.
set(WEFT_TORCH_HEADERS
  <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <map> <string> <vector>)

# weft_train_library(name SOURCES ... LINK ...): a folder of the training half as weft_<name>.
function(weft_train_library name)
  weft_plan_library(${name} ${ARGN})
  weft_see_torch(weft_${name})
endfunction()

# Lets ccache see which precompiled header a source used.
function(weft_show_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# The wheel's fmt comes before Debian's and must not be linked against it.
function(weft_use_torch target)
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  target_include_directories(${target} SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
  weft_show_precompiled(${target})
endfunction()

function(weft_see_torch target)
  weft_use_torch(${target})
  if(NOT TARGET weft_torch_pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/weft_torch_pch.cpp CONTENT "")
    add_library(weft_torch_pch OBJECT ${PROJECT_BINARY_DIR}/weft_torch_pch.cpp)
    target_compile_options(weft_torch_pch PRIVATE ${WEFT_WARNINGS})
    weft_use_torch(weft_torch_pch)
    target_precompile_headers(weft_torch_pch PRIVATE ${WEFT_TORCH_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM weft_torch_pch)
endfunction()

# These tests compile in half the time and run as fast: the work is in the libraries.
set(WEFT_TEST_OPTIMISATION $<$<CONFIG:Release>:-O1>)

# What every test of the plan half includes, compiled once.
function(weft_precompile_test target)
  if(NOT TARGET weft_test_pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/weft_test_pch.cpp CONTENT "")
    add_library(weft_test_pch OBJECT ${PROJECT_BINARY_DIR}/weft_test_pch.cpp)
    target_compile_options(weft_test_pch PRIVATE ${WEFT_WARNINGS})
    target_link_libraries(weft_test_pch PRIVATE GTest::gmock GTest::gtest)
    target_precompile_headers(weft_test_pch PRIVATE <gmock/gmock.h> <map> <string> <vector>)
    target_compile_options(weft_test_pch PRIVATE ${WEFT_TEST_OPTIMISATION})
    weft_show_precompiled(weft_test_pch)
  endif()
  target_compile_options(${target} PRIVATE ${WEFT_TEST_OPTIMISATION})
  weft_show_precompiled(${target})
  target_precompile_headers(${target} REUSE_FROM weft_test_pch)
endfunction()

# weft_test(name SOURCES ... LINK ... [TORCH] [SLOW] [TIMEOUT seconds] [PROCESSORS n]): one
# GoogleTest program. LibTorch takes a third of a second to load, so a program that sees it is one
# test of CTest; of any other each case is one. `make sanitize` leaves out what is SLOW.
function(weft_test name)
  cmake_parse_arguments(ARG "TORCH;SLOW" "TIMEOUT;PROCESSORS" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${WEFT_WARNINGS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)

  set(timeout 300)
  if(ARG_TIMEOUT)
    set(timeout ${ARG_TIMEOUT})
  endif()
  if(WEFT_SANITIZE)
    math(EXPR timeout "${timeout} * 4")
  endif()
  set(properties TIMEOUT ${timeout} LABELS fast)
  if(ARG_SLOW)
    set(properties TIMEOUT ${timeout} LABELS slow)
  endif()
  if(ARG_PROCESSORS)
    list(APPEND properties PROCESSORS ${ARG_PROCESSORS})
  endif()

  if(ARG_TORCH)
    weft_see_torch(${name})
    add_test(NAME ${name} COMMAND ${name})
    # One thread a process: tests run side by side.
    set(environment OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 ${WEFT_SANITIZE_ENVIRONMENT})
    set_tests_properties(${name} PROPERTIES ${properties} ENVIRONMENT "${environment}")
  else()
    weft_precompile_test(${name})
    if(WEFT_SANITIZE)
      list(APPEND properties ENVIRONMENT ${WEFT_SANITIZE_ENVIRONMENT})
    endif()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  endif()
endfunction()

# weft_bench(name SOURCES ... LINK ... [TORCH]): a program of bench/, run in turn by `make bench`.
function(weft_bench name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${WEFT_WARNINGS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_TORCH)
    weft_see_torch(${name})
  endif()
  add_custom_target(run_${name} COMMAND ${name} USES_TERMINAL)
  add_dependencies(run_benchmarks run_${name})
endfunction()
