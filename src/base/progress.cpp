// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/log_sink.h"

namespace cupel::log {
namespace {

constexpr int64_t kRedrawNs = 100'000'000;
constexpr int64_t kLineNs = 10'000'000'000;
// Of the events file: a step of microseconds must not write millions of lines.
constexpr int64_t kEventNs = 1'000'000'000;
constexpr int kBarCells = 24;

std::string amount_text(double done, double total, const std::string& unit) {
  if (unit == "B" || unit == "bytes") return cat(human_bytes(done), " of ", human_bytes(total));
  const int digits = done == std::floor(done) && total == std::floor(total) ? 0 : 1;
  return cat(fixed(done, digits), "/", fixed(total, digits), " ", unit);
}

std::string bar_text(double share) {
  const auto filled = static_cast<std::size_t>(std::lround(share * kBarCells));
  return cat("[", std::string(filled, '='), std::string(kBarCells - filled, ' '), "]");
}

// At most `columns` characters; a character of UTF-8 is never cut.
void clip(std::string& text, int columns) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xC0) != 0x80 && ++seen > columns) {
      text.resize(i);
      return;
    }
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 9.95) return cat(fixed(seconds, 1), " s");
  const auto whole = static_cast<int64_t>(std::llround(std::min(seconds, 1e15)));
  const auto two = [](int64_t n) { return cat(n < 10 ? "0" : "", n); };
  if (whole < 60) return cat(whole, " s");
  if (whole < 3600) return cat(whole / 60, " min ", two(whole % 60), " s");
  return cat(whole / 3600, " h ", two(whole / 60 % 60), " min");
}

Progress::Progress(std::string name, double total, std::string unit)
    : name_(std::move(name)), unit_(std::move(unit)), total_(total), start_ns_(now_ns()) {
  last_ns_ = start_ns_;
  Sink& sink = Sink::instance();
  const std::lock_guard lock(sink.mutex);
  if (!sink.owner) sink.owner = this;
  write_event();
}

Progress::~Progress() {
  Sink& sink = Sink::instance();
  const std::lock_guard lock(sink.mutex);
  write_event();
  if (sink.owner != this) return;
  sink.owner = nullptr;
  sink.draw({});
  if (sink.level == Level::quiet) return;
  const double seconds = static_cast<double>(now_ns() - start_ns_) * 1e-9;
  sink.write_line(cat(name_, ": ", amount_text(done_, total_, unit_), " in ",
                      duration_text(seconds), note_.empty() ? "" : "; ", note_));
}

void Progress::update(double done, std::string_view note) {
  done_ = done;
  note_ = note;
  Sink& sink = Sink::instance();
  const std::lock_guard lock(sink.mutex);
  const int64_t now = now_ns();
  if (now - event_ns_ >= kEventNs) write_event();
  if (sink.owner != this || sink.level == Level::quiet) return;
  const bool terminal = on_terminal();
  if (now - last_ns_ < (terminal ? kRedrawNs : kLineNs)) return;
  last_ns_ = now;

  const double share = total_ > 0 ? std::clamp(done_ / total_, 0.0, 1.0) : 0;
  const double seconds = static_cast<double>(now - start_ns_) * 1e-9;
  std::string text = name_;
  text += terminal ? cat(" ", bar_text(share), " ") : ": ";
  text += cat(amount_text(done_, total_, unit_), ", ", std::lround(share * 100), "%");
  if (share > 0 && share < 1)
    text += cat(", ", duration_text(seconds * (1 - share) / share), " left");
  if (!note.empty()) text += cat("; ", note);
  if (!terminal) return sink.write_line(text);
  clip(text, terminal_columns() - 1);
  sink.draw(std::move(text));
}

void Progress::write_event() {
  event_ns_ = now_ns();
  Sink::instance().write_event(
      "progress", cat("\"name\":", json_quote(name_), ",\"done\":", done_, ",\"total\":", total_,
                      ",\"unit\":", json_quote(unit_),
                      note_.empty() ? "" : cat(",\"note\":", json_quote(note_))));
}

}  // namespace cupel::log
