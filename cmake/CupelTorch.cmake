# LibTorch from the PyPI wheel, by our own imported targets: the wheel's own config refuses to configure where
# no CUDA toolkit is installed. Searched: -DCUPEL_TORCH_ROOT=<site-packages/torch>, the environment variable
# of that name, then the Python that scripts/setup made.
set(CUPEL_TORCH_ROOT "$ENV{CUPEL_TORCH_ROOT}" CACHE PATH "Folder of the torch package (holds lib/libtorch_cpu.so)")
set(CUPEL_HAVE_TORCH OFF)
if(CUPEL_TORCH STREQUAL "OFF")
  message(STATUS "Cupel: LibTorch OFF")
  return()
endif()

if(NOT CUPEL_TORCH_ROOT)
  if(DEFINED ENV{CUPEL_CACHE})
    set(_cache $ENV{CUPEL_CACHE})
  else()
    set(_cache $ENV{HOME}/.cache/cupel)
  endif()
  file(GLOB _found ${_cache}/venv/lib/python3*/site-packages/torch)
  if(_found)
    list(GET _found 0 _first)
    set(CUPEL_TORCH_ROOT ${_first} CACHE PATH "" FORCE)
  endif()
endif()

if(NOT EXISTS "${CUPEL_TORCH_ROOT}/lib/libtorch_cpu.so")
  if(CUPEL_TORCH STREQUAL "ON")
    message(FATAL_ERROR "CUPEL_TORCH=ON, but '${CUPEL_TORCH_ROOT}/lib/libtorch_cpu.so' is not there; run "
                        "scripts/setup, or pass -DCUPEL_TORCH_ROOT=<site-packages/torch>")
  endif()
  message(STATUS "Cupel: LibTorch not found, building without it (run scripts/setup to get it)")
  return()
endif()

set(_torch_libs c10 torch_cpu)
# libtorch_cuda is loaded at run time (dlopen), so that one build serves machines with and without a GPU.
foreach(_lib ${_torch_libs})
  add_library(torch::${_lib} SHARED IMPORTED GLOBAL)
  set_target_properties(torch::${_lib} PROPERTIES IMPORTED_LOCATION ${CUPEL_TORCH_ROOT}/lib/lib${_lib}.so)
endforeach()
# The OpenMP library that LibTorch itself runs on; a second one would have threads of its own.
if(EXISTS "${CUPEL_TORCH_ROOT}/lib/libgomp.so.1")
  add_library(torch::gomp SHARED IMPORTED GLOBAL)
  set_target_properties(torch::gomp PROPERTIES IMPORTED_LOCATION ${CUPEL_TORCH_ROOT}/lib/libgomp.so.1)
else()
  add_library(torch::gomp INTERFACE IMPORTED GLOBAL)
  target_link_libraries(torch::gomp INTERFACE gomp)
endif()
add_library(cupel_torch INTERFACE)
add_library(cupel::torch ALIAS cupel_torch)
target_include_directories(cupel_torch SYSTEM INTERFACE
  ${CUPEL_TORCH_ROOT}/include ${CUPEL_TORCH_ROOT}/include/torch/csrc/api/include)
target_link_libraries(cupel_torch INTERFACE torch::torch_cpu torch::c10)
target_link_options(cupel_torch INTERFACE -Wl,-rpath,${CUPEL_TORCH_ROOT}/lib -Wl,--allow-shlib-undefined)
set(CUPEL_HAVE_TORCH ON)
message(STATUS "Cupel: LibTorch ${CUPEL_TORCH_ROOT}")
