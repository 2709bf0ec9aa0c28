// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::log {

enum class Level { quiet, normal, verbose };

void set_level(Level level);
Level level();

/// A message for people on standard error, `area: text`; a progress line is redrawn below it.
/// Thread-safe.
void info(std::string_view area, std::string_view text);
void debug(std::string_view area, std::string_view text);
/// Shown unless quiet, and kept: the report and the exit summary list them.
void warn(std::string_view area, std::string_view text);
/// All warnings since the start, in order, repeats counted once.
std::vector<std::string> warnings();
void clear_warnings();

/// From now on every message, and every event(), is also appended to this file, one JSON object a
/// line.
void open_events(const std::string& path);
void close_events();
/// `json` is an object without its braces: `"step":3,"loss":2.5`. Does nothing while no file is
/// open.
void event(std::string_view kind, std::string_view json);

/// Progress of a piece of work with a known total: a bar with ETA on a terminal, one line every 10
/// s otherwise. Also written to the events file. Not thread-safe; one at a time is shown.
class Progress {
 public:
  Progress(std::string name, double total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done` of `total` units are finished; `note` is shown behind the bar.
  void update(double done, std::string_view note = {});

 private:
  void write_event();
  std::string name_, unit_;
  double total_, done_ = 0;
  // Times of the start, the last line shown and the last event written.
  int64_t start_ns_, last_ns_ = 0, event_ns_ = 0;
  std::string note_;
};

}  // namespace cupel::log
