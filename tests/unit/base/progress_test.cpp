// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/log.h"
#include "base/log_sink.h"
#include "stderr_capture.h"
#include "support.h"

namespace cupel {
namespace {

using test::StderrCapture;

// The text with every " in 0.1 s" as " in T": how long a test takes is not its subject.
std::string untimed(std::string text) {
  for (std::size_t at = 0; (at = text.find(" in ", at)) != std::string::npos; ++at) {
    at += 4;
    text.erase(at, text.find(" s", at) + 2 - at);
    text.insert(at, 1, 'T');
  }
  return text;
}

void wait_for_redraw() {
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
}

TEST(Progress, NoTerminalGetsOneLineAtTheEnd) {
  StderrCapture capture(StderrCapture::Target::file);
  {
    log::Progress progress("quantizing", 30, "blocks");
    for (int i = 1; i <= 30; ++i) progress.update(i, "layer");
  }
  EXPECT_EQ(untimed(capture.text()), "quantizing: 30/30 blocks in T; layer\n");
}

TEST(Progress, TerminalRedrawsBelowMessages) {
  StderrCapture capture(StderrCapture::Target::terminal);
  std::string drawn, with_message, ended;
  {
    log::Progress progress("quantizing", 30, "blocks");
    wait_for_redraw();
    progress.update(15, "layers.7.mlp.down_proj is a long note that does not fit");
    drawn = capture.more();
    log::info("quant", "hello");
    with_message = capture.more();
  }
  ended = capture.text();
  EXPECT_EQ(drawn.find("\r\x1b[Kquantizing [============            ] 15/30 blocks, 50%"), 0u)
      << drawn;
  EXPECT_EQ(drawn.find('\n'), std::string::npos);
  EXPECT_EQ(drawn.size(), 4u + 59u);
  EXPECT_EQ(with_message, cat("\r\x1b[Kquant: hello\r\n", drawn.substr(4)));
  EXPECT_EQ(untimed(ended).find("\r\x1b[Kquantizing: 15/30 blocks in T; layers.7"), 0u) << ended;
  EXPECT_TRUE(ended.ends_with("\n"));
}

TEST(Progress, OnlyTheOuterOneIsShown) {
  StderrCapture capture(StderrCapture::Target::file);
  {
    log::Progress outer("outer", 2, "steps");
    { log::Progress inner("inner", 2, "steps"); }
    outer.update(2);
  }
  EXPECT_EQ(untimed(capture.text()), "outer: 2/2 steps in T\n");
}

TEST(Progress, QuietShowsNothingButWritesEvents) {
  const test::TempFolder folder;
  log::set_level(log::Level::quiet);
  log::open_events(folder.file("e"));
  StderrCapture capture(StderrCapture::Target::file);
  {
    log::Progress progress("reading", 2e6, "B");
    for (int i = 1; i <= 1000; ++i) progress.update(i * 2e3);
  }
  log::close_events();
  log::set_level(log::Level::normal);
  EXPECT_EQ(capture.text(), "");
  std::istringstream lines(read_text(folder.file("e")));
  std::vector<nlohmann::json> events;
  for (std::string line; std::getline(lines, line);) events.push_back(nlohmann::json::parse(line));
  ASSERT_GE(events.size(), 2u);
  EXPECT_LE(events.size(), 10u);
  EXPECT_EQ(events.back()["done"], 2e6);
  EXPECT_EQ(events.back()["kind"], "progress");
}

TEST(Progress, BytesAndUnknownTotals) {
  StderrCapture capture(StderrCapture::Target::file);
  {
    log::Progress progress("reading", 2e6, "B");
    progress.update(1.5e6);
  }
  {
    log::Progress progress("nothing", 0, "files");
    progress.update(0);
  }
  EXPECT_EQ(untimed(capture.text()), "reading: 1.50 MB of 2.00 MB in T\nnothing: 0/0 files in T\n");
}

TEST(Progress, Durations) {
  EXPECT_EQ(log::duration_text(4.21), "4.2 s");
  EXPECT_EQ(log::duration_text(59.4), "59 s");
  EXPECT_EQ(log::duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(log::duration_text(185), "3 min 05 s");
  EXPECT_EQ(log::duration_text(7380), "2 h 03 min");
}

}  // namespace
}  // namespace cupel
