cupel_test(format_layouts_test
  SOURCES layout_test.cpp minifloat_test.cpp nested_test.cpp integer_rows_test.cpp weight_code_test.cpp hadamard_test.cpp input_rounding_test.cpp artifact_test.cpp
  LINK cupel::format cupel::export nlohmann_json::nlohmann_json LABELS unit)
