# Flags that every file of the project gets, and the two functions that declare a module and a test.
#
# -ffp-contract=off: the same source gives the same bits on every instruction set (docs/numbers.md).

add_library(cupel_flags INTERFACE)
add_library(cupel::flags ALIAS cupel_flags)
target_compile_features(cupel_flags INTERFACE cxx_std_20)
target_compile_options(cupel_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -ffp-contract=off>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CUPEL_WERROR}>>:-Werror>)
# GCC 13 warns of references into temporaries where a lookup returns one that outlives its key.
# GCC 12 at -O3 sees overlaps in std::string that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(cupel_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
  else()
    target_compile_options(cupel_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
endif()
target_include_directories(cupel_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/cupel>)
if(CUPEL_SANITIZE)
  target_compile_options(cupel_flags INTERFACE -fsanitize=${CUPEL_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(cupel_flags INTERFACE -fsanitize=${CUPEL_SANITIZE})
endif()

find_program(CUPEL_CCACHE ccache)
if(CUPEL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CUPEL_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CUPEL_CCACHE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set_property(GLOBAL PROPERTY CUPEL_MODULES "")

# cupel_module(NAME SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
# A static library cupel_NAME with the alias cupel::NAME; its headers are those of its folder.
function(cupel_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(cupel_${name} STATIC ${ARG_SOURCES})
  add_library(cupel::${name} ALIAS cupel_${name})
  target_link_libraries(cupel_${name} PUBLIC cupel_flags ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  set_target_properties(cupel_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY CUPEL_MODULES ${name})
  set_property(TARGET cupel_${name} PROPERTY CUPEL_FOLDER ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

# cupel_test(NAME SOURCES ... LINK libs... [LABELS l...] [TIMEOUT seconds])
# One executable and one ctest entry; it finds the repository in CUPEL_SOURCE_DIR.
function(cupel_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE CUPEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "CUPEL_BIN=$<TARGET_FILE_DIR:cupel>")
endfunction()
