cupel_test(core_quant_test
  SOURCES uniform_code_test.cpp feedback_test.cpp transform_test.cpp units_test.cpp
  LINK cupel::core
  LABELS unit)
