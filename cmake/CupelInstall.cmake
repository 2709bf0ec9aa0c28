# cmake --install: the programs, and the libraries that run and measure models for find_package(Cupel). The toolkit's
# libraries (LibTorch, HDF5) stay inside: methods are added in the tree.
include(CMakePackageConfigHelpers)

set(_installed base net text format kernels runtime eval)
set(_targets cupel_flags cupel_pcre2 cupel_utf8proc cupel_yaml cupel_zlib)
foreach(_name ${_installed})
  list(APPEND _targets cupel_${_name})
  get_property(_folder TARGET cupel_${_name} PROPERTY CUPEL_FOLDER)
  cmake_path(GET _folder FILENAME _leaf)
  install(DIRECTORY ${_folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cupel/${_leaf} FILES_MATCHING PATTERN "*.h")
endforeach()
install(TARGETS ${_targets} EXPORT CupelTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT CupelTargets NAMESPACE cupel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Cupel)

file(WRITE ${PROJECT_BINARY_DIR}/CupelConfig.cmake
"include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(nlohmann_json)
include(\${CMAKE_CURRENT_LIST_DIR}/CupelTargets.cmake)
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CupelConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CupelConfig.cmake ${PROJECT_BINARY_DIR}/CupelConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Cupel)

install(TARGETS cupel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(CUPEL_HAVE_TORCH)
  install(TARGETS cupel-toolkit RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cupel)
  set_target_properties(cupel-toolkit PROPERTIES INSTALL_RPATH ${CUPEL_TORCH_ROOT}/lib)
endif()
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/cupel)
install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
