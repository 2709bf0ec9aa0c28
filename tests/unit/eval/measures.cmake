# tests of perplexity and divergence: texts, blocks, saved references
cupel_test(eval_measures_test
  SOURCES
    estimate_test.cpp corpus_test.cpp block_list_test.cpp token_class_test.cpp
    reference_file_test.cpp real_text_test.cpp
  LINK cupel::eval nlohmann_json::nlohmann_json
  LABELS unit)
