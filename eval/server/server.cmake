# models behind a server that speaks OpenAI's completions
target_sources(cupel_eval PRIVATE
  server/completion_json.cpp server/completion_answer.cpp server/echo.cpp server/served_models.cpp
  server/server_link.cpp server/probe.cpp server/completion_server.cpp server/server_generate.cpp)
