# Libraries outside the project, all from the distribution. Each is private to the module that uses it.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)
pkg_check_modules(CUPEL_PCRE2 REQUIRED libpcre2-8)
pkg_check_modules(CUPEL_UTF8PROC REQUIRED libutf8proc)
find_library(CUPEL_PCRE2_STATIC NAMES libpcre2-8.a REQUIRED)
find_library(CUPEL_UTF8PROC_STATIC NAMES libutf8proc.a REQUIRED)

# Static, so that the runtime stays one file that needs glibc alone.
add_library(cupel_pcre2 INTERFACE)
target_link_libraries(cupel_pcre2 INTERFACE ${CUPEL_PCRE2_STATIC})
target_compile_definitions(cupel_pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8 PCRE2_STATIC)
add_library(cupel_utf8proc INTERFACE)
target_link_libraries(cupel_utf8proc INTERFACE ${CUPEL_UTF8PROC_STATIC})
target_compile_definitions(cupel_utf8proc INTERFACE UTF8PROC_STATIC)

if(CUPEL_TESTS)
  find_package(GTest REQUIRED)
endif()
