cupel_test(format_files_test
  SOURCES element_type_test.cpp safetensors_test.cpp gguf_test.cpp config_test.cpp checkpoint_test.cpp
          files_util.cpp
  LINK cupel::format cupel::export nlohmann_json::nlohmann_json
  LABELS unit)
