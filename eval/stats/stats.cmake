# comparison of models: random numbers, distributions, tests, bounds
target_sources(cupel_eval PRIVATE
  pair_tasks.cpp
  stats/python_random.cpp stats/special.cpp stats/distributions.cpp stats/bootstrap.cpp stats/mcnemar.cpp
  stats/multiplicity.cpp stats/paired_score.cpp stats/verdict.cpp stats/verdict_text.cpp
  stats/redline.cpp stats/pareto.cpp)
