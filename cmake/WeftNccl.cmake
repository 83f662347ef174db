# c10d's NCCL backend as found in LibTorch: WEFT_HAS_NCCL, and target weft_nccl with what its header
# needs. nccl.h comes with the nvidia-nccl package beside a CUDA wheel, or with the system.

add_library(weft_nccl INTERFACE)
set(WEFT_HAS_NCCL FALSE)
if(TARGET torch_cuda)
  get_filename_component(WEFT_SITE_PACKAGES "${TORCH_INSTALL_PREFIX}" DIRECTORY)
  find_path(WEFT_NCCL_HEADERS nccl.h
    HINTS ${WEFT_SITE_PACKAGES}/nvidia/nccl/include ${CUDAToolkit_INCLUDE_DIRS})
  if(WEFT_NCCL_HEADERS AND CUDAToolkit_INCLUDE_DIRS)
    set(WEFT_HAS_NCCL TRUE)
    target_compile_definitions(weft_nccl INTERFACE USE_C10D_NCCL)
    target_include_directories(weft_nccl SYSTEM INTERFACE
      ${WEFT_NCCL_HEADERS} ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
message(STATUS "NCCL: ${WEFT_HAS_NCCL}")
