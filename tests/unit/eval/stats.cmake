# tests of eval/stats
cupel_test(eval_stats_test
  SOURCES
    python_random_test.cpp distributions_test.cpp bootstrap_test.cpp mcnemar_test.cpp
    verdict_test.cpp verdict_errors_test.cpp redline_test.cpp redline_risk_test.cpp
    report_comparison_test.cpp pair_tasks_test.cpp
  LINK cupel::eval nlohmann_json::nlohmann_json
  LABELS unit)
