// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_io.h"
#include "base/log.h"

namespace cupel::log {

/// The one owner of standard error and of the events file; every member is guarded by `mutex`.
class Sink {
 public:
  static Sink& instance();

  std::mutex mutex;
  Level level;
  std::vector<std::string> warnings;
  /// The piece of work whose line is shown.
  const void* owner = nullptr;

  /// Erases the progress line, writes `text` and a line end, redraws.
  void write_line(std::string_view text);
  /// Replaces the progress line; "" erases it. Only for a terminal.
  void draw(std::string line);
  /// One event line: `{"time":...,"kind":"...",json}`.
  void write_event(std::string_view kind, std::string_view json);

  FileHandle events;

 private:
  Sink();
  std::string line_;
};

/// Standard error is a terminal that can move its cursor.
bool on_terminal();
/// Its width in columns, 80 if unknown.
int terminal_columns();
int64_t now_ns();
/// "4.2 s", "3 min 05 s", "2 h 03 min".
std::string duration_text(double seconds);

}  // namespace cupel::log
