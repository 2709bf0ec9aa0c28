cupel_test(format_gguf_test
  SOURCES gguf_models_test.cpp gguf_split_test.cpp gguf_convert.cpp files_util.cpp
  LINK cupel::format cupel::export nlohmann_json::nlohmann_json
  LABELS unit)
