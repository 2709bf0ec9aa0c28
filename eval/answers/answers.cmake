# scoring of generated answers
target_sources(cupel_eval PRIVATE
  answers/answer.cpp answers/filters.cpp answers/python_regex.cpp answers/python_regex_syntax.cpp
  answers/python_text.cpp)
target_link_libraries(cupel_eval PRIVATE cupel_pcre2)
