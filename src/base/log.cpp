// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "base/log.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/log_sink.h"

namespace cupel::log {
namespace {

// Losing a message is better than failing because of it.
void write_quietly(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

Level level_of_environment() {
  const char* value = std::getenv("CUPEL_LOG");
  const std::string_view name = value ? value : "";
  return name == "quiet" ? Level::quiet : name == "verbose" ? Level::verbose : Level::normal;
}

void message(const char* level, std::string_view area, std::string_view text, bool show) {
  Sink& sink = Sink::instance();
  const std::string prefix = level == std::string_view("warning") ? "warning: " : "";
  if (show) sink.write_line(cat(prefix, area, ": ", text));
  if (!sink.events) return;
  sink.write_event("message", cat("\"level\":\"", level, "\",\"area\":", json_quote(area),
                                  ",\"text\":", json_quote(text)));
}

}  // namespace

Sink::Sink() : level(level_of_environment()) {}

Sink& Sink::instance() {
  // Never destroyed: destructors of other statics may still log.
  static Sink* sink = new Sink;
  return *sink;
}

void Sink::write_line(std::string_view text) {
  write_quietly(STDERR_FILENO, cat(line_.empty() ? "" : "\r\x1b[K", text, "\n", line_));
}

void Sink::draw(std::string line) {
  if (line == line_) return;
  line_ = std::move(line);
  write_quietly(STDERR_FILENO, cat("\r\x1b[K", line_));
}

void Sink::write_event(std::string_view kind, std::string_view json) {
  if (!events) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string time = fixed(std::chrono::duration<double>(now).count(), 3);
  // One write a line: a killed process leaves whole lines.
  write_quietly(events.get(), cat("{\"time\":", time, ",\"kind\":", json_quote(kind),
                                  json.empty() ? "" : ",", json, "}\n"));
}

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void set_level(Level level) {
  const std::lock_guard lock(Sink::instance().mutex);
  Sink::instance().level = level;
}

Level level() {
  const std::lock_guard lock(Sink::instance().mutex);
  return Sink::instance().level;
}

void info(std::string_view area, std::string_view text) {
  const std::lock_guard lock(Sink::instance().mutex);
  message("info", area, text, Sink::instance().level != Level::quiet);
}

void debug(std::string_view area, std::string_view text) {
  const std::lock_guard lock(Sink::instance().mutex);
  message("debug", area, text, Sink::instance().level == Level::verbose);
}

void warn(std::string_view area, std::string_view text) {
  Sink& sink = Sink::instance();
  const std::lock_guard lock(sink.mutex);
  std::string entry = cat(area, ": ", text);
  const bool repeat = std::ranges::find(sink.warnings, entry) != sink.warnings.end();
  message("warning", area, text, sink.level != Level::quiet && !repeat);
  if (!repeat) sink.warnings.push_back(std::move(entry));
}

std::vector<std::string> warnings() {
  const std::lock_guard lock(Sink::instance().mutex);
  return Sink::instance().warnings;
}

void clear_warnings() {
  const std::lock_guard lock(Sink::instance().mutex);
  Sink::instance().warnings.clear();
}

void open_events(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) fail(Fault::environment, "can't open '", path, "': ", reason_of(errno));
  // A machine that lost power may have left half a line.
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file.get(), &last, 1, size - 1) == 1 && last != '\n')
    write_quietly(file.get(), "\n");
  const std::lock_guard lock(Sink::instance().mutex);
  Sink::instance().events = std::move(file);
}

void close_events() {
  const std::lock_guard lock(Sink::instance().mutex);
  Sink::instance().events = FileHandle();
}

void event(std::string_view kind, std::string_view json) {
  const std::lock_guard lock(Sink::instance().mutex);
  Sink::instance().write_event(kind, json);
}

}  // namespace cupel::log
