// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/cat.h"
#include "base/file.h"
#include "stderr_capture.h"
#include "support.h"

namespace cupel {
namespace {

using test::StderrCapture;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override { log::clear_warnings(); }
  void TearDown() override {
    log::set_level(log::Level::normal);
    log::close_events();
    log::clear_warnings();
  }
  static std::vector<nlohmann::json> events_in(const std::string& path) {
    std::vector<nlohmann::json> events;
    std::istringstream lines(read_text(path));
    for (std::string line; std::getline(lines, line);)
      events.push_back(nlohmann::json::parse(line));
    return events;
  }

  test::TempFolder folder_;
};

TEST_F(LogTest, LevelsDecideWhatIsShown) {
  const auto shown = [](log::Level level) {
    log::set_level(level);
    log::clear_warnings();
    StderrCapture capture(StderrCapture::Target::file);
    log::debug("a", "debug");
    log::info("a", "info");
    log::warn("a", "warn");
    return capture.text();
  };
  EXPECT_EQ(shown(log::Level::quiet), "");
  EXPECT_EQ(shown(log::Level::normal), "a: info\nwarning: a: warn\n");
  EXPECT_EQ(shown(log::Level::verbose), "a: debug\na: info\nwarning: a: warn\n");
}

TEST_F(LogTest, WarningsAreKeptOnce) {
  log::set_level(log::Level::quiet);
  log::warn("quant", "layer 3");
  log::warn("quant", "layer 1");
  log::warn("quant", "layer 3");
  EXPECT_EQ(log::warnings(), (std::vector<std::string>{"quant: layer 3", "quant: layer 1"}));
  log::clear_warnings();
  EXPECT_TRUE(log::warnings().empty());
}

TEST_F(LogTest, EventsAreOneObjectALine) {
  const std::string path = folder_.file("events.jsonl");
  log::event("lost", "");
  log::open_events(path);
  log::set_level(log::Level::quiet);
  log::info("area", "line\nbreak \"quoted\" \xff");
  log::warn("area", "careful");
  log::event("step", "\"step\":3,\"loss\":2.5");
  log::event("bare", "");
  const auto events = events_in(path);  // before it is closed: each line is out at once
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["kind"], "message");
  EXPECT_EQ(events[0]["level"], "info");
  EXPECT_EQ(events[1]["level"], "warning");
  EXPECT_EQ(events[2]["kind"], "step");
  EXPECT_EQ(events[2]["loss"], 2.5);
  EXPECT_GT(events[3]["time"].get<double>(), 1.6e9);
}

TEST_F(LogTest, EventsAreAppendedAndHalfLinesEnded) {
  const std::string path = folder_.file("events.jsonl");
  write_atomic(path, "{\"kind\":\"old\"}\n{\"ki");
  log::open_events(path);
  log::event("new", "");
  log::close_events();
  log::event("after", "");
  const std::string text = read_text(path);
  EXPECT_EQ(text.find("{\"kind\":\"old\"}\n{\"ki\n{\"time\":"), 0u) << text;
  EXPECT_EQ(text.find("after"), std::string::npos);
}

TEST_F(LogTest, EventsFileThatCantBeOpened) {
  const Error e = test::error_of([&] { log::open_events(folder_.file("no/events.jsonl")); });
  EXPECT_EQ(e.fault(), Fault::environment);
}

TEST_F(LogTest, ThreadsDoNotMixLines) {
  const std::string path = folder_.file("events.jsonl");
  log::open_events(path);
  log::set_level(log::Level::quiet);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) log::info(cat("t", t), std::string(100, 'x'));
      });
  }
  EXPECT_EQ(events_in(path).size(), 800u);
}

}  // namespace
}  // namespace cupel
