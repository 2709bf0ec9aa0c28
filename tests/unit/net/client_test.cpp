// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "net/client.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "base/threads.h"
#include "fake_server.h"

namespace cupel::net {
namespace {

using test::FakeServer;
using test::reply;
using test::Reply;

ClientOptions quick() {
  ClientOptions o;
  o.limits.connect_seconds = 2;
  o.limits.answer_seconds = 2;
  o.retries = 2;
  o.first_pause_seconds = 0.01;
  return o;
}

HttpClient client_of(const FakeServer& server, const ClientOptions& options = quick()) {
  return HttpClient(parse_url(server.url() + "/v1"), options);
}

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(Fault::internal, "");
}

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

TEST(HttpClient, PostsJsonAndKeepsTheConnection) {
  std::string head, body;
  FakeServer server([&](const std::string& h, const std::string& b, int) {
    head = h;
    body = b;
    return reply(200, "{\"a\": 1}", "Content-Type: application/json\r\n");
  });
  ClientOptions options = quick();
  options.headers = {{"Authorization", "Bearer k"}};
  HttpClient client = client_of(server, options);
  for (int i = 0; i < 3; ++i) {
    const HttpResponse r = client.post_json("/completions", "{\"x\": 2}");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "{\"a\": 1}");
    EXPECT_EQ(r.header("content-TYPE"), "application/json");
  }
  EXPECT_EQ(server.connections(), 1);
  EXPECT_TRUE(head.starts_with("POST /v1/completions HTTP/1.1\r\n")) << head;
  expect_in("Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n", head);
  expect_in("Authorization: Bearer k\r\n", head);
  expect_in("Content-Type: application/json\r\n", head);
  EXPECT_EQ(body, "{\"x\": 2}");
}

TEST(HttpClient, ReadsChunkedAnswers) {
  FakeServer server([](auto&&...) {
    return Reply{
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
        "chunked\r\n\r\n4\r\nWiki\r\n6;x=y\r\npedia!\r\n0\r\n\r\n"};
  });
  HttpClient client = client_of(server);
  EXPECT_EQ(client.get("/models").body, "Wikipedia!");
  EXPECT_EQ(client.get("/models").body, "Wikipedia!");
}

TEST(HttpClient, OpensAnotherConnectionWhenTheServerClosesIt) {
  FakeServer announced([](auto&&...) { return reply(200, "x", "Connection: close\r\n"); });
  FakeServer silent([](auto&&...) {
    Reply r = reply(200, "x");
    r.close = true;
    return r;
  });
  for (const FakeServer* server : {&announced, &silent}) {
    ClientOptions options = quick();
    options.retries = 0;
    HttpClient client = client_of(*server, options);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(client.get("/models").status, 200);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GE(server->connections(), 2);
  }
}

TEST(HttpClient, BusyServersAreAskedAgain) {
  for (const int status : {429, 502, 503, 504}) {
    FakeServer server([&](const std::string&, const std::string& body, int before) {
      return before < 2 ? reply(status, "later") : reply(200, body);
    });
    const HttpResponse r = client_of(server).post_json("/completions", "again");
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(r.body, "again");
    EXPECT_EQ(server.requests(), 3);
  }
}

TEST(HttpClient, WaitsAsLongAsTheServerAsks) {
  FakeServer server([](auto&&, auto&&, int before) {
    return before == 0 ? reply(429, "later", "Retry-After: 0.3\r\n") : reply(200, "");
  });
  const double start = now_seconds();
  client_of(server).get("/models");
  EXPECT_GT(now_seconds() - start, 0.29);
}

TEST(HttpClient, ABusyServerIsGivenUpAfterSomeTries) {
  FakeServer server([](auto&&...) { return reply(503, R"({"error": {"message": "loading"}})"); });
  HttpClient client = client_of(server);
  const HttpResponse r = client.post_json("/completions", "{}");
  EXPECT_EQ(r.status, 503);
  EXPECT_EQ(server.requests(), 3);
  const Error e = error_of([&] { client.check_ok(r, "/completions"); });
  EXPECT_EQ(e.fault(), Fault::environment);
  expect_in("127.0.0.1:" + std::to_string(server.port()), e.message());
  expect_in("503 to /v1/completions: loading", e.message());
}

TEST(HttpClient, OtherRefusalsAreNotRepeated) {
  FakeServer server([](auto&&...) { return reply(500, "broken"); });
  EXPECT_EQ(client_of(server).get("/models").status, 500);
  EXPECT_EQ(server.requests(), 1);
}

TEST(HttpClient, DroppedConnectionsAreTriedAgain) {
  FakeServer server([](auto&&, auto&&, int before) {
    return before < 2 ? Reply{"", true} : reply(200, "at last");
  });
  EXPECT_EQ(client_of(server).post_json("/completions", "{}").body, "at last");
  EXPECT_EQ(server.requests(), 3);
}

TEST(HttpClient, AnswersCutShortAreTriedAgain) {
  FakeServer server([](auto&&, auto&&, int before) {
    Reply r = reply(200, "whole");
    if (before == 0) r = {r.bytes.substr(0, r.bytes.size() - 2), true};
    return r;
  });
  EXPECT_EQ(client_of(server).post_json("/completions", "{}").body, "whole");
}

TEST(HttpClient, AConnectionThatKeepsBreakingIsAnError) {
  FakeServer server([](auto&&...) { return Reply{"", true}; });
  const Error e = error_of([&] { client_of(server).post_json("/completions", "{}"); });
  EXPECT_EQ(e.fault(), Fault::environment);
  expect_in("dropped the connection during POST /v1/completions 3 times", e.message());
}

TEST(HttpClient, SlowAnswersAreAnError) {
  FakeServer server([](auto&&...) {
    Reply r = reply(200, "late");
    r.pause_seconds = 1;
    return r;
  });
  ClientOptions options = quick();
  options.limits.answer_seconds = 0.2;
  const double start = now_seconds();
  const Error e = error_of([&] { client_of(server, options).get("/models"); });
  EXPECT_LT(now_seconds() - start, 0.9);
  EXPECT_EQ(e.fault(), Fault::environment);
  expect_in("did not answer GET /v1/models within the time", e.message());
  EXPECT_EQ(server.requests(), 1);
}

TEST(HttpClient, AnswersThatTrickleKeepTheirDeadline) {
  FakeServer server(
      [](auto&&...) { return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"}; });
  ClientOptions options = quick();
  options.limits.answer_seconds = 0.2;
  expect_in("within the time", error_of([&] { client_of(server, options).get("/"); }).message());
}

TEST(HttpClient, NobodyThereIsAnErrorAtOnce) {
  int port = 0;
  {
    FakeServer gone([](auto&&...) { return reply(200, ""); });
    port = gone.port();
  }
  HttpClient client(parse_url("http://127.0.0.1:" + std::to_string(port)), quick());
  const Error e = error_of([&] { client.get("/models"); });
  EXPECT_EQ(e.fault(), Fault::environment);
  expect_in("can't connect to 127.0.0.1:" + std::to_string(port), e.message());
  HttpClient nowhere(parse_url("http://no-such-host.invalid"), quick());
  expect_in("no-such-host.invalid:80", error_of([&] { nowhere.get("/"); }).message());
}

TEST(HttpClient, WhatIsNotHttpIsAnError) {
  FakeServer server([](auto&&...) { return Reply{"SSH-2.0-OpenSSH_9.2\r\n\r\n", true}; });
  expect_in("not HTTP", error_of([&] { client_of(server).get("/models"); }).message());
}

TEST(HttpClient, AnswersMayNotBeLargerThanAllowed) {
  FakeServer plain([](auto&&...) { return reply(200, std::string(2000, 'x')); });
  FakeServer chunked([](auto&&...) {
    return Reply{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
                 std::string(2000, 'x') + "\r\n0\r\n\r\n"};
  });
  ClientOptions options = quick();
  options.limits.body_bytes = 1000;
  for (const FakeServer* server : {&plain, &chunked})
    expect_in("too large", error_of([&] { client_of(*server, options).get("/models"); }).message());
}

TEST(HttpClient, HeadersMayNotHoldLineEnds) {
  ClientOptions options = quick();
  options.headers = {{"Authorization", "Bearer a\r\nX: y"}};
  const Error e = error_of([&] { HttpClient(parse_url("http://127.0.0.1:1"), options); });
  EXPECT_EQ(e.fault(), Fault::user);
  expect_in("Authorization", e.message());
  EXPECT_EQ(e.message().find("Bearer"), std::string::npos) << "the key stays out of messages";
}

TEST(ErrorText, FindsTheMessage) {
  const auto text = [](const char* body) { return error_text({400, {}, body}); };
  EXPECT_EQ(text(R"({"error": {"message": "too long", "code": 400}})"), "too long");
  EXPECT_EQ(text(R"({"error": "too long"})"), "too long");
  EXPECT_EQ(text(R"({"detail": "Not Found"})"), "Not Found");
  EXPECT_EQ(text(R"({"detail": [{"loc": ["prompt"]}]})"), R"([{"loc":["prompt"]}])");
  EXPECT_EQ(text(R"({"object": "error", "message": "m"})"), "m");
  EXPECT_EQ(text("<html>"), "<html>");
  EXPECT_EQ(text(""), "");
  EXPECT_LT(error_text({500, {}, std::string(100000, 'x')}).size(), 400u);
}

}  // namespace
}  // namespace cupel::net
