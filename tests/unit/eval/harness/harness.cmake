# tasks: data, prompts, requests, scores, answers kept
cupel_test(eval_harness_test
  SOURCES
    harness/document_test.cpp harness/task_test.cpp harness/prompt_test.cpp harness/requests_test.cpp
    harness/likelihood_test.cpp harness/metrics_test.cpp harness/run_task_test.cpp harness/cache_test.cpp
    harness/builtin_tasks_test.cpp
  LINK cupel::eval nlohmann_json::nlohmann_json
  LABELS unit)
