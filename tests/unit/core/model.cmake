cupel_test(core_test
  SOURCES model_test.cpp scoring_test.cpp reference_test.cpp tiny_reference_test.cpp train_test.cpp prune_test.cpp distill_test.cpp cuda_test.cpp
  LINK cupel::core cupel::prune cupel::distill nlohmann_json::nlohmann_json
  LABELS unit)
