# tests of eval/answers
cupel_test(eval_answers_test
  SOURCES
    answers/answer_test.cpp answers/answer_oracle_test.cpp answers/ifeval_oracle_test.cpp
    answers/ifeval_test.cpp answers/code_test.cpp
  LINK cupel::eval nlohmann_json::nlohmann_json
  LABELS unit)
