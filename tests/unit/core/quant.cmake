cupel_test(core_quant_test
  SOURCES allocator_test.cpp gradients_test.cpp cross_layer_test.cpp metrics_test.cpp parallel_test.cpp uniform_code_test.cpp code_conformance_test.cpp cuda_rounding_test.cpp grid_code_test.cpp feedback_test.cpp units_test.cpp transform_test.cpp rounded_input_test.cpp
  LINK cupel::core
  LABELS unit)
