# scoring of generated answers
target_sources(cupel_eval PRIVATE
  answers/answer.cpp answers/filters.cpp answers/python_regex.cpp answers/python_regex_syntax.cpp
  answers/python_text.cpp
  answers/ifeval.cpp answers/ifeval_document.cpp answers/ifeval_words.cpp answers/ifeval_formats.cpp
  answers/json_check.cpp answers/punkt.cpp answers/punkt_model.cpp answers/word_tokens.cpp
  answers/language.cpp answers/language_words.cpp answers/langdetect.cpp
  answers/sandbox.cpp answers/sandbox_child.cpp answers/sandbox_rights.cpp answers/code_score.cpp)
target_link_libraries(cupel_eval PRIVATE cupel_pcre2)
