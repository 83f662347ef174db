# How every target is compiled and linked: cache, linker, sanitizers.

# A clone elsewhere hits the same entries: paths under the source folder are cached as relative.
find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
  # Trial builds too.
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_CXX_COMPILER_LAUNCHER)
endif()

# Links with mold where it is found: the training half's link time falls by seconds.
find_program(WEFT_MOLD mold)
if(WEFT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Places in messages and debug information are relative to the source folder.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

# WEFT_SANITIZE_ENVIRONMENT is one variable, not a list: gtest_discover_tests takes no more.
set(suppressions ${PROJECT_SOURCE_DIR}/tools/sanitize)
set(CMAKE_CXX_FLAGS_DEBUG "-g")
if(WEFT_SANITIZE STREQUAL address)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
  set(WEFT_SANITIZE_ENVIRONMENT
    LSAN_OPTIONS=suppressions=${suppressions}/lsan.supp:print_suppressions=0)
elseif(WEFT_SANITIZE STREQUAL thread)
  set(sanitizers -fsanitize=thread)
  set(WEFT_SANITIZE_ENVIRONMENT
    TSAN_OPTIONS=suppressions=${suppressions}/tsan.supp:halt_on_error=1:second_deadlock_stack=1)
elseif(WEFT_SANITIZE STREQUAL fuzzer)
  # libFuzzer's own main comes with the fuzzers alone (tests/fuzz).
  set(sanitizers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
elseif(WEFT_SANITIZE)
  message(FATAL_ERROR
    "WEFT_SANITIZE=${WEFT_SANITIZE}: allowed are 'address', 'thread' and 'fuzzer'")
endif()
if(WEFT_SANITIZE)
  # Enough for stack traces; full debug information of ATen doubles the time to compile.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")
  add_compile_options(${sanitizers})
  add_link_options(${sanitizers})
  # GCC 12's ThreadSanitizer does not start where the kernel spreads mappings over more bits.
  find_program(WEFT_SETARCH setarch)
  if(WEFT_SETARCH AND WEFT_SANITIZE STREQUAL thread)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${WEFT_SETARCH};-R)
  endif()
endif()
