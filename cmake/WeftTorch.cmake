# Finds LibTorch: what CMAKE_PREFIX_PATH or Torch_DIR offer, else what tools/setup chose. Sets
# TORCH_INSTALL_PREFIX, TORCH_INCLUDE_DIRS and TORCH_LIBRARIES.
set(WEFT_TORCH_MINIMUM 2.6)

set(places ${Torch_DIR} ${CMAKE_PREFIX_PATH})
string(REPLACE ":" ";" environment_places "$ENV{CMAKE_PREFIX_PATH}")
list(APPEND places ${environment_places})
set(chosen ${PROJECT_SOURCE_DIR}/build/torch_prefix)
if(EXISTS ${chosen})
  file(STRINGS ${chosen} chosen_place)
  list(APPEND places ${chosen_place})
endif()
find_path(torch_config TorchConfig.cmake NO_CACHE NO_DEFAULT_PATH
  HINTS ${places} PATH_SUFFIXES . Torch share/cmake/Torch)
if(NOT torch_config)
  message(FATAL_ERROR "No LibTorch found. Run tools/setup, or name one with "
    "-DCMAKE_PREFIX_PATH=DIR, or build the plan half alone with -DWEFT_PLAN_ONLY=ON.")
endif()
cmake_path(ABSOLUTE_PATH torch_config NORMALIZE)
cmake_path(SET TORCH_INSTALL_PREFIX NORMALIZE ${torch_config}/../../../lib)
cmake_path(GET TORCH_INSTALL_PREFIX PARENT_PATH TORCH_INSTALL_PREFIX)

if(WEFT_CUDA OR NOT EXISTS ${TORCH_INSTALL_PREFIX}/lib/libtorch_cuda.so)
  # Its configuration warns of optional parts of the wheel that nobody here links.
  set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
  find_package(Torch ${WEFT_TORCH_MINIMUM} REQUIRED PATHS ${torch_config} NO_DEFAULT_PATH)
  unset(CMAKE_MESSAGE_LOG_LEVEL)
else()
  # A CUDA build's configuration asks for the CUDA toolkit. Its CPU half needs none.
  include(${torch_config}/TorchConfigVersion.cmake)
  if(PACKAGE_VERSION VERSION_LESS WEFT_TORCH_MINIMUM)
    message(FATAL_ERROR "LibTorch ${PACKAGE_VERSION} in ${TORCH_INSTALL_PREFIX} is older than "
      "${WEFT_TORCH_MINIMUM}.")
  endif()
  set(Torch_VERSION ${PACKAGE_VERSION})
  set(TORCH_INCLUDE_DIRS
    ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
  foreach(part torch_cpu c10)
    add_library(weft_lib${part} SHARED IMPORTED)
    set_target_properties(weft_lib${part} PROPERTIES
      IMPORTED_LOCATION ${TORCH_INSTALL_PREFIX}/lib/lib${part}.so)
    list(APPEND TORCH_LIBRARIES weft_lib${part})
  endforeach()
  set(note " (a CUDA build, of which -DWEFT_CUDA=ON uses all)")
endif()
message(STATUS "LibTorch ${Torch_VERSION}: ${TORCH_INSTALL_PREFIX}${note}")
