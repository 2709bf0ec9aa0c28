# models behind a server
set(_server_sources
  server/completion_answer_test.cpp server/completion_json_test.cpp server/echo_test.cpp server/served_models_test.cpp
  server/workers_test.cpp server/targets_test.cpp)
if(CUPEL_BOOST_INCLUDE)
  list(APPEND _server_sources server/letter_server.cpp server/completion_server_test.cpp server/odd_servers_test.cpp)
endif()
cupel_test(eval_server_test
  SOURCES ${_server_sources}
  LINK cupel::eval cupel_fake_server nlohmann_json::nlohmann_json
  LABELS unit)
target_include_directories(eval_server_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/unit/net)
