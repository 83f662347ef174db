# Targets of the two halves. A source of the plan half cannot see LibTorch: its include path is not
# there.

# Links with mold where it is found: the training half's link time falls by seconds.
find_program(WEFT_MOLD mold)
if(WEFT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

set(WEFT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor)

# weft_plan_library(name SOURCES ... LINK ...): a folder of the plan half as target weft_<name>.
function(weft_plan_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  target_include_directories(weft_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(weft_${name} PRIVATE ${WEFT_WARNINGS})
  target_link_libraries(weft_${name} PUBLIC ${ARG_LINK})
endfunction()

# The part of the training half's preamble that every source includes, compiled once.
set(WEFT_TORCH_HEADERS <ATen/ATen.h> <torch/csrc/autograd/custom_function.h> <map> <string> <vector>)

# weft_train_library(name SOURCES ... LINK ...): a folder of the training half as target weft_<name>.
function(weft_train_library name)
  weft_plan_library(${name} ${ARGN})
  weft_see_torch(weft_${name})
endfunction()

function(weft_see_torch target)
  target_link_libraries(${target} PUBLIC ${TORCH_LIBRARIES})
  target_include_directories(${target} SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
  if(NOT TARGET weft_torch_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/weft_torch_pch.cpp "")
    add_library(weft_torch_pch OBJECT ${CMAKE_BINARY_DIR}/weft_torch_pch.cpp)
    target_link_libraries(weft_torch_pch PUBLIC ${TORCH_LIBRARIES})
    target_include_directories(weft_torch_pch SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS})
    target_compile_definitions(weft_torch_pch PRIVATE FMT_HEADER_ONLY)
    target_compile_options(weft_torch_pch PRIVATE ${WEFT_WARNINGS})
    target_precompile_headers(weft_torch_pch PRIVATE ${WEFT_TORCH_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM weft_torch_pch)
endfunction()

# weft_test(name SOURCES ... LINK ... [TORCH]): one GoogleTest program, its cases in CTest.
function(weft_test name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${WEFT_WARNINGS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest GTest::gtest_main)
  if(ARG_TORCH)
    weft_see_torch(${name})
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
