cupel_test(format_quantized_test
  SOURCES quantized_fp8_test.cpp quantized_fp4_test.cpp quantized_integers_test.cpp quantized_models_test.cpp
          quantized_util.cpp files_util.cpp
  LINK cupel::format nlohmann_json::nlohmann_json
  LABELS unit)
